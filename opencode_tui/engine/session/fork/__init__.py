"""Forks of a session: the copied range, and optionally a git worktree."""
