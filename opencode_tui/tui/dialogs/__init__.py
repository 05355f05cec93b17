"""What asks or offers something: panels in the prompt's place, overlays over the screen."""
