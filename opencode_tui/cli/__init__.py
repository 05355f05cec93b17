"""The command line: parses arguments, runs one command, returns the exit code.

Results go to standard output, everything else to standard error; an error is one line, never a traceback. Commands are
imported lazily, and each has a `short_help` under 45 characters. Start at `main.py` and `errors.py`; guards: `tests/cli/`,
`tests/test_imports.py`.
"""
