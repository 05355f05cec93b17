"""Errors: the exceptions that travel through the program, and the form in which a message stores one.

    OpencodeError
    ├── ConfigError            a settings file, a flag or an argument is wrong
    ├── TrustError             a folder cannot be trusted
    ├── StorageError ── NotFoundError · CorruptRecordError · LockTimeoutError
    ├── SessionError ── BusyError · NoSuchMessageError · NothingToRevertError · RunAborted
    ├── PermissionRefused ── RejectedError(feedback?) ── QuestionDismissedError · DeniedError(rules) · NobodyToAskError
    ├── ProviderError ── AuthError · ContextOverflowError
    ├── ModelNotFoundError
    ├── ToolError              its text goes to the model as the tool's error
    └── SnapshotError ── GitUnavailableError ── GitMissingError

Stored: {name, data} with the names of `StoredError` (reference, section 12). Every exception's text is one line that names the
thing, the place and the remedy.
"""

from typing import Annotated, Any, Literal

from msgspec import Struct
from pydantic import Field

from opencode_tui.schema.permission import Rule
from opencode_tui.schema.record import Record, absent


class OpencodeError(Exception):
    """An error with a text for the person; the root of all of ours."""


class ConfigError(OpencodeError):
    """Settings cannot be used: names file, line, key and remedy."""


class TrustError(OpencodeError):
    """A folder cannot be trusted, or its trust cannot be stored."""


class StorageError(OpencodeError):
    """A record cannot be read or written."""


class NotFoundError(StorageError):
    """There is no such record."""


