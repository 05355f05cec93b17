"""The project of a folder: its repository, ID and record.

`git.py` alone starts git, without hooks, filters or pagers. The user's repository is never written, except by
`linked_worktree.py` and by what the user does in `engine/review/`. Start at `discover.py`; guards: `tests/engine/project/`.
"""
