"""Policies that answer a permission request before the user is asked, one for each kind of run."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from opencode_tui.schema.error import ApprovalUnavailableError, OutsideRefusedError
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.sandbox import LostRow, sandbox_of


class Policy(ABC):
    """Decides about a request before the user is asked."""

    @abstractmethod
    def decide(self, request: PermissionRequest) -> bool:
        """Return True to allow the call once, False to ask the user. Raises PermissionRefused."""

    def automatic(self, *, outside: bool) -> "Policy":
        """Return the policy that answers itself where this one asks; with `outside` also what leaves the sandbox."""
        return AutoApprove(self, outside=outside)

    def with_outside(self) -> "Policy":
        """Return the policy whose own answers may leave the sandbox: this one, where it has none."""
        return self


class AskPerson(Policy):
    """Asks the user every time."""

    def decide(self, request: PermissionRequest) -> bool:
        """Return False."""
        return False


_NEEDS_A_PERSON = ("doom_loop", "question", "hook")


class AutoApprove(Policy):
    """`--auto`: allows every request once that does not leave the sandbox, and with `outside` those that do too.

    Only `doom_loop` (repeated identical calls), `question` (of the model) and `hook` still go to the user, or to `otherwise`.
    """

    def __init__(self, otherwise: Policy, *, outside: bool = False) -> None:
        self._otherwise = otherwise
        self._outside = outside

    def automatic(self, *, outside: bool) -> Policy:
        """Return this policy, or the one that leaves the sandbox."""
        return self.with_outside() if outside else self

    def with_outside(self) -> Policy:
        """Return the policy that also allows what leaves the sandbox."""
        return AutoApprove(self._otherwise, outside=True)

    def decide(self, request: PermissionRequest) -> bool:
        """Return True, except for `doom_loop`, `question` and `hook`. Raises OutsideRefusedError."""
        if request.permission in _NEEDS_A_PERSON:
            return self._otherwise.decide(request)
        if not self._outside and leaves_sandbox(request):
            raise OutsideRefusedError(request.permission, request.patterns, _reasons(request))
        return True


def leaves_sandbox(request: PermissionRequest) -> bool:
    """Return whether a yes reaches beyond the sandbox that works here."""
    facts = sandbox_of(request.metadata)
    if facts is not None:
        return facts.leaves
    return request.metadata.get("outside") is True


def _reasons(request: PermissionRequest) -> list[str]:
    facts = sandbox_of(request.metadata)
    return list(facts.reasons or ()) if facts is not None else []


_NAMED = 5


def _losses(request: PermissionRequest) -> str:
    """Return in sentences which files a command would remove or overwrite, the largest by name."""
    facts = sandbox_of(request.metadata)
    rows = (facts.lost or []) if facts is not None else []
    if not rows:
        return ""
    count = sum(row.files for row in rows)
    words = f"It would remove or overwrite {count:,} file{'' if count == 1 else 's'}: {_named(rows)}."
    left = [row for row in rows if row.reason is not None]
    return f"{words} Undo would not bring back {_named(left)}." if left else words


def _named(rows: Sequence[LostRow]) -> str:
    names = [row.path for row in rows[:_NAMED] if row.path]
    return ", ".join(names) + (" and more" if len(rows) > len(names) else "")


class RefuseQuestions(Policy):
    """Rejects every request, for a run without a terminal; the error says how to allow it."""

    def decide(self, request: PermissionRequest) -> bool:
        """Raise ApprovalUnavailableError."""
        raise ApprovalUnavailableError(
            request.permission, request.patterns, outside=leaves_sandbox(request), losses=_losses(request)
        )
