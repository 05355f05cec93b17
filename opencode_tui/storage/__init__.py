"""JSON records in the data folder, atomic and crash-safe, with locks between processes.

Every write is an atomic replace; readers need no lock; a damaged record affects itself only. Start at `storage.py`; guards:
`tests/storage/`.
"""
