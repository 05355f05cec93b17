"""Recorded states of a worktree, stored apart from the user's repository, and their restoration.

From the lowest layer up: `entry` (the state of a path), `objects/` (git objects in a folder of our own, snapshots made of them,
their quota), `scan/` (the worktree into a snapshot), `change_log` (which session changed which path), `revert/` (plan, journal and
execution of a revert), `worktree` (all of these for one folder), `report` (what is stored and sent), `snapshot` (the service, and
the lock with its thread), `record/` (the record of one step and the handle of a call). Source: docs/internals/snapshots.md#store.

Ignored files are part of the state like untracked ones, within limits and without what tools make again (`scan/kept.py`). Their
content is private: in no diff, so in no record, request, export or share, and in no copy of the worktree.

The state of a path is recorded before it changes. A revert writes a file only if it still has the state that the step left.
All paths go through open folders, each once, at any depth. One lock per worktree. Start at `snapshot.py` and
`revert/plan.py`; guards: `tests/engine/snapshot/`, `stress_undo_kill`.
"""
