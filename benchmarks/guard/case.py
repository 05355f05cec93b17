"""A hostile session as data: what stands in the folder, what the model calls, what the user does meanwhile.

Texts name places by `@P` (the project), `@O` (a folder of the user beside it), `@H` (the home), `@T` (the system's temp folder),
`@PY` (a Python of the system) and `@PORT` (a server that keeps what it gets).
`@OC` is our command. With an engine of the user that was left (`left.py`): `@L` (its folder), `@D` (our data folder), `@R` (its
record), `@K` (its socket), `@E` (its process), `@I` (its session), `@Q` (the question that waits) and `@W` (the web page).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "paths", "mounts", "programs", "caches", "grants", "records", "limits", "tools", "new", "assumed", "engine"
]
Tier = Literal["bubblewrap", "landlock"]

BOTH: tuple[Tier, ...] = ("bubblewrap", "landlock")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the model."""

    tool: str
    arguments: Mapping[str, Any]
    is_script: bool = False
    """Whether the command stands in a file that is run: what it does cannot be read from the command line."""


@dataclass(frozen=True, slots=True)
class Together:
    """Calls of one step, which run at the same time."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class User:
    """A command of the user in another terminal, outside any sandbox, in the project."""

    command: str


@dataclass(frozen=True, slots=True)
class Program:
    """A command of ours as a process of its own, in the project: `opencode-tui ARGUMENTS`."""

    arguments: tuple[str, ...]
    stdin: str = ""


@dataclass(frozen=True, slots=True)
class Act:
    """An act of the user in the open session."""

    name: Literal["undo", "redo", "delete", "restart", "abort", "wait"]


@dataclass(frozen=True, slots=True)
class Received:
    """The result of a task as a worker of a cluster sends it, which is stored as the batch stores it."""

    result: Mapping[str, Any]


Step = Call | Together | User | Program | Act | Received


def bash(command: str, **more: Any) -> Call:
    """Return the call of a script with a command."""
    return Call("bash", {"command": command, "description": "a step", "timeout": 15_000, **more}, is_script=True)


def line(command: str, **more: Any) -> Call:
    """Return the call of a command as it stands, which the shell reader judges."""
    return Call("bash", {"command": command, "description": "a step", "timeout": 15_000, **more})


def background(command: str) -> Call:
    """Return the call of a command that goes on after its call."""
    return bash(command, background=True)


@dataclass(frozen=True, slots=True)
class Case:
    """One hostile session.

    `files` are there before it, committed; a value that begins with `->` is a link, `x:` a program. `home` the same in the home.
    `settings` are added to the user's. `on_path` is put before PATH. `may_change` are paths of the user that the case itself may
    change, `clean` files of the project in which no `pwned` may stand, or it is reported. `needs` are programs without which the
    case cannot be tried. `is_usable` is False where the case takes from itself what a next command needs. With `has_engine` an
    engine of the user that was left works beside it.
    """

    name: str
    steps: tuple[Step, ...]
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    home: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    on_path: tuple[str, ...] = ()
    tiers: tuple[Tier, ...] = BOTH
    may_change: tuple[str, ...] = ()
    clean: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    is_usable: bool = True
    has_engine: bool = False


def steps(*given: Step | str) -> tuple[Step, ...]:
    """Return steps; a text is a command of the model."""
    return tuple(bash(one) if isinstance(one, str) else one for one in given)
