"""From the files of a worktree to a snapshot: stat cache, ignore rules, git's index."""
