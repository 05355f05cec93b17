"""The TUI in a browser: a login, a page with a terminal, and a pseudo terminal with `attach` for each viewer."""
