"""How a confined command is started: its argument list, its environment, and what its thread gives up first."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.sandbox.tier import Tier


class Launch(Struct, frozen=True):
    """A program to start with this environment in this folder."""

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    folder: Path
    confine: Callable[[], None] | None = None
    """Confines the calling thread and what it starts; to be called on a fresh thread that only starts the program."""
    filter: bytes = b""
    """A filter of system calls that the program gets from a descriptor with its option `--seccomp`."""
    is_held: bool = False
    """Whether a supervisor in a namespace of its own starts the program (`bubblewrap.hold` says how to talk to it)."""


def plan_launch(tier: Tier, policy: Policy, argv: Sequence[str], folder: Path) -> Launch:
    """Return how the program is started in the tier. Reads the file system.

    Raises OSError when the tier's program is missing, ValueError for the tier "none", which cannot confine.
    """
    if tier == "bubblewrap":
        from opencode_tui.engine.sandbox import bubblewrap, seccomp

        environ = {**policy.environ, **_temp_variables(policy.environ, "/tmp")}
        command = tuple(bubblewrap.command(policy, argv, folder))
        return Launch(command, environ, folder, filter=seccomp.assemble_key_filter(), is_held=True)
    environ = {**policy.environ, **_temp_variables(policy.environ, str(policy.temp))}
    if tier == "landlock":
        from opencode_tui.engine.sandbox import landlock

        return Launch(tuple(argv), environ, folder, confine=landlock.confinement(policy))
    if tier == "seatbelt":
        from opencode_tui.engine.sandbox import seatbelt

        return Launch((seatbelt.PROGRAM, "-p", seatbelt.profile(policy), *argv), environ, folder)
    raise ValueError(f"the tier {tier!r} cannot confine a command")


def _temp_variables(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    return {name: folder for name in ("TMPDIR", "TMP", "TEMP") if name == "TMPDIR" or name in environ}
