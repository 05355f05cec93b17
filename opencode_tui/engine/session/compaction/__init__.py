"""Keeping a conversation within its model's context: summaries and pruning."""
