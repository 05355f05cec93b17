"""The records of sessions: in memory, on disk, and copies for forks."""
