"""Errors of model calls whose kind is known without reading a provider's text; `failure.py` has all others.

The text of each is one line, what happened and then the remedy.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from msgspec.structs import replace

from opencode_tui import network
from opencode_tui.engine.provider.error.remedy import remedy_for
from opencode_tui.schema.error import AuthError, Failure, FailureWords, ProviderError, with_remedy

if TYPE_CHECKING:
    from opencode_tui.network import Route


PROCESS = "process"
"""The kind of a failure of litellm's process: it ends in the same way each time where a part of the installation is missing."""

LOCAL = "local"
"""The kind of a connection that an address of this machine refuses: nothing listens there, which time does not change."""


_HEADER_NAME = r"[-!#$%&'*+.^_`|~0-9A-Za-z]+"
_UNSENDABLE = "[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]"
"""Characters that the value of a header must not have, and bytes of a variable that are no text."""


def truncated(provider_id: str, detail: str = "the response was cut off") -> ProviderError:
    """Return the error for a stream that ended without a finish reason from the model."""
    error = _plain(provider_id, detail, kind="stream_truncated", is_retryable=True)
    error.failure = replace(error.failure, metadata={"code": "ECONNRESET"})
    return error


def no_process(provider_id: str, detail: str) -> ProviderError:
    """Return the error for litellm's process that does not start, or ended; a few more tries may help."""
    return _plain(provider_id, detail, kind=PROCESS, is_retryable=True)


def no_connection(
    provider_id: str, url: str, reason: str, *, proxy: str | None, kind: str = "network", is_refused: bool = False
) -> ProviderError:
    """Return the error for an address that no connection leads to, with the proxy or the certificates in force.

    `proxy` is that of the endpoint. Only what may pass is tried again: a certificate that is not accepted stays so, and an address
    of this machine where nothing listens (`is_refused`) is asked again for some seconds only, in which a server may restart.
    """
    place = f"{provider_id}: cannot reach {host(url)}"
    if network.is_certificate_error(reason):
        text = with_remedy(f"{place}: its certificate is not accepted ({reason})", network.certificate_remedy())
        return ProviderError(text, provider_id=provider_id, failure=Failure(kind="network"))
    route = route_to(url, provider_id, proxy)
    needs_login = route.proxy is not None and reason.startswith("407")
    if is_refused:
        reason = "connection refused"
        kind = LOCAL if network.is_loopback(urlsplit(route.proxy or url).hostname or "") else kind
    remedy = remedy_for("proxy" if needs_login else kind, provider_id).replace(
        "HTTPS_PROXY", route.source or "HTTPS_PROXY"
    )
    failure = Failure(kind=kind, retryable=not needs_login)
    text = with_remedy(f"{place}{route.words} ({reason})", remedy if needs_login else route.remedy or remedy)
    return ProviderError(text, provider_id=provider_id, failure=failure)


def wrong_network(provider_id: str, problem: str) -> ProviderError:
    """Return the error for a variable with a proxy or certificates that cannot be used; `problem` has the remedy."""
    return ProviderError(f"{provider_id}: {problem}", provider_id=provider_id, failure=Failure(kind="network"))


def route_to(url: str, provider_id: str, proxy: str | None) -> "Route":
    """Return how the requests of a provider leave. Raises ConfigError."""
    return network.find_route(url, proxy=proxy, source=_setting(provider_id))


def _setting(provider_id: str) -> str:
    return f"provider.{provider_id}.options.proxy"


def timed_out(provider_id: str, detail: str) -> ProviderError:
    """Return the error for a provider that sends nothing."""
    error = _plain(provider_id, detail, kind="timeout", is_retryable=True)
    error.failure = replace(error.failure, metadata={"code": "ETIMEDOUT"})
    return error


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
    title, remedy = f"no API key for {provider_id}", f"run `opencode-tui auth login {provider_id}`{place}"
    words = FailureWords(f"{title[:1].upper()}{title[1:]}", remedy=remedy)
    return AuthError(with_remedy(title, remedy), provider_id=provider_id, failure=Failure(kind="auth", words=words))


def unsendable_key(provider_id: str, key_setting: str) -> AuthError:
    """Return the error for a key that no request can have; it does not contain the key."""
    title = f"the API key of {provider_id} has a line break or another character that cannot be sent"
    remedy = remedy_for("auth", provider_id, key_setting=key_setting)
    words = FailureWords(f"{title[:1].upper()}{title[1:]}", remedy=remedy)
    return AuthError(with_remedy(title, remedy), provider_id=provider_id, failure=Failure(kind="auth", words=words))


def sendable(provider_id: str, headers: Mapping[str, str], setting: str) -> dict[str, str]:
    """Return the headers of a setting without blanks around their values. Raises ProviderError for one that cannot be sent."""
    kept = {name: value.strip() for name, value in headers.items()}
    if (name := find_unsendable(kept)) is not None:
        title = f"{provider_id}: the header {name!r} has a line break or another character that cannot be sent"
        failure = Failure(kind="invalid_request")
        raise ProviderError(with_remedy(title, f"correct {setting}"), provider_id=provider_id, failure=failure)
    return kept


def find_unsendable(headers: Mapping[str, str]) -> str | None:
    """Return the name of the first header that HTTP does not permit, by its name or its value; None without one."""
    for name, value in headers.items():
        if not re.fullmatch(_HEADER_NAME, name) or re.search(_UNSENDABLE, value):
            return name
    return None


def missing_address(provider_id: str, *, is_untrusted: bool = False) -> ProviderError:
    """Return the error for a provider that only the settings know, without an address there.

    `is_untrusted`: what a folder's settings say of it is ignored until they are trusted.
    """
    if is_untrusted:
        detail = "what the settings of this folder say of it is ignored, because the folder is not trusted"
        return _plain(provider_id, detail, kind="untrusted", is_retryable=False)
    return _plain(provider_id, "no address is known", kind="no_address", is_retryable=False)


def _plain(provider_id: str, detail: str, *, kind: str, is_retryable: bool) -> ProviderError:
    failure = Failure(kind=kind, retryable=is_retryable)
    text = with_remedy(f"{provider_id}: {detail}", remedy_for(kind, provider_id))
    return ProviderError(text, provider_id=provider_id, failure=failure)
