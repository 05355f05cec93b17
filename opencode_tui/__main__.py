"""`python -m opencode_tui`, and the `opencode-tui` command.

Nothing heavy is loaded for `--version`, and nothing is ever imported from the folder one happens to stand in: that may be a
stranger's repository.
"""

import sys

from opencode_tui import __version__


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    if sys.argv[1:] == ["--version"]:
        print(f"opencode-tui {__version__}")
        return
    from opencode_tui.cli.main import run_command_line  # click costs more than all of `--version`

    sys.exit(run_command_line(sys.argv[1:]))


def _forget_current_folder() -> None:
    """`python -m` puts the current folder before the installed packages; a `click.py` lying there must stay unread."""
    if not sys.flags.safe_path and sys.path:
        del sys.path[0]


if __name__ == "__main__":
    _forget_current_folder()
    main()
