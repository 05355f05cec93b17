"""The chat screen, its panels, and the commands that remote clients send to it."""
