"""The records of sessions: in memory, on the disk, and their copies for forks."""
