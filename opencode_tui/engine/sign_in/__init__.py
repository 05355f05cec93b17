"""Sign-ins with the browser to providers of models. Loaded only for a sign-in.

A wrong `state` does not end a sign-in, and nothing is stored before one has succeeded. Start at `browser_sign_in.py`; guards:
`tests/engine/provider/chatgpt/`.
"""
