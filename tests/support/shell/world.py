"""A project that exists only as a list, and scans of commands in it."""

from opencode_tui.engine.permission.shell.filesystem import VirtualFileSystem
from opencode_tui.engine.permission.shell.scan import Scan, scan

HOME = "/home/u"
PROJECT = "/home/u/proj"
FILES = VirtualFileSystem(
    PROJECT,
    files=["README.md", ".env", ".env.example", "src/a.py", ".git/"],
    symlinks={"link_out": "/etc", "link_home": "/home/u", "loop": "loop"},
)


def scanned(command: str, *, cwd: str = PROJECT) -> Scan:
    """Return what a command would do in the project."""
    return scan(command, cwd=cwd, home=HOME, project_root=PROJECT, filesystem=FILES)


def outside(command: str) -> set[tuple[str, str]]:
    """Return the paths outside that a command uses, each with its mode."""
    return {(path.path, path.mode) for path in scanned(command).external}
