"""The exceptions of the program.

    OpencodeError
    ├── ConfigError            a settings file, a flag or an argument is wrong
    ├── TrustError             a folder cannot be trusted
    ├── SignInError            a sign-in did not succeed
    ├── StorageError ── NotFoundError · CorruptRecordError · LockTimeoutError
    ├── SessionError ── BusyError · NoSuchMessageError · NothingToRevertError · RunAborted
    ├── PermissionRefused ── RejectedError(feedback?) ── QuestionDismissedError · DeniedError(rule) · ApprovalUnavailableError
    ├── ProviderError ── AuthError · ContextOverflowError
    ├── ModelNotFoundError
    ├── ToolError ── MissingFileError(nearest)    its text is sent to the model as the error
    └── SnapshotError ── GitUnavailableError ── GitMissingError

Every exception's text is one line with the problem, the location and the remedy. `schema/session/stored_error.py` has the form in
which a message stores one; the settings, which load before any session, need only this module.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.schema.suggest import did_you_mean

if TYPE_CHECKING:
    from opencode_tui.schema.permission import Rule


class OpencodeError(Exception):
    """An error with a text for the user; the base class of all our errors."""


class ConfigError(OpencodeError):
    """Invalid settings; the text has file, line, key and remedy."""


class TrustError(OpencodeError):
    """A folder cannot be trusted, or its trust cannot be stored."""


class SignInError(OpencodeError):
    """A sign-in did not succeed: to an MCP server, or with an account of a provider."""


class StorageError(OpencodeError):
    """A record cannot be read or written."""


class NotFoundError(StorageError):
    """The record does not exist."""


class CorruptRecordError(StorageError):
    """A record is not valid; `path` is its file."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is damaged ({reason}); run `opencode-tui doctor` to quarantine it")
        self.path = path
        self.reason = reason


class LockTimeoutError(StorageError):
    """Another process held a lock until the timeout."""


class LinkLostError(OpencodeError):
    """A server does not respond. `is_repeatable`: it has not received the request, or the request only reads."""

    def __init__(self, message: str, *, is_repeatable: bool = False) -> None:
        super().__init__(message)
        self.is_repeatable = is_repeatable


class SessionError(OpencodeError):
    """A session cannot do what was requested."""


class BusyError(SessionError):
    """The session is in use."""


class UnlockedError(BusyError):
    """Messages of the session change only while its run lock is held, and it is not held here, or no more."""


class IdInUseError(SessionError):
    """A message has the id already that a client gave to a request. `session_id` is its session if that is the same one."""

    def __init__(self, message: str, *, session_id: str | None = None) -> None:
        super().__init__(message)
        self.session_id = session_id


class NoSuchMessageError(SessionError):
    """The session has no such message or part."""


class NothingToRevertError(SessionError):
    """There is nothing to undo or redo."""


class RunAborted(SessionError):
    """The run was interrupted before it ended."""


class PermissionRefused(OpencodeError):
    """An action was not allowed."""


def with_feedback(sentence: str, feedback: str | None) -> str:
    """Return a sentence for the model about what the user rejected, without its end, with what they said."""
    return f"{sentence} and said: {feedback}" if feedback else f"{sentence}."


class RejectedError(PermissionRefused):
    """The user rejected the request (OpenCode's screen recognizes the text). With `feedback` the turn continues, else it ends.

    `subject` describes the request for the model: `to run it a third time`.
    """

    def __init__(self, feedback: str | None = None, *, subject: str = "") -> None:
        super().__init__(with_feedback(f"The user rejected permission{f' {subject}' if subject else ''}", feedback))
        self.feedback = feedback
        self.subject = subject


class QuestionDismissedError(RejectedError):
    """The user dismissed a question: the turn ends as after a rejection."""

    def __init__(self) -> None:
        super().__init__()
        self.args = ("The user dismissed the question without an answer.",)


class DeniedError(PermissionRefused):
    """`rule` denies it; `rules` are all rules for this permission."""

    def __init__(self, permission: str, pattern: str, rule: "Rule", rules: "list[Rule]") -> None:
        last = sorted({rule.pattern: index for index, rule in enumerate(rules)}.values())
        listed = ", ".join(f"{rules[index].pattern}: {rules[index].action}" for index in last) or "none"
        super().__init__(f"A permission rule denies {permission} for {pattern!r}. Rules for {permission}: {listed}")
        self.permission = permission
        self.rule = rule
        self.rules = rules


