"""What is written to the terminal: only the cells that changed.

The event loop never waits for the terminal; at most one frame waits, and an echo of a key ends the frame before it. Start at
`display.py` and `painter.py`; guards: `tests/tui/output/`, `tests/tui/test_terminal_output.py`, `bench_output`.
"""
