"""The confined commands of one folder that run now, so that they can be stopped for a moment in which nothing may change."""

import threading
import time
from collections.abc import Callable
from typing import Protocol

_LOOK_S = 0.02


class RunningCommand(Protocol):
    """A command with all its processes. Both methods may be called on any thread, and block for some milliseconds."""

    def pause(self) -> bool:
        """Stop all processes until `resume`, and return whether none still runs."""
        ...

    def resume(self) -> None:
        """Resume the processes."""
        ...


class RunningCommands:
    """Knows the commands between their start and their end. For any thread."""

    def __init__(self) -> None:
        self._commands: set[RunningCommand] = set()
        self._paused: set[RunningCommand] = set()
        self._guard = threading.Condition()

    def add(self, command: RunningCommand) -> None:
        """Add one whose processes are about to run."""
        with self._guard:
            self._commands.add(command)
            self._guard.notify_all()

    def discard(self, command: RunningCommand) -> None:
        """Remove one that has ended."""
        with self._guard:
            self._commands.discard(command)

    def pause(self, count: Callable[[], int], *, limit_s: float) -> bool:
        """Stop all when `count` are known, and return whether none still runs; False where they are not known within the limit."""
        deadline = time.monotonic() + limit_s
        with self._guard:
            while len(self._commands) < count():
                if time.monotonic() >= deadline:
                    return False
                self._guard.wait(_LOOK_S)
            self._paused = set(self._commands)
        return all([command.pause() for command in self._paused])

    def resume(self) -> None:
        """Resume what `pause` has stopped."""
        for command in self._paused:
            command.resume()
        self._paused = set()
