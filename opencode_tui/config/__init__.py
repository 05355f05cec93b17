"""Settings files and OPENCODE_* flags, merged by precedence; trust in a repository's config; credentials.

A wrong value is one line with file, line, key and remedy. A repository's config starts nothing and relaxes nothing before
trust. Start at `load.py` and `trust/gate.py`; guards: `tests/config/`.
"""
