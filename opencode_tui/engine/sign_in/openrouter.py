"""A key of OpenRouter by its PKCE flow: the browser brings a code back, which is exchanged once for a key of the user.

Source: https://openrouter.ai/docs/guides/overview/auth/oauth. The address has our `state`, as OpenRouter has no parameter for one.
"""

import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlencode, urlsplit

from opencode_tui import network
from opencode_tui.config.auth import AuthStore
from opencode_tui.engine.mcp.callback import Callbacks, Redirected
from opencode_tui.engine.provider.chatgpt.sign_in import challenge_of
from opencode_tui.engine.sign_in.browser_sign_in import BrowserSignIn, listening
from opencode_tui.schema.api.sign_in import SignInDone
from opencode_tui.schema.error import ConfigError, SignInError
from opencode_tui.schema.json_text import as_object, load_json

PATH = "/openrouter/callback"
TEST_ORIGIN = "OPENCODE_OPENROUTER_TEST_ORIGIN"
"""The variable with the origin of a service of the tests on 127.0.0.1; no other address counts."""

_PORTS = (3000, 0)
_TIMEOUT_S = 30.0
_MOST_BYTES = 1024 * 1024


@asynccontextmanager
async def openrouter_sign_in(auth: AuthStore, environ: Mapping[str, str]) -> AsyncGenerator[BrowserSignIn]:
    """Yield a sign-in that waits, at whose end the key is stored. Raises SignInError."""
    origin = environ.get(TEST_ORIGIN, "")
    parts = urlsplit(origin)
    is_local = parts.hostname == "127.0.0.1" and origin == f"http://{parts.netloc}"
    site = origin if is_local else "https://openrouter.ai"
    callbacks, state, verifier = Callbacks(PATH), secrets.token_urlsafe(32), secrets.token_urlsafe(48)
    async with listening(callbacks, _PORTS) as port:
        query = {
            "callback_url": f"http://127.0.0.1:{port}{PATH}?{urlencode({'state': state})}",
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }

        def finish(redirected: Redirected) -> SignInDone:
            key = _exchange(f"{site}/api/v1/auth/keys", redirected.code, verifier)
            if not waiting.is_wanted:
                raise SignInError("it was canceled; delete the new key on openrouter.ai/settings/keys")
            auth.login("openrouter", key)
            return SignInDone(
                words="saved a key of your OpenRouter account",
                advice="list its models with `opencode-tui models openrouter`",
            )

        waiting = BrowserSignIn(f"{site}/auth?{urlencode(query)}", state, finish)
        async with waiting.expected(callbacks):
            yield waiting


def _exchange(url: str, code: str, verifier: str) -> str:
    """Return the key for a code. Raises SignInError. Blocks for a request."""
    import httpx

    sent = {"code": code, "code_verifier": verifier, "code_challenge_method": "S256"}
    try:
        answer = network.fetch("POST", url, limit_s=_TIMEOUT_S, most_bytes=_MOST_BYTES, json=sent)
        key: object = as_object(load_json(answer.content)).get("key") if answer.status == 200 else None
    except (httpx.HTTPError, ConfigError) as error:
        reason = network.explain(str(error) or type(error).__name__, url)
        raise SignInError(f"OpenRouter cannot be reached ({reason}); begin it again") from None
    except ValueError:
        raise SignInError("OpenRouter gave no key (its answer is not JSON); begin it again") from None
    if not isinstance(key, str) or not key:
        raise SignInError(f"OpenRouter gave no key (HTTP {answer.status}); begin it again")
    return key
