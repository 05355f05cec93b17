"""Plugins: Python modules of the person's that watch, change and add to what the engine does."""
