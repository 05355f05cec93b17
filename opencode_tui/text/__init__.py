"""Texts and figures for the TUI and the command line, as plain values.

Imports `schema` only. Every text from outside goes through `safe_text.py`; `cells.py` alone computes widths. Start at
`tool.py` and `safe_text.py`; guards: `tests/text/`, an import contract.
"""
