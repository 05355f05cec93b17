"""Publishes a session to a share server and keeps it up to date.

A run never waits for a server. Only redacted records leave; the secret is in `share/{session}` only. Start at `shares.py`;
guards: `tests/engine/share/`.
"""
