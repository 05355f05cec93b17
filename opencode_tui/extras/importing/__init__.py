"""Import: reads the sessions of other programs and stores them as ours.

Readers of other programs' sessions are pure and change nothing there; `importer.py` writes, a session's record last. Ids are
derived, so that a second import changes nothing. Our own store is never a source. Start at `source.py`.
"""
