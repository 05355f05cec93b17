"""`opencode-tui upgrade`: how this installation is upgraded; runs that if the user agrees.

What installed the program is read from its own files. Nothing is contacted before the user agrees: what installed it then looks for
a newer version.
"""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from importlib.metadata import Distribution
from pathlib import Path

import click
from msgspec import Struct

from opencode_tui import __version__
from opencode_tui.cli.terminal import print_result, say
from opencode_tui.origin import NAME, find_distribution, find_origin
from opencode_tui.programs import find_program, present_folder, python_command, safe_environ
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.quantity import short_path


class Installation(Struct, frozen=True):
    """What installed the program, where it is, and the command that upgrades it: a program of PATH with arguments.

    Without a command `advice` says what to do instead.
    """

    by: str
    place: str
    command: Sequence[str] = ()
    advice: str = ""


@click.command()
@click.option("-y", "--yes", "is_agreed", is_flag=True, help="Upgrade without asking.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Show the command without asking or running it.")
def upgrade(is_agreed: bool, is_dry: bool) -> int:
    """Show how this installation is upgraded (pipx, uv, pip, your system), and do it if you agree.

    Nothing is contacted before you agree.
    """
    found = find_installation(Path(sys.prefix), find_distribution())
    home = os.path.expanduser("~")
    print_result(f"{NAME} {__version__}, installed by {found.by} in {short_path(found.place, home)}")
    if not found.command:
        print_result(found.advice)
        return 0
    print_result(f"upgrade with: {short_path(' '.join(found.command), home)}")
    if is_dry or not (is_agreed or _asks()):
        return 0
    return _run(found.command)


def find_installation(prefix: Path, found: Distribution | None) -> Installation:
    """Return what installed the distribution into an environment of Python, by the files that it leaves there."""
    place = str(prefix)
    if found is None:
        return Installation("nothing", place, advice="It runs from its source; update that.")
    source = find_origin(found)
    if source is not None and source.is_editable:
        advice = f"It runs from its source. Update that, e.g. with `git pull` in {source.folder}"
        return Installation("an editable installation", place, advice=advice)
    if (prefix / "pipx_metadata.json").is_file():
        return Installation("pipx", place, ("pipx", "upgrade", NAME))
    if (prefix / "uv-receipt.toml").is_file():
        return Installation("uv tool", place, ("uv", "tool", "upgrade", NAME))
    if "archive-v0" in prefix.parts:
        return Installation("uvx, for one run", place, advice=f"Use the newest one with `uvx --refresh {NAME}`")
    is_virtual = (prefix / "pyvenv.cfg").is_file()
    if not is_virtual and (Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED").is_file():
        return Installation("your system", place, advice="Upgrade it with your system's package manager.")
    wanted = str(source.folder) if source is not None and source.folder else NAME
    if (found.read_text("INSTALLER") or "").strip() == "uv":
        return Installation("uv", place, ("uv", "pip", "install", "--python", place, "--upgrade", wanted))
    return Installation("pip", place, (*python_command("-m", "pip"), "install", "--upgrade", wanted))


def _asks() -> bool:
    """Return whether the user agrees; without a terminal to ask at, no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        say("not a terminal: pass --yes to upgrade")
        return False
    return click.confirm("Upgrade now?", err=True)


def _run(command: Sequence[str]) -> int:
    """Run the command in this terminal and return its exit code. Raises OpencodeError if its program is not there."""
    folder = present_folder()
    program = find_program(command[0], os.environ, folder)
    if program is None:
        raise OpencodeError(f"no {command[0]} outside of this project was found; run `{' '.join(command)}` elsewhere")
    sys.stdout.flush()
    return subprocess.run([program, *command[1:]], env=safe_environ(os.environ, folder), check=False).returncode
