"""The HTTP server: OpenCode's routes and event stream over the client facets. Imports `client` and `schema` only.

One guard checks the password, the Host and the Origin before all routes and WebSockets. A slow client delays no other. Start
at `app.py` and `guard.py`; guards: `tests/server/`.
"""
