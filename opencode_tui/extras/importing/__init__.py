"""Readers of the sessions of Claude Code and Codex."""
