"""Pure: whether and when a failed model call is retried. Source: SPEC section 3, "retry"; reference, section 13."""

from msgspec import Struct

from opencode_tui.engine.session.limits import RETRY_ATTEMPTS, RETRY_BURST_MS
from opencode_tui.schema.error import ProviderError
from opencode_tui.schema.session.part import AnyPart, RetryPart
from opencode_tui.schema.session.stored_error import StoredApiError, to_stored

FIRST_DELAY_MS = 2_000
MAX_DELAY_MS = 30_000

MEDIA = "media"
"""The error code of a request whose media the provider rejects; it is sent once more without them."""

_KIND = "kind"


class Wait(Struct, frozen=True):
    """Retry after so many milliseconds."""

    delay_ms: int


class GiveUp(Struct, frozen=True):
    """Do not retry; `reason` is a clause for the user, empty when the error needs none."""

    reason: str = ""


def next_try(error: ProviderError, *, attempt: int, waited_ms: int) -> Wait | GiveUp:
    """Return the action after attempt number `attempt` (1-based) failed and `waited_ms` of waits in this series."""
    failure = error.failure
    if not failure.retryable:
        return GiveUp()
    delay = failure.retry_after_ms if failure.retry_after_ms is not None else backoff(attempt)
    if waited_ms + delay > RETRY_BURST_MS:
        if failure.retry_after_ms is not None:
            return GiveUp(f"the provider asks to wait {round(delay / 1000)} s (limit: 5 min); try later")
        return GiveUp(f"still failing after {attempt} attempts; try later or switch the model")
    if attempt >= RETRY_ATTEMPTS:
        return GiveUp(f"still failing after {attempt} attempts; try later or switch the model")
    return Wait(delay)


def store_cause(error: ProviderError) -> StoredApiError:
    """Return the error that a retry part stores; it marks rejected media, so that they are not sent again."""
    stored = to_stored(error)
    if not isinstance(stored, StoredApiError):
        return StoredApiError.model_validate({"data": {"message": str(error), "isRetryable": True}})
    if error.failure.kind != MEDIA:
        return stored
    metadata = {**(stored.data.metadata or {}), _KIND: MEDIA}
    return stored.changed(data=stored.data.changed(metadata=metadata))


def reports_refused_media(part: AnyPart) -> bool:
    """Return whether a part records that the provider rejected the media of the request that its message answers."""
    return isinstance(part, RetryPart) and (part.error.data.metadata or {}).get(_KIND) == MEDIA


def backoff(attempt: int) -> int:
    """Return the wait in milliseconds after attempt number `attempt` (1-based): 2, 4, 8, 16, then 30 seconds."""
    return min(FIRST_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS)
