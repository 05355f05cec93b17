"""The terminal app, a client of the engine through `client` only.

The first frame imports nothing of ours below this package but `text`; schema and client are imported after it.

Every key goes through `keys/router.py` to an action by its ID. `Chat` is built whole when the engine is open, and actions are
functions of it; before, `opening.py` is in its place. A question accepts no key before it can be read. Start at `app.py`,
`screen.py`, `chat/chat.py`, `keys/router.py` and `actions/registry.py`; guards: `tests/tui/`, `bench_screen_start`.
"""
