"""Types of stored sessions: session, message, part, tool state, undo."""
