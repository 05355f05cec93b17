"""Formatters that run on an edit before it is written.

Off unless set. A formatter runs before the write, so that an edit is one change. A program of the project runs only in
trusted folders, inside the sandbox if there is one. A result that changes lines far from the edit is dropped. Start at
`formatters.py` and `known_formatters.py`; guards: `tests/engine/format/`, `bench_format`.
"""
