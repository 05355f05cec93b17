"""Plugins: the user's Python modules that observe and extend the engine.

Only what the folder's trust allows is loaded. A failing plugin is reported and does not stop a run. Start at `hooks.py`;
guards: `tests/engine/plugin/`.
"""
