"""Skills: folders with instructions for one kind of task, which the model loads when it needs them.

Only what the folder's trust allows is loaded. Start at `skills.py`; guards: `tests/engine/skill/`.
"""
