"""Shapes of everything that is stored or sent: pure data, no input or output.

Imports nothing of ours. Field names on disk and on the wire are OpenCode's; ours beside them are only `session.metadata`,
`patch.after`, `revert.after`, `compaction.tailID` and keys inside a `metadata` (SPEC section 1, "storage keys").
"""