class CorruptRecordError(StorageError):
    """A record's bytes are not what they should be; `path` is its file."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is damaged ({reason}); run `opencode-tui doctor` to set it aside")
        self.path = path
        self.reason = reason


class LockTimeoutError(StorageError):
    """Another process holds a lock for too long."""


class SessionError(OpencodeError):
    """A session refuses what was asked."""


class BusyError(SessionError):
    """The session is being worked on."""


class NoSuchMessageError(SessionError):
    """The session has no such message or part."""


class NothingToRevertError(SessionError):
    """There is nothing to undo or to redo."""


class RunAborted(SessionError):
    """The run was interrupted before it had its answer."""


class PermissionRefused(OpencodeError):
    """An act was not allowed."""


class RejectedError(PermissionRefused):
    """The user said no (OpenCode's screen knows it by the words). With `feedback` the turn continues, else it ends.

    `subject` says to what, for the model: `to run it a third time`.
    """

    def __init__(self, feedback: str | None = None, *, subject: str = "") -> None:
        said = f" and said: {feedback}" if feedback else "."
        super().__init__(f"The user rejected permission{f' {subject}' if subject else ''}{said}")
        self.feedback = feedback


class QuestionDismissedError(RejectedError):
    """The person closed a question without an answer: the turn ends as after a rejection."""

    def __init__(self) -> None:
        super().__init__()
        self.args = ("The user dismissed the question without an answer.",)


class DeniedError(PermissionRefused):
    """A rule forbids it; `rules` are those that speak of this permission."""

    def __init__(self, permission: str, pattern: str, rules: list[Rule]) -> None:
        last = sorted({rule.pattern: place for place, rule in enumerate(rules)}.values())
        listed = ", ".join(f"{rules[place].pattern}: {rules[place].action}" for place in last) or "none"
        super().__init__(f"A permission rule denies {permission} for {pattern!r}. Rules for {permission}: {listed}")
        self.rules = rules


class NobodyToAskError(PermissionRefused):
    """It needs a person's word, and this run has no terminal to ask at."""

    def __init__(self, permission: str, patterns: list[str]) -> None:
        wanted = ", ".join(repr(pattern) for pattern in patterns)
        act, remedy = f"{permission} for {wanted}", "run with --auto"
        if permission == "doom_loop":
            act, remedy = f"going on with the same calls of {wanted} again and again", "try another way"
        text = f"{act} needs a person's permission and this run has no terminal to ask at; {remedy}"
        super().__init__(f"{text}, or allow it by a rule below permission.{permission} in opencode.json")


class ModelNotFoundError(OpencodeError):
    """No such provider or model; names the nearest ones."""

    def __init__(self, provider_id: str, model_id: str, suggestions: list[str]) -> None:
        hint = (
            f"; did you mean {', '.join(suggestions)}?"
            if suggestions
            else "; `opencode-tui models` lists what there is"
        )
        super().__init__(f"no model {provider_id}/{model_id}{hint}")
        self.provider_id = provider_id
        self.model_id = model_id
        self.suggestions = suggestions


class Failure(Struct, frozen=True):
    """What is known of a failed model call: its row in the failure table, and what the provider said and asked for."""

    kind: str = "unknown"
    retryable: bool = False
    status: int | None = None
    retry_after_ms: int | None = None
    body: str | None = None
    headers: dict[str, str] | None = None
    metadata: dict[str, str] | None = None


class ProviderError(OpencodeError):
    """A model call failed."""

    def __init__(self, message: str, *, provider_id: str, failure: Failure | None = None) -> None:
        super().__init__(message)
        self.provider_id = provider_id
        self.failure = failure or Failure()


class AuthError(ProviderError):
    """There is no key, or the provider refuses it."""


class ContextOverflowError(ProviderError):
    """The request is larger than the model can take."""


class ToolError(OpencodeError):
    """A tool could not do what it was asked; the text goes to the model."""


class SnapshotError(OpencodeError):
    """The state of the files cannot be recorded or brought back."""


class GitUnavailableError(SnapshotError):
    """Git cannot do what it was asked; the text names its reason."""


class GitMissingError(GitUnavailableError):
    """There is no git command."""


class ProviderAuthData(Record):
    """Data of a refused or missing key."""

    provider_id: str
    message: str


class MessageData(Record):
    """Data of an error that is only a text."""

    message: str


class OverflowData(Record):
    """Data of a request that was too large."""

    message: str
    response_body: str | None = absent()


class StructuredOutputData(Record):
    """Data of an answer that did not fit the schema that was asked for."""

    message: str
    retries: int = 0


class ApiData(Record):
    """Data of a failed model call."""

    message: str
    status_code: int | None = absent()
    is_retryable: bool = False
    response_headers: dict[str, str] | None = absent()
    response_body: str | None = absent()
    metadata: dict[str, str] | None = absent()


class StoredAuthError(Record):
    """No usable key."""

    name: Literal["ProviderAuthError"] = "ProviderAuthError"
    data: ProviderAuthData


class StoredUnknownError(Record):
    """Anything that has no kind of its own."""

    name: Literal["UnknownError"] = "UnknownError"
    data: MessageData


class StoredOutputLengthError(Record):
    """The answer hit the output limit."""

    name: Literal["MessageOutputLengthError"] = "MessageOutputLengthError"
    data: dict[str, Any] = Field(default_factory=dict[str, Any])


class StoredAbortedError(Record):
    """The person interrupted it."""

    name: Literal["MessageAbortedError"] = "MessageAbortedError"
    data: MessageData


class StoredStructuredOutputError(Record):
    """The model did not give the structured answer."""

    name: Literal["StructuredOutputError"] = "StructuredOutputError"
    data: StructuredOutputData


class StoredOverflowError(Record):
    """The request did not fit the model."""

    name: Literal["ContextOverflowError"] = "ContextOverflowError"
    data: OverflowData


class StoredApiError(Record):
    """The provider answered with an error, or not at all."""

    name: Literal["APIError"] = "APIError"
    data: ApiData


StoredError = Annotated[
    StoredAuthError
    | StoredUnknownError
    | StoredOutputLengthError
    | StoredAbortedError
    | StoredStructuredOutputError
    | StoredOverflowError
    | StoredApiError,
    Field(discriminator="name"),
]


def to_stored(error: BaseException) -> StoredError:
    """Return the form in which a message keeps an exception."""
    text = str(error) or type(error).__name__
    match error:
        case AuthError():
            return StoredAuthError(data=ProviderAuthData(provider_id=error.provider_id, message=text))
        case ContextOverflowError():
            return StoredOverflowError(data=OverflowData(message=text, response_body=error.failure.body))
        case ProviderError():
            return StoredApiError(
                data=ApiData(
                    message=text,
                    status_code=error.failure.status,
                    is_retryable=error.failure.retryable,
                    response_headers=error.failure.headers,
                    response_body=error.failure.body,
                    metadata=error.failure.metadata,
                )
            )
        case _:
            return StoredUnknownError(data=MessageData(message=text))


PROGRAM_ENDED = "The program ended before this answer was complete."
"""What an answer says that nobody stopped: its process was killed."""


def aborted(message: str = "The operation was aborted.") -> StoredAbortedError:
    """Return the stored form of an interruption."""
    return StoredAbortedError(data=MessageData(message=message))
