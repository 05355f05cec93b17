"""The TUI in a browser: a login, a page with a terminal, and a pseudo terminal with `attach` for each viewer.

The cookie of the page opens no route of the API; a socket needs a ticket that is used once. A TUI ends with its page. The
page loads nothing from elsewhere; `assets/xterm/` is vendored, unchanged. Start at `pages.py` and `viewers.py`; guards:
`tests/server/test_web.py`, `test_web_page.py`, `bench_web`.
"""
