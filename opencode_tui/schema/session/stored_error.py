"""The form in which a message stores an exception: {name, data} with OpenCode's names. Source: docs/internals/session.md#errors."""

from typing import Annotated, Any, Literal

from opencode_tui.schema.error import AuthError, ContextOverflowError, Failure, ProviderError, with_remedy
from opencode_tui.schema.field import Field
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.system_error import describe
from opencode_tui.tasks import first_error


class ErrorWords(Record):
    """The parts of the message: what went wrong, the HTTP status, the provider's reason, what to do. Absent in older records."""

    title: str
    status: int | None = absent()
    detail: str | None = absent()
    remedy: str | None = absent()


class ProviderAuthData(Record):
    """Data of a rejected or missing key."""

    provider_id: str
    message: str
    words: ErrorWords | None = absent()


class MessageData(Record):
    """Data of an error with only a text."""

    message: str


class OverflowData(Record):
    """Data of a request that was too large."""

    message: str
    response_body: str | None = absent()
    words: ErrorWords | None = absent()


class StructuredOutputData(Record):
    """Data of a response that did not match the requested schema."""

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
    """Any other error."""

    name: Literal["UnknownError"] = "UnknownError"
    data: MessageData


class StoredOutputLengthError(Record):
    """The response reached the output limit."""

    name: Literal["MessageOutputLengthError"] = "MessageOutputLengthError"
    data: dict[str, Any] = Field(default_factory=dict[str, Any])


class StoredAbortedError(Record):
    """The user interrupted it."""

    name: Literal["MessageAbortedError"] = "MessageAbortedError"
    data: MessageData


class StoredStructuredOutputError(Record):
    """The model did not return the structured response."""

    name: Literal["StructuredOutputError"] = "StructuredOutputError"
    data: StructuredOutputData


class StoredOverflowError(Record):
    """The request was larger than the context of the model."""

    name: Literal["ContextOverflowError"] = "ContextOverflowError"
    data: OverflowData


class StoredApiError(Record):
    """The provider returned an error, or did not respond."""

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


REFUSED = "content_filter"
"""The code of an answer that the model refused or a filter stopped."""

EMPTY = "empty_answer"
"""The code of an answer without a text or a call."""

STOPPED = "stopped_answer"
"""The code of an answer that the provider stopped for a reason of its own."""


def is_refusal(error: StoredError | None) -> bool:
    """Return whether an error is that of a refused answer."""
    return isinstance(error, StoredApiError) and (error.data.metadata or {}).get("code") == REFUSED


PLAN_LIMIT = "subscription_sharing_usage_limit_exceeded"
"""The code of a request that a ChatGPT plan has no usage left for.

Source: developers.openai.com/siwc/token-sharing-open-source/errors-and-recovery.
"""


def has_reached_plan(error: StoredError | None) -> bool:
    """Return whether an error is that of a plan whose limit is reached."""
    return isinstance(error, StoredApiError) and (error.data.metadata or {}).get("code") == PLAN_LIMIT


OUTPUT_LENGTH = "the response reached the model's output limit"


def keeps_answer(error: StoredError | None) -> bool:
    """Return whether an answer with this error is part of the conversation: there is none, or only the output limit ended it."""
    return error is None or isinstance(error, StoredOutputLengthError)


def output_remedy(provider_id: str, model_id: str) -> str:
    """Return what to do about an answer that the output limit ended."""
    setting = f"provider.{provider_id}.models.{model_id}.limit.output"
    return f"send `continue`, or raise {setting} (above 32000 also OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX)"


def describe_stored(error: StoredError, provider_id: str, model_id: str) -> str:
    """Return the text of a stored error of an answer of this model, with its remedy."""
    if isinstance(error, StoredOutputLengthError):
        return with_remedy(OUTPUT_LENGTH, output_remedy(provider_id, model_id))
    return str(getattr(error.data, "message", "") or error.name)


def _words(failure: Failure) -> ErrorWords | None:
    words = failure.words
    if words is None:
        return None
    return ErrorWords(
        title=words.title, status=failure.status, detail=words.detail or None, remedy=words.remedy or None
    )


def to_stored(error: BaseException) -> StoredError:
    """Return the form in which a message stores an exception; of a group its first one."""
    error = first_error(error)
    text = describe(error) if isinstance(error, OSError) else str(error) or type(error).__name__
    match error:
        case AuthError():
            return StoredAuthError(
                data=ProviderAuthData(provider_id=error.provider_id, message=text, words=_words(error.failure))
            )
        case ContextOverflowError():
            return StoredOverflowError(
                data=OverflowData(message=text, response_body=error.failure.body, words=_words(error.failure))
            )
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
"""The error of a response whose process was killed."""


EndState = Literal["done", "failed", "interrupted"]
"""How a turn ended: with an answer, with an error, or because the user interrupted it or its process ended."""


def end_state(error: StoredError | None) -> EndState:
    """Return how a turn ended whose last answer has this error, None for an answer without one."""
    if error is None:
        return "done"
    return "interrupted" if isinstance(error, StoredAbortedError) else "failed"


def aborted(message: str = "The operation was aborted.") -> StoredAbortedError:
    """Return the stored form of an interruption."""
    return StoredAbortedError(data=MessageData(message=message))
