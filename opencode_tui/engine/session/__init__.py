"""The session system: records, the prompt loop, its steps, requests to the model, compaction, undo, forks."""
