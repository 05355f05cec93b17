"""The session system: records, the prompt loop, its steps, requests to the model, compaction, undo, forks.

Messages and parts are written by `records/writer.py` only, which exists under the run lock (`SessionStore.locked`), except that
`records/fork_copy.py` writes copies, `records/imported.py` imported sessions, and `trash.py` moves whole ones. Records are
written first and published afterwards. Code that changes or deletes old records must hold the lock of `session_lock.py`.
`request/model_message.py` alone repairs history. The supervisor in `runs.py` cleans up after a run. An undo is recorded before
it changes files. Start at `prompt.py`, `loop.py` and `runs.py`; guards: `tests/engine/session/`.
"""
