"""Permissions: rules and their evaluation, requests to the user, permanent grants, analysis of shell commands.

The most restrictive part of a call decides; unknown means ask; `always` never overrides a deny. Start at `decision.py` and
`shell/`; guards: `tests/engine/permission/`.
"""
