"""OpenCode 2's API (`/api/…`) on the same engine: what is not a route.

Loaded by the first request to such a path (`server/lazy_app.py`). Messages and events are made of our records when they are sent:
`messages.py`, `events.py`. What is stored is only the order of a session's events (`journal.py`), which must be the same for
every client and after every restart; `entries.py` says which events a record stands for, `feed.py` follows the engine.
Source: docs/internals/http.md#opencode-2; guards: `tests/extras/opencode2/`.
"""
