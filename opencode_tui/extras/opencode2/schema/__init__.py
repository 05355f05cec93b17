"""The values of OpenCode 2's API, as its own description (1.18.18) has them.

They are made of our records when they are sent, in `extras/opencode2/`, and stored nowhere.
Source: docs/internals/http.md#opencode-2.
"""
