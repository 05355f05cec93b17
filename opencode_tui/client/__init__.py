"""The one door to the engine: what a face may ask for, and its implementation inside the process."""
