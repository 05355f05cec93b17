"""What happens to a question instead of asking the person: one small strategy for each kind of run."""

from typing import Protocol

from opencode_tui.schema.error import NobodyToAskError
from opencode_tui.schema.permission import PermissionRequest


class Policy(Protocol):
    """Decides about a question before the person is asked."""

    def decide(self, request: PermissionRequest) -> bool:
        """Return True when the act may be done this once, False when the person decides. Raises PermissionRefused."""
        ...


class AskPerson:
    """Every question goes to the person."""

    def decide(self, request: PermissionRequest) -> bool:
        """Return False."""
        return False


_NEEDS_A_PERSON = ("doom_loop", "question")


class AutoApprove:
    """`--auto`: all that would ask is done once.

    Only a loop of equal calls, and a question of the model's that no yes can answer, still go to the person, or to `otherwise`.
    """

    def __init__(self, otherwise: Policy) -> None:
        self._otherwise = otherwise

    def decide(self, request: PermissionRequest) -> bool:
        """Return True, except for `doom_loop` and `question`."""
        return self._otherwise.decide(request) if request.permission in _NEEDS_A_PERSON else True


class RefuseQuestions:
    """A run without a terminal: nobody can answer, so what would ask is refused, with the way to allow it."""

    def decide(self, request: PermissionRequest) -> bool:
        """Raise NobodyToAskError."""
        raise NobodyToAskError(request.permission, request.patterns)
