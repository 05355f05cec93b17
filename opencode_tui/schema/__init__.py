"""Types of everything that is stored or sent: pure data, without I/O.

Field names on disk and over HTTP are OpenCode's; our additions are `session.metadata`, `patch.after`, `revert.after`,
`compaction.tailID` and keys inside a `metadata`.

Unknown fields survive a rewrite; optional fields are absent, never null. Start at `record.py`; guards: `tests/schema/`.
"""
