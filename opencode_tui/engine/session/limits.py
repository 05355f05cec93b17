"""Constants of the session system. Source: docs/internals/loop.md#retries."""

OUTPUT_TOKEN_MAX = 32_000
"""Maximum tokens of an answer, unless the model's own limit is lower."""

RETRY_ATTEMPTS = 8
"""Maximum attempts of one model call, the first included."""

RETRY_BURST_MS = 300_000
"""Maximum sum of the waits of one series of retries, in milliseconds."""

STREAM_SLICE_MS = 8
"""Milliseconds after which a stream without pauses yields to the event loop."""
