"""Where a provider is and what it wants with every request."""

from msgspec import Struct, field

DEFAULT_CHUNK_TIMEOUT_MS = 300_000
"""Milliseconds without a byte after which a stream counts as dead."""

ENVIRONMENT_PROXY = "environment"
"""A proxy setting that means: whatever HTTPS_PROXY, NO_PROXY and SSL_CERT_FILE of the environment say."""


class Endpoint(Struct, frozen=True):
    """A provider's address and credentials; times are milliseconds, `timeout_ms` None means no limit for the whole request.

    `base_url` includes the version (`https://host/v1`); requests go to `base_url` + `/chat/completions` or `/messages`.
    """

    provider_id: str
    base_url: str
    api_key: str | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    timeout_ms: int | None = None
    chunk_timeout_ms: int = DEFAULT_CHUNK_TIMEOUT_MS
    proxy: str | None = None
    """A proxy's URL, or `ENVIRONMENT_PROXY`; None asks the provider directly."""

    def __repr__(self) -> str:
        return f"Endpoint({self.provider_id!r}, {self.base_url!r})"  # without its secrets
