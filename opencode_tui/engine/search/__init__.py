"""A derived full-text index of all sessions, and the queries on it.

Any failure of the index costs time, never an answer. Each hit that is shown was compared with its record. One child process
builds the index. Start at `searcher.py`, `index.py` and `query.py`; guards: `tests/engine/search/`, `bench_search`.
"""
