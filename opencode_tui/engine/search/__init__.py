"""A derived full-text index of all sessions, and the queries on it."""
