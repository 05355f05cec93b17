"""Forks of a session: the range that is copied, and a worktree of its own."""
