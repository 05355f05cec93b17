"""Numbers of the session system. Source: seeds 000 and 001; SPEC section 3."""

OUTPUT_TOKEN_MAX = 32_000
"""Tokens that an answer may have at the most, unless the model's own limit is lower."""

RETRY_ATTEMPTS = 8
"""Attempts of one model call, the first included."""

RETRY_BURST_MS = 300_000
"""Milliseconds that the waits of one burst of retries may add up to."""

CHECKPOINT_INTERVAL_MS = 250
"""A growing part is written at most once in so many milliseconds."""

STREAM_SLICE_MS = 8
"""A stream that arrives without gaps gives the event loop a turn after so many milliseconds."""
