"""The terminal app: a face over the engine's one door (`client`) and nothing else of the engine.

What the first frame shows imports nothing of ours below this package; schema and client come after it.
"""
