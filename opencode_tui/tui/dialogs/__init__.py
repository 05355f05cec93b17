"""Dialogs: panels that replace the prompt, and overlays."""
