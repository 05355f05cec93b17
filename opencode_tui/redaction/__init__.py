"""Finds secrets and personal data in texts and in records of a session, and replaces them.

Imports `schema` only. A secret is found by its form or by the name before it; ordinary code stays as it is. Start at
`session.py` and `detectors.py`; guards: `tests/redaction/`.
"""
