"""Many tasks: each one a prompt in a git worktree and a process of its own, on this machine or on many.

Imports `client`, `schema` and `text` only. Each task is a process with its own worktree or clone; it ends when its standard
input closes. A result counts when its line is on the disk. The user's files stay as they are. Start at `runner.py` and
`pool.py`; guards: `tests/batch/`, an import contract, `bench_batch`.
"""
