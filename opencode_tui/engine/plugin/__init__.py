"""Plugins: the user's Python modules that observe and extend the engine."""
