"""Policies that answer a permission request before the user is asked, one for each kind of run."""

from typing import Protocol

from opencode_tui.schema.error import ApprovalUnavailableError
from opencode_tui.schema.permission import PermissionRequest


class Policy(Protocol):
    """Decides about a request before the user is asked."""

    def decide(self, request: PermissionRequest) -> bool:
        """Return True to allow the call once, False to ask the user. Raises PermissionRefused."""
        ...


class AskPerson:
    """Asks the user every time."""

    def decide(self, request: PermissionRequest) -> bool:
        """Return False."""
        return False


_NEEDS_A_PERSON = ("doom_loop", "question")


class AutoApprove:
    """`--auto`: allows every request once.

    Only `doom_loop` (repeated identical calls) and `question` (of the model) still go to the user, or to `otherwise`.
    """

    def __init__(self, otherwise: Policy) -> None:
        self._otherwise = otherwise

    def decide(self, request: PermissionRequest) -> bool:
        """Return True, except for `doom_loop` and `question`."""
        return self._otherwise.decide(request) if request.permission in _NEEDS_A_PERSON else True


class RefuseQuestions:
    """Rejects every request, for a run without a terminal; the error says how to allow it."""

    def decide(self, request: PermissionRequest) -> bool:
        """Raise ApprovalUnavailableError."""
        raise ApprovalUnavailableError(request.permission, request.patterns)
