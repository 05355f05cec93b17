"""Fits a conversation into its model's context: summaries and pruning."""
