"""The Agent Client Protocol: editors use the engine over standard input and output.

Imports `client`, `schema` and `text` only. `updates.py` alone maps events to updates, without I/O. Nothing but JSON reaches
standard output. A client gets events only about sessions that it opened. The sessions use version 1 of the protocol; `v2`
translates for clients that ask for version 2. Start at `agent.py`; guards: `tests/acp/`, an import contract, `bench_acp`.
"""
