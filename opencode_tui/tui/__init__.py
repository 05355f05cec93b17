"""The terminal app, a client of the engine through `client` only.

The first frame imports nothing of ours below this package but `text`; schema and client are imported after it.

Every key goes through `keys/router.py`, which says where it goes, to an action by its ID. `Chat` is built whole when the engine
is open, and actions are functions of it. A question accepts no key before it can be read. Start at `app.py`, `chat/chat.py` and
`keys/router.py`; guards: `tests/tui/`, the benchmark `screen_start`, and a contract with the layers of its packages.
"""
