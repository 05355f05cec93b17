"""Errors of model calls whose kind is known without reading a provider's text; `failure.py` has all others.

The text of each is one line, what happened and then the remedy.
"""

from urllib.parse import urljoin, urlsplit

from msgspec.structs import replace

from opencode_tui.engine.provider.error.remedy import remedy_for
from opencode_tui.schema.error import AuthError, Failure, ProviderError, with_remedy


def truncated(provider_id: str, detail: str = "the response was cut off") -> ProviderError:
    """Return the error for a stream that ended without a finish reason from the model."""
    error = _plain(provider_id, detail, kind="stream_truncated", is_retryable=True)
    error.failure = replace(error.failure, metadata={"code": "ECONNRESET"})
    return error


def unreachable(provider_id: str, detail: str) -> ProviderError:
    """Return the error for a connection that failed or was lost."""
    return _plain(provider_id, detail, kind="network", is_retryable=True)


def timed_out(provider_id: str, detail: str) -> ProviderError:
    """Return the error for a provider that sends nothing."""
    return _plain(provider_id, detail, kind="timeout", is_retryable=True)


def invalid_response(provider_id: str, detail: str) -> ProviderError:
    """Return the error for a response that is not in the provider's wire format; it can't be retried."""
    return _plain(provider_id, f"not a model response: {detail}", kind="protocol", is_retryable=False)


def web_page(provider_id: str, description: str) -> ProviderError:
    """Return the error for a web page with a success status; a few retries may pass a proxy that restarts."""
    return _plain(provider_id, f"not a model response: {description}", kind="page", is_retryable=True)


def redirected(provider_id: str, origin: str, location: str) -> ProviderError:
    """Return the error for a redirect of `origin` to a location, which may be relative."""
    try:
        target = host(urljoin(origin, location))
    except ValueError:
        target = "an invalid address"
    return invalid_response(
        provider_id, f"{host(origin) or 'the server'} redirects to {target}; the key is not sent there"
    )


def host(url: str) -> str:
    """Return host and port of an address, without credentials."""
    return urlsplit(url).netloc.rpartition("@")[2] or url


def missing_key(provider_id: str, variable: str | None = None) -> AuthError:
    """Return the error for a provider without the required key."""
    place = f" or set {variable}" if variable else ""
    text = with_remedy(f"no API key for {provider_id}", f"run `opencode-tui auth login {provider_id}`{place}")
    return AuthError(text, provider_id=provider_id, failure=Failure(kind="auth"))


def missing_address(provider_id: str) -> ProviderError:
    """Return the error for a provider that only the settings know, without an address there."""
    return _plain(provider_id, "no address is known", kind="no_address", is_retryable=False)


def _plain(provider_id: str, detail: str, *, kind: str, is_retryable: bool) -> ProviderError:
    failure = Failure(kind=kind, retryable=is_retryable)
    text = with_remedy(f"{provider_id}: {detail}", remedy_for(kind, provider_id))
    return ProviderError(text, provider_id=provider_id, failure=failure)
