"""What all tests of a process share: its folder, user, umask, variables and signal handlers.

A test that leaves one of them changed would fail the tests behind it. It fails itself instead, and the others find what was there.
"""

import os
import re
import signal
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Self, TypeAlias

import pytest

_Handler: TypeAlias = "Callable[[int, FrameType | None], object] | int | signal.Handlers | None"

_OF_PYTEST = "PYTEST_CURRENT_TEST"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGWINCH)


@dataclass(frozen=True)
class ProcessState:
    """The state at one moment; `folder` is an open descriptor, so that it is found again where its path is closed or gone."""

    folder: int
    users: tuple[int, int]
    umask: int
    variables: dict[str, str]
    handlers: tuple[_Handler, ...]

    @classmethod
    def read(cls) -> Self:
        """Return the state now. The caller closes it."""
        return cls(
            folder=os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC),
            users=(os.geteuid(), os.getegid()),
            umask=_umask(),
            variables=_variables(),
            handlers=_handlers(),
        )

    def close(self) -> None:
        """Close the folder."""
        os.close(self.folder)

    def restore(self) -> list[str]:
        """Bring back what is no longer as it was; return what that is, in words."""
        return list(self._restored())

    def _restored(self) -> Iterator[str]:
        user, group = self.users
        if os.geteuid() != user:  # first, as the folder may be closed to the other user
            yield f"the user is {os.geteuid()}"
            os.seteuid(user)
        if os.getegid() != group:
            yield f"the group is {os.getegid()}"
            os.setegid(group)
        if not os.path.samestat(os.stat("."), os.fstat(self.folder)):
            yield f"the working folder is {os.readlink('/proc/self/cwd')}"
            os.fchdir(self.folder)
        if (umask := _umask()) != self.umask:
            yield f"the umask is {umask:o}"
            os.umask(self.umask)
        variables = _variables()
        names = sorted(variables.keys() | self.variables.keys())
        if changed := [name for name in names if variables.get(name) != self.variables.get(name)]:
            yield f"variables are changed: {', '.join(changed)}"
            for name in changed:
                if name in self.variables:
                    os.environ[name] = self.variables[name]
                else:
                    del os.environ[name]
        for name, before, now in zip(_SIGNALS, self.handlers, _handlers(), strict=True):
            if now is before:
                continue
            signal.signal(name, before)
            # An event loop leaves the default of a signal that it handled, where `nohup` or a shell had it ignored.
            if before is not signal.SIG_IGN or now not in (signal.SIG_DFL, signal.default_int_handler):
                yield f"the handler of {name.name} is {now}"


_KEY = pytest.StashKey[ProcessState]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Read the state before the fixtures of a test."""
    item.stash[_KEY] = ProcessState.read()
    yield


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Fail a test that left the state changed, after its fixtures, and restore it. A failure of a fixture is raised instead."""
    before = item.stash[_KEY]
    changed: list[str] = []
    try:
        yield
    finally:
        changed = before.restore()
        before.close()
    if changed:
        pytest.fail(f"this test changed what all tests share: {'; '.join(changed)} after it", pytrace=False)


def _umask() -> int:
    with open("/proc/self/status", "rb", buffering=0) as file:  # os.umask would change it for other threads
        found = re.search(rb"^Umask:\s*(\d+)$", file.read(4_096), re.MULTILINE)
    if found is None:
        raise AssertionError("the kernel names no umask")
    return int(found[1], 8)


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != _OF_PYTEST}


def _handlers() -> tuple[_Handler, ...]:
    return tuple(signal.getsignal(name) for name in _SIGNALS)
