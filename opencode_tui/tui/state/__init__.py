"""State without widgets: the current session, its items, the folder, the model.

`transcript.py` imports no widget and costs the same per token at any length. Guards: an import contract, `bench_transcript`.
"""
