"""How a confined command is started: its argument list, its environment, and what its thread gives up first."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.sandbox.tier import Tier

T = TypeVar("T")


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


def plan_launch(tier: Tier, policy: Policy, argv: Sequence[str], folder: Path, *, is_held: bool = True) -> Launch:
    """Return how the program is started in the tier, without `is_held` never with a supervisor. Reads the file system.

    Raises OSError when the tier's program is missing, ValueError for the tier "none", which cannot confine.
    """
    if tier == "bubblewrap":
        from opencode_tui.engine.sandbox import bubblewrap, seccomp

        environ = {**policy.environ, **_temp_variables(policy.environ, "/tmp")}
        make = bubblewrap.command if is_held else bubblewrap.plain_command
        command = tuple(make(policy, argv, folder))
        return Launch(command, environ, folder, filter=seccomp.assemble_key_filter(), is_held=is_held)
    environ = {**policy.environ, **_temp_variables(policy.environ, str(policy.temp))}
    if tier == "landlock":
        from opencode_tui.engine.sandbox import landlock

        return Launch(tuple(argv), environ, folder, confine=landlock.confinement(policy))
    if tier == "seatbelt":
        from opencode_tui.engine.sandbox import seatbelt

        return Launch((seatbelt.PROGRAM, "-p", seatbelt.profile(policy), *argv), environ, folder)
    raise ValueError(f"the tier {tier!r} cannot confine a command")


def run_on_thread(work: Callable[[], T]) -> T:
    """Return what a function returns, or raise what it raises, on a thread of its own that ends with it. Blocks."""
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again on the waiting thread
            result.set_exception(error)

    thread = threading.Thread(target=run, name="confined-start")
    thread.start()
    thread.join()
    return result.result()


def _temp_variables(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    return {name: folder for name in ("TMPDIR", "TMP", "TEMP") if name == "TMPDIR" or name in environ}
