"""Recorded states of a worktree, stored apart from the user's repository, and their restoration.

From the lowest layer up: `entry` (the state of a path), `objects/` (git objects in a folder of our own, snapshots made of them,
their quota), `scan/` (the worktree into a snapshot), `change_log` (which session changed which path), `revert/` (plan, journal and
execution of a revert), `work` (operations under the lock), `report` and `reporting` (results), `worktree_lock` (lock and thread),
`snapshot` (the service), `record/` (the record of one step). Source: SPEC, section 5.
"""
