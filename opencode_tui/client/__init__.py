"""The API of the engine: Protocols in `client` and `facets`, one implementation in the process, one over HTTP.

One Protocol per facet (of sessions, of the folder); each method is a row of a table (`facets/call.py`), which makes the facet
over HTTP and our own route. Arguments and results are plain values. The TUI's engine runs in a thread of its own
(`thread.py`), so what both threads touch is frozen or locked. Start at `facets/` and `local_facets.py`; guards:
`tests/client/`.
"""
