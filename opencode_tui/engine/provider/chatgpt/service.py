"""The addresses of the sign-in with ChatGPT, and one request to its authorization server.

Sources: https://developers.openai.com/siwc/token-sharing-open-source (…/sign-in, …/profiles-and-sessions, …/models-and-inference,
…/token-reference, …/errors-and-recovery), https://auth.openai.com/.well-known/openid-configuration. Read, not tried at the service.
"""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct, field

from opencode_tui import __version__, network
from opencode_tui.config.auth import CHATGPT
from opencode_tui.engine.provider.error import plain
from opencode_tui.schema.error import AuthError, ConfigError, Failure, ProviderError, with_remedy
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.record import JsonObject

RESOURCE = "https://api.openai.com/v1"
"""What the tokens are for. Source: developers.openai.com/siwc/token-sharing-open-source/token-reference."""

SCOPES = ("openid", "profile", "email", "offline_access", "resource.invoke", "chatgpt.tokens.use.direct")
PLAN_SCOPES = frozenset({"resource.invoke", "chatgpt.tokens.use.direct"})
"""The scopes without which the plan cannot be used.

Source: developers.openai.com/siwc/token-sharing-open-source/token-reference.
"""

FIRST_CLIENT = "dynamic_agent_client"
"""The client ID of a first sign-in only; the callback has the one that was issued.

Source: developers.openai.com/siwc/token-sharing-open-source/sign-in.
"""

AGENT_NAME = "opencode-tui"

FATAL = frozenset(
    {
        "invalid_grant",
        "invalid_client",
        "invalid_refresh_token",
        "token_expired",
        "refresh_token_expired",
        "refresh_token_invalidated",
        "refresh_token_reused",
    }
)
"""Codes after which only another sign-in helps.

Source: developers.openai.com/siwc/token-sharing-open-source/errors-and-recovery.
"""

TEST_ORIGIN = "OPENCODE_CHATGPT_TEST_ORIGIN"
"""The variable with the origin of a service of the tests on 127.0.0.1; no other address counts."""

_TIMEOUT_S = 30.0
_MOST_BYTES = 1024 * 1024


class Service(Struct, frozen=True):
    """The addresses; all but that of `api` derive from the issuer."""

    issuer: str = "https://auth.openai.com"
    api: str = RESOURCE

    @property
    def authorize(self) -> str:
        """Where the browser goes."""
        return f"{self.issuer}/api/accounts/authorize"

    @property
    def token(self) -> str:
        """Where codes and refresh tokens are exchanged."""
        return f"{self.issuer}/api/accounts/oauth/token"

    @property
    def revoke(self) -> str:
        """Where a refresh token is revoked."""
        return f"{self.issuer}/api/accounts/oauth/revoke"

    @property
    def keys(self) -> str:
        """The public keys of ID tokens."""
        return f"{self.issuer}/.well-known/jwks.json"


def find_service(environ: Mapping[str, str]) -> Service:
    """Return the service: OpenAI's, or one of the tests on this machine."""
    origin = environ.get(TEST_ORIGIN, "").rstrip("/")
    parts = urlsplit(origin)
    is_local = parts.scheme == "http" and parts.hostname == "127.0.0.1" and origin == f"http://{parts.netloc}"
    return Service(issuer=origin, api=f"{origin}/v1") if is_local else Service()


class NotSentError(Exception):
    """No connection was made: the server has not got the request. The text names the variables in force."""

    def __init__(self, url: str, reason: str, *, is_setting: bool = False, is_refused: bool = False) -> None:
        super().__init__(network.explain(reason, url))
        self._url = url
        self._reason = reason
        self._is_setting = is_setting
        self._is_refused = is_refused

    def as_failure(self) -> ProviderError:
        """Return the error of a model call."""
        if self._is_setting:
            return plain.wrong_network(CHATGPT, self._reason)
        return plain.no_connection(CHATGPT, self._url, self._reason, proxy=None, is_refused=self._is_refused)


class AnswerLostError(Exception):
    """The request may have arrived, and its answer did not: no one knows the outcome."""


class Answer(Struct, frozen=True):
    """An answer. `body` is None for one that is not a JSON object."""

    status: int
    body: JsonObject | None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def error(self) -> str:
        """The code of an error in the answer, empty without one: `error` is a code, or an object with one."""
        error: Any = (self.body or {}).get("error")
        code: Any = cast("JsonObject", error).get("code") if isinstance(error, dict) else error
        return code if isinstance(code, str) else ""


def ask(url: str, *, form: Mapping[str, str] | None = None, token: str | None = None) -> Answer:
    """Return the answer to a POST of a form, or to a GET without one, within 30 s. Raises NotSentError, AnswerLostError. Blocks."""
    import httpx  # most runs do not sign in

    headers = {"accept": "application/json", "user-agent": f"{AGENT_NAME}/{__version__}"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    method = "GET" if form is None else "POST"
    try:
        found = network.fetch(method, url, limit_s=_TIMEOUT_S, most_bytes=_MOST_BYTES, data=form, headers=headers)
        return Answer(found.status, _parse(found.content) if found.is_whole else None, dict(found.headers))
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol) as error:
        reason = str(error) or type(error).__name__
        raise NotSentError(url, reason, is_refused=network.is_refused(error)) from None
    except ConfigError as error:  # a variable with a proxy or certificates that cannot be used
        raise NotSentError(url, str(error), is_setting=True) from None
    except httpx.HTTPError as error:
        raise AnswerLostError(type(error).__name__) from None


def _parse(raw: bytes) -> JsonObject | None:
    try:
        loaded: Any = load_json(raw)
    except ValueError:
        return None
    return cast("JsonObject", loaded) if isinstance(loaded, dict) else None


def sign_in_again(reason: str) -> AuthError:
    """Return the error for a sign-in that does not count any more."""
    text = with_remedy(f"{CHATGPT}: {reason}", "sign in again (/login, or `opencode-tui auth login chatgpt`)")
    return AuthError(text, provider_id=CHATGPT, failure=Failure(kind="auth"))
