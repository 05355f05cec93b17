"""Many tasks: each one a prompt in a git worktree and a process of its own, on this machine or on many."""
