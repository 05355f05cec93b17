"""A coding agent for the terminal: a headless engine, and the command line, TUI and server that use it."""

__version__ = "0.3.0"