class ApprovalUnavailableError(PermissionRefused):
    """It needs approval, and this run has no terminal to ask for it."""

    def __init__(self, permission: str, patterns: list[str], *, outside: bool = False, losses: str = "") -> None:
        """`outside`: it would leave the sandbox; `losses` are sentences about files that it would remove or overwrite."""
        wanted = ", ".join(repr(pattern) for pattern in patterns)
        action, remedy = f"{permission} {wanted}", "use --auto=outside" if outside else "use --auto"
        if permission == "doom_loop":
            action, remedy = f"repeating the same calls of {wanted}", "try a different approach"
        text = f"{action} needs approval, but no terminal is attached; {remedy}"
        text = f"{text}, or add a rule under permission.{permission} in opencode.json"
        if permission == "hook":
            text = f"a hook wants approval for this call of {wanted}, but no terminal is attached; do without it"
        super().__init__(f"{text}. {losses}" if losses else text)


class OutsideRefusedError(PermissionRefused):
    """It would leave the sandbox, and this run answers its own questions only inside."""

    def __init__(self, permission: str, patterns: list[str], reasons: list[str]) -> None:
        wanted = ", ".join(repr(pattern) for pattern in patterns)
        why = f" {' '.join(reasons)}" if reasons else ""
        self.problem = f"{permission} {wanted} would leave the sandbox.{why}"
        super().__init__(
            f"{self.problem} Approvals are auto, so nobody is asked: do without it, or"
            " say that it needs --auto=outside or the setting experimental.sandbox.auto"
        )


class CommandRefusedError(PermissionRefused):
    """The agent may not run this command at all: `problem` says why, `advice` what the model can do instead, empty for nothing."""

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(f"{problem}{' ' if advice else ''}{advice}")
        self.problem = problem
        self.advice = advice


class ModelNotFoundError(OpencodeError):
    """The provider or model does not exist; `suggestions` are similar names, `remedy` names the setting that leaves it out."""

    def __init__(self, provider_id: str, model_id: str, suggestions: list[str], remedy: str = "") -> None:
        hints = [remedy] if remedy else []
        if suggestions:
            hints.append(did_you_mean([", ".join(suggestions)]))
        super().__init__("; ".join([f"no model {provider_id}/{model_id}", *(hints or ["see `opencode-tui models`"])]))
        self.provider_id = provider_id
        self.model_id = model_id
        self.suggestions = suggestions


_FIX = "; fix: "
"""Between what went wrong and the remedy in the text of a failed model call."""


def with_remedy(reason: str, remedy: str) -> str:
    """Return the text of a failed model call with its remedy."""
    return f"{reason}{_FIX}{remedy}" if remedy else reason


def split_remedy(text: str) -> tuple[str, str]:
    """Return what went wrong and the remedy of a failed model call; an empty remedy when the text has none."""
    reason, mark, remedy = text.rpartition(_FIX)
    return (reason, remedy) if mark else (text, "")


class Failure(Struct, frozen=True):
    """Details of a failed model call: its row in the failure table, and the response of the provider."""

    kind: str = "unknown"
    retryable: bool = False
    status: int | None = None
    retry_after_ms: int | None = None
    body: str | None = None
    headers: dict[str, str] | None = None
    metadata: dict[str, str] | None = None
    words: "FailureWords | None" = None


class FailureWords(Struct, frozen=True):
    """The parts of an error's sentence: what went wrong, the provider's reason, what to do; empty where there is none."""

    title: str
    detail: str = ""
    remedy: str = ""


class ProviderError(OpencodeError):
    """A model call failed."""

    def __init__(self, message: str, *, provider_id: str, failure: Failure | None = None) -> None:
        super().__init__(message)
        self.provider_id = provider_id
        self.failure = failure or Failure()


class AuthError(ProviderError):
    """The API key is missing, or the provider rejects it."""


class ContextOverflowError(ProviderError):
    """The request is larger than the context of the model."""


class BudgetError(OpencodeError):
    """A request was not sent, because it would pass a budget (`limits.cost`)."""


class ToolError(OpencodeError):
    """A tool failed; the text is sent to the model: `problem; advice`, and below it `lines` of a file.

    The advice is what only a model can do about it, such as to quote otherwise.
    """

    def __init__(self, problem: str, advice: str = "", *, lines: str = "") -> None:
        self.below = f"\n{lines}" if lines else ""
        super().__init__(f"{problem}{'; ' if advice else ''}{advice}{self.below}")
        self.problem = problem
        self.advice = advice


class MissingFileError(ToolError):
    """A file or folder does not exist: `problem` says so. `nearest` are similar names, best first; `advice` is in their place."""

    def __init__(self, problem: str, *, advice: str, nearest: Sequence[str] = ()) -> None:
        super().__init__(problem, did_you_mean(nearest) or advice)
        self.nearest = tuple(nearest)


class SnapshotError(OpencodeError):
    """A snapshot cannot be recorded or restored."""


class SnapshotUnreadableError(SnapshotError):
    """The system could not read a snapshot now; whether it is whole is not known, so nothing may be deleted for it."""


class GitUnavailableError(SnapshotError):
    """Git failed; the text has its reason."""


class GitMissingError(GitUnavailableError):
    """Git is not installed."""
