"""Pure: whether and when a failed model call is retried. Source: docs/internals/loop.md#retries."""

from msgspec import Struct

from opencode_tui.engine.provider.decode.response import as_index
from opencode_tui.engine.provider.error.plain import LOCAL, PROCESS
from opencode_tui.schema.error import ProviderError
from opencode_tui.schema.session.part import AnyPart, RetryPart
from opencode_tui.schema.session.stored_error import StoredApiError, to_stored

RETRY_ATTEMPTS = 8
"""Maximum attempts of one model call, the first included."""

RETRY_BURST_MS = 300_000
"""Maximum sum of the waits of one series of retries, in milliseconds."""

FIRST_DELAY_MS = 2_000
MAX_DELAY_MS = 30_000

DOUBTFUL_ATTEMPTS = 3
"""Attempts at a request that a web page answers, that an address of this machine refuses, or that litellm's process does not serve.

A proxy or a server may be restarting; a wrong address, a server that no one started or an incomplete installation stays so. The
waits are 6 s in all.
"""

_DOUBTFUL = frozenset({"page", LOCAL, PROCESS})

MEDIA = "media"
"""The error code of a request whose media the provider rejects; it is sent once more without them."""

BAD_CALL = "bad_call"
"""The error code of a call that the provider rejected; the model is shown it and asked once more."""

THOUGHTS = "thoughts"
"""The error code of a request with reasoning that the provider cannot read; it is sent once more without the reasoning so far."""

UNTHOUGHT = "unthought"
"""The error code of a request to think in the middle of a turn that begins without a thought; it is sent once more without that."""

PARAMETER = "parameter"
"""The error code of a request with an option that the provider rejects; it is sent once more without those of a default."""

_KIND = "kind"


class Wait(Struct, frozen=True):
    """Retry after `delay_ms`."""

    delay_ms: int


class GiveUp(Struct, frozen=True):
    """Do not retry; `reason` is a clause for the user, empty when the error needs none."""

    reason: str = ""


class MediaLimit(Struct, frozen=True):
    """What a provider accepts of the media of a request: `most` of them, each of at most `largest` base64 bytes."""

    most: int | None = None
    largest: int | None = None

    def reason(self) -> str:
        """Return why media beyond the limit are left out."""
        if self.most is not None:
            return f"the provider accepts at most {self.most} images and documents in a request, so the older ones are left out"
        size = f"{(self.largest or 0) / 2**20:.3g} MB"
        return f"the provider accepts images and documents of at most {size}, so the larger ones are left out"

    def tightened(self, other: "MediaLimit") -> "MediaLimit":
        """Return what both limits accept."""
        return MediaLimit(_least(self.most, other.most), _least(self.largest, other.largest))


def _least(one: int | None, other: int | None) -> int | None:
    return min((value for value in (one, other) if value is not None), default=None)


def next_try(error: ProviderError, *, attempt: int, waited_ms: int, is_shown: bool = False) -> Wait | GiveUp:
    """Return the action after attempt number `attempt` (1-based) failed and `waited_ms` of waits in this series.

    `is_shown`: the model has been shown an invalid call of this series.
    """
    failure = error.failure
    if not failure.retryable:
        return GiveUp()
    if failure.kind == BAD_CALL:
        return GiveUp("the same when it was asked again") if is_shown else Wait(0)
    asked = failure.retry_after_ms or 0
    # A short wait that did not help is no measure for the next one: all attempts would be used up within seconds.
    delay = asked if asked and attempt == 1 else max(asked, backoff(attempt))
    if waited_ms + delay > RETRY_BURST_MS:
        if delay == asked:
            limit = RETRY_BURST_MS / 60_000
            return GiveUp(f"the provider asks to wait {round(delay / 1000)} s (limit: {limit:g} min)")
        return GiveUp(f"still failing after {attempt} attempts")
    if attempt >= most_attempts(error):
        return GiveUp(f"still failing after {attempt} attempts")
    return Wait(delay)


def most_attempts(error: ProviderError) -> int:
    """Return how many attempts a request may have that fails like this, the first included."""
    return DOUBTFUL_ATTEMPTS if error.failure.kind in _DOUBTFUL else RETRY_ATTEMPTS


def store_cause(error: ProviderError, limit: MediaLimit | None = None) -> StoredApiError:
    """Return the error that a retry part stores; it marks what was rejected, media with their limit."""
    stored = to_stored(error)
    if not isinstance(stored, StoredApiError):
        data = {"message": str(error), "isRetryable": True, "statusCode": error.failure.status}
        stored = StoredApiError.model_validate(
            {"data": {key: value for key, value in data.items() if value is not None}}
        )
    if (kind := error.failure.kind) in (BAD_CALL, THOUGHTS, UNTHOUGHT, PARAMETER):
        return stored.changed(data=stored.data.changed(metadata={**(stored.data.metadata or {}), _KIND: kind}))
    if error.failure.kind != MEDIA and limit is None:
        return stored
    named = {} if limit is None else {"most": limit.most, "largest": limit.largest}
    limits = {key: str(value) for key, value in named.items() if value is not None}
    metadata = {**(stored.data.metadata or {}), _KIND: MEDIA, **limits}
    return stored.changed(data=stored.data.changed(metadata=metadata))


def refused_media(part: AnyPart) -> MediaLimit | None:
    """Return the limit that the provider set to the media of a request; one without values when it rejected all of them."""
    metadata = (part.error.data.metadata or {}) if isinstance(part, RetryPart) else {}
    if metadata.get(_KIND) != MEDIA:
        return None
    return MediaLimit(as_index(metadata.get("most")), as_index(metadata.get("largest")))


def refused_thoughts(part: AnyPart) -> bool:
    """Return whether the provider could not read the reasoning before this part, so that it is not sent again."""
    return isinstance(part, RetryPart) and (part.error.data.metadata or {}).get(_KIND) == THOUGHTS


def refused_default(part: AnyPart) -> bool:
    """Return whether the provider rejected the default reasoning of its model, so that it is not sent again."""
    return isinstance(part, RetryPart) and (part.error.data.metadata or {}).get(_KIND) == PARAMETER


def backoff(attempt: int) -> int:
    """Return the wait in milliseconds after attempt number `attempt` (1-based): 2, 4, 8, 16, then 30 seconds."""
    return min(FIRST_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS)
