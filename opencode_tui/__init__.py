"""A coding agent for the terminal: a headless engine and the faces that drive it."""

__version__ = "0.1.0"
