"""`python -m opencode_tui`, and the `opencode-tui` command.

Nothing heavy is loaded for `--version`. Nothing is imported from the current folder, which may be a hostile repository: `python -m`
puts it before the installed packages, so it is removed before the first import of a module that Python has not loaded yet. What
Python itself imports for `-m` is out of reach: only the `opencode-tui` command and `python -P -m opencode_tui` avoid that.
"""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[:1]

import gc
import os

from opencode_tui import __version__

GARBAGE_THRESHOLD = 200_000
"""New objects between two looks for garbage. Loading the engine makes a hundred thousand that all stay; with Python's 700 a fifth
of the time to the first request goes into looking through them again and again."""


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    _fill_closed_streams()
    if sys.argv[1:] == ["--version"]:
        print(f"opencode-tui {__version__}")
        return
    from opencode_tui.instant import screen

    try:
        screen.begin(sys.argv[1:], os.environ)
        import signal  # after the first frame, as all that follows

        gc.set_threshold(GARBAGE_THRESHOLD)
        signal.signal(signal.SIGINT, _leave)
        from opencode_tui.cli.main import run_command_line  # click costs more than all of `--version`

        code = run_command_line(sys.argv[1:])
    finally:
        screen.end()
    sys.exit(code)


def _leave(_number: int, _frame: object) -> None:
    """Ctrl-C before a command has taken it over: nothing has begun, so nothing is to be closed, and no traceback to be shown.

    While the first frame is shown no exception is raised: Python ignores one in a callback of an import.
    """
    from opencode_tui.instant import screen

    early = screen.live()
    if early is not None:
        early.die()
        os._exit(130)
    raise SystemExit(130)


def _fill_closed_streams() -> None:
    """Somebody may start us without standard input or output (`<&-`); reading then finds nothing, writing goes nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - stays open as long as we run


if __name__ == "__main__":
    main()
