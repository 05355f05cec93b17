"""How a confined command is started: its argument list, its environment, and what its thread gives up first."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.sandbox.mounts import Mounts
from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.sandbox.running import RunningCommands
from opencode_tui.engine.sandbox.tier import Tier
from opencode_tui.engine.sandbox.tiers import bubblewrap, landlock, seatbelt, seccomp
from opencode_tui.engine.sandbox.tiers.view import VIEWS

if TYPE_CHECKING:
    from opencode_tui.engine.sandbox.tiers.bubblewrap import Plan
    from opencode_tui.engine.sandbox.tiers.view import View

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
    reaper: tuple[str, ...] = ()
    """The command line of the process that starts the program and ends with all below it (`tiers/reaper.py`); empty without one."""
    options_at: int = 1
    """Where in `argv` the options are added that name descriptors."""
    mounts: "Mounts | None" = None
    """What is compared before the program starts, and watched; the program waits until then (`bubblewrap.plan`)."""
    view: "View | None" = None
    """A prepared view, for `inside` in place of `argv`."""
    inside: tuple[str, ...] = ()
    running: RunningCommands | None = None
    """Where the command counts as running, so that it can be stopped for a moment."""
    entering: tuple[str, ...] = ()
    """What stands before `inside` to enter the view; empty where the thread that starts it does."""

    def with_options(self, *options: str) -> tuple[str, ...]:
        """Return the argument list with more options of bubblewrap."""
        if self.view is not None:
            return (*self.entering, self.inside[0], *options, *self.inside[1:])
        return (*self.argv[: self.options_at], *options, *self.argv[self.options_at :])


def plan_launch(tier: Tier, policy: Policy, argv: Sequence[str], folder: Path, *, is_held: bool = True) -> Launch:
    """Return how the program is started in the tier, without `is_held` never with a supervisor. Reads the file system.

    Raises OSError when the tier's program is missing, ValueError for the tier "none", which cannot confine.
    """
    if tier == "bubblewrap":
        plan = bubblewrap.plan(policy, argv, folder, is_held=is_held)
        own = {name: value for name, value in policy.environ.items() if not name.startswith(bubblewrap.LOADER)}
        environ = {**own, **_temp_variables(own, "/tmp")}
        view, entering = _prepared_view(plan, policy, folder, environ) if is_held and plan.view else (None, ())
        return Launch(
            plan.argv,
            environ,
            folder,
            filter=seccomp.assemble_key_filter(),
            is_held=is_held,
            options_at=plan.options_at,
            mounts=Mounts(plan.mounts),
            view=view,
            inside=plan.inside,
            entering=entering,
        )
    environ = {**policy.environ, **_temp_variables(policy.environ, str(policy.temp))}
    if tier == "landlock":
        if not is_held:
            return Launch(tuple(argv), environ, folder, confine=landlock.confinement(policy))
        reaper, needed = landlock.reaper()
        readable = replace(policy, read=(*policy.read, *needed))
        return Launch(tuple(argv), environ, folder, confine=landlock.confinement(readable), reaper=reaper)
    if tier == "seatbelt":
        return Launch((seatbelt.PROGRAM, "-p", seatbelt.profile(policy), *argv), environ, folder)
    raise ValueError(f"the tier {tier!r} cannot confine a command")


def _prepared_view(
    plan: "Plan", policy: Policy, folder: Path, environ: Mapping[str, str]
) -> "tuple[View | None, tuple[str, ...]]":
    """Return the view of a plan where it is there already, and what enters it."""
    has_users = bubblewrap.enters_as_user(policy)
    nsenter = bubblewrap.find_nsenter(environ, folder) if has_users else None
    if has_users and nsenter is None:
        return None, ()
    view = VIEWS.find(plan.view, environ, has_users=has_users)
    return view, () if view is None else view.entering(nsenter)


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
