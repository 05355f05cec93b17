"""Version 2 of the protocol, over the sessions of version 1: a prompt is accepted at once, and updates report its turn.

Imports the rest of `acp` and the library's models of version 2; `translation.py` is pure. Nothing outside imports it before a
client has asked for that version. Start at `agent.py`; guards: `tests/acp/test_v2.py`, `tests/acp/test_protocol.py`.
"""
