"""Stopping as the shell expects it: with all processes of the job, such as a script or `uv run` that waits for this program."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal  # `signal` imports much more


def has_shell() -> bool:
    """Return whether a shell waits for the job of this process, and can continue it; True where the system does not say so.

    That is a process of the same session outside of the job that started its first process. Without one the group is
    orphaned (POSIX.1-2017, Base Definitions, Orphaned Process Group), and what stops in it stays stopped.
    """
    try:
        group, session, above = os.getpgrp(), os.getsid(0), os.getppid()
        while above > 1 and os.getpgid(above) == group:
            above = _parent_of(above)
        return above > 1 and os.getsid(above) == session
    except (OSError, ValueError):
        return os.getsid(0) != os.getpid()


def stop_job() -> None:
    """Stop this process and the others of its job; returns when it is continued. Without a shell it stops alone.

    If it stopped alone below another process of the job, the shell would keep waiting for that one, and the terminal hang.
    """
    if not has_shell():
        os.kill(os.getpid(), _signal.SIGSTOP)
        return
    before = _signal.signal(_signal.SIGTSTP, _signal.SIG_DFL)
    try:
        os.killpg(os.getpgrp(), _signal.SIGTSTP)
    finally:
        _signal.signal(_signal.SIGTSTP, before)


def _parent_of(process: int) -> int:
    """Return the parent of a process. Raises OSError where the system has no `/proc`, ValueError for an unknown form."""
    with open(f"/proc/{process}/stat", "rb") as file:
        state = file.read()
    return int(state[state.rindex(b")") + 1 :].split()[1])  # the name before it may have any characters
