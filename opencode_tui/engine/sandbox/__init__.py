"""Run commands confined by the operating system: what they may reach, how they start, and what they were refused.

`sandbox.py` builds a policy for each command and a tier enforces it: a command runs in its tier or not at all. The sandbox
never creates files in order to protect them. Programs that help with the project only read it (`piped.py`). What a repository
or an earlier command wrote opens no folder. Start at `sandbox.py`, `policy.py` and `tiers/`; guards:
`tests/engine/sandbox/`.
"""
