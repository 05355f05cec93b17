"""What confines a command: bubblewrap (tier A), Landlock with seccomp (tier B), and Seatbelt on macOS.

A tier enforces a policy and decides nothing. `relay.py` runs inside the sandbox, so it imports only the standard
library. Start at `bubblewrap.py` and `landlock.py`; guards: `tests/engine/sandbox/`.
"""
