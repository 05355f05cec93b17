"""The first frame and the first keys, before anything heavy is imported.

Imports nothing of ours but the version, and of Python only built-in modules and those that Python has loaded at its start.
`screen.py` owns the terminal until `hand_over` gives it to the TUI, exactly once: each mode is switched on here or by the
driver, never by both, and all are switched off by whoever owns the terminal when the program ends. Every byte that was read is
kept and handed on; what is shown of it (`line.py`) is only a picture, and stops at the first key whose meaning is not certain.
The page is the last start page of this folder and terminal (`page.py`), written by `tui/first_page.py`; a file that is older
than the settings, of another version or damaged is the same as none. `page.SWITCH` switches it off.
Guards: `tests/instant/`, `tests/tui/test_first_page.py`, `stress_first_frame`.
"""
