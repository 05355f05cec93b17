"""What happens to a question instead of asking the person: one small strategy for each kind of run."""

from typing import Protocol

from opencode_tui.schema.error import NobodyToAskError
from opencode_tui.schema.permission import PermissionRequest


class Policy(Protocol):
    """Decides about a question before the person is asked."""

    def settle(self, request: PermissionRequest) -> bool:
        """Return True when the act may be done this once, False when the person decides. Raises PermissionRefused."""
        ...


class AskPerson:
    """Every question goes to the person."""

    def settle(self, request: PermissionRequest) -> bool:
        """Return False."""
        return False


class AutoApprove:
    """`--auto`: all that would ask is done once; only a loop of equal calls still goes to the person, or to `otherwise`."""

    def __init__(self, otherwise: Policy) -> None:
        self._otherwise = otherwise

    def settle(self, request: PermissionRequest) -> bool:
        """Return True, except for `doom_loop`."""
        return self._otherwise.settle(request) if request.permission == "doom_loop" else True


class RefuseQuestions:
    """A run without a terminal: nobody can answer, so what would ask is refused, with the way to allow it."""

    def settle(self, request: PermissionRequest) -> bool:
        """Raise NobodyToAskError."""
        raise NobodyToAskError(request.permission, request.patterns)
