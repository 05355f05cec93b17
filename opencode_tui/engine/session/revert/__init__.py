"""Undo of a conversation and of its changes to files."""
