"""Language servers: diagnostics after edits, symbols, definitions and references.

Nothing is downloaded, and nothing waits for a server that is not warm. Only errors that an edit caused are reported. Known
servers run inside the sandbox if there is one; one of the project, or one that runs its code, starts only in trusted folders.
Start at `language_servers.py`, `server.py` and `known_servers.py`; guards: `tests/engine/lsp/`, `bench_lsp`.
"""
