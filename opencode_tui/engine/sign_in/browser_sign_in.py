"""A sign-in to a provider that waits for the browser: at an address of this machine, or for the address that the user pastes.

The browser comes back to 127.0.0.1, once, with the `state` of this sign-in; a wrong one does not end it.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from opencode_tui.engine.mcp.browser import open_browser
from opencode_tui.engine.mcp.callback import Callbacks, Redirected, UnavailablePort, read_redirect
from opencode_tui.engine.provider.chatgpt import sign_in
from opencode_tui.engine.provider.chatgpt.accounts import Account, Accounts
from opencode_tui.engine.provider.chatgpt.catalog import read_models
from opencode_tui.schema.api.sign_in import USAGE_PAGE, SignInDone
from opencode_tui.schema.error import SignInError

__all__ = ["FIRST_USE", "BrowserSignIn", "chatgpt_sign_in", "listening", "open_browser"]

LONGEST_S = 600.0
"""Seconds in which the user must have signed in."""

FIRST_USE = (
    "You're using your ChatGPT plan.",
    f"What you do with chatgpt counts into its usage, which you manage on {USAGE_PAGE}.",
    "opencode-tui has no subscription of its own.",
)
"""What is said after the first sign-in only. Source: developers.openai.com/siwc/ui-ux-guidelines."""


class BrowserSignIn:
    """A sign-in that waits. Call all methods on the event loop."""

    def __init__(self, url: str, state: str, finish: Callable[[Redirected], SignInDone]) -> None:
        self.url = url
        """The address for the browser."""
        self._state = state
        self._finish = finish
        self.found: asyncio.Future[Redirected] = asyncio.get_running_loop().create_future()
        self.is_wanted = True
        """Whether somebody waits for its end; what comes later is not stored."""

    async def wait(self) -> SignInDone:
        """Return who signed in, when the browser has come back. Raises SignInError, StorageError."""
        try:
            async with asyncio.timeout(LONGEST_S):
                redirected = await self.found
        except TimeoutError:
            raise SignInError(f"nobody signed in within {LONGEST_S:g} s; begin it again") from None
        return await asyncio.to_thread(self._finish, redirected)

    def paste(self, text: str) -> None:
        """Go on with the whole address that the browser shows at the end. Raises SignInError; the sign-in still waits then."""
        try:
            redirected = read_redirect(text.strip())
        except (SignInError, ValueError) as error:
            raise SignInError(f"this is not the address that the browser shows at the end ({error})") from None
        if not secrets.compare_digest((redirected.state or "").encode(), self._state.encode()):
            raise SignInError("this address belongs to another sign-in; paste the one of this")
        if not self.found.done():
            self.found.set_result(redirected)

    @asynccontextmanager
    async def expected(self, callbacks: Callbacks) -> AsyncGenerator[None]:
        """Let the browser end it; afterwards it is not wanted any more."""
        try:
            async with callbacks.expecting(self._state, self.found):
                yield
        finally:
            self.is_wanted = False


@asynccontextmanager
async def chatgpt_sign_in(
    accounts: Accounts, account: Account | None = None, *, is_consent_asked: bool = False
) -> AsyncGenerator[BrowserSignIn]:
    """Yield a sign-in with ChatGPT that waits: of a known account again, or of a new one. Raises SignInError, ConfigError."""
    callbacks = Callbacks(sign_in.PATH)
    async with listening(callbacks, sign_in.PORTS) as port:
        attempt = await asyncio.to_thread(
            sign_in.begin, accounts, port, account=account, is_consent_asked=is_consent_asked
        )

        def finish(redirected: Redirected) -> SignInDone:
            is_first = accounts.is_first()
            done = sign_in.finish(
                accounts,
                attempt,
                code=redirected.code,
                client_id=redirected.client_id or "",
                is_wanted=lambda: waiting.is_wanted,
            )
            if not done.plan_usage:
                return SignInDone(
                    words=f"signed in as {done.label}, but the plan may not be used",
                    advice="allow it with `opencode-tui auth login chatgpt --consent` or in /login, or use an API key",
                    may_use_plan=False,
                )
            missing = None if read_models(accounts, done) else "its models could not be read, sign in again for them"
            return SignInDone(
                words=f"signed in as {done.label}", advice=missing, first_use=list(FIRST_USE) if is_first else None
            )

        waiting = BrowserSignIn(attempt.url, attempt.state, finish)
        async with waiting.expected(callbacks):
            yield waiting


@asynccontextmanager
async def listening(callbacks: Callbacks, ports: tuple[int, ...]) -> AsyncGenerator[int]:
    """Listen on the first of these ports that is free, and yield it. Raises SignInError if there is none."""
    try:
        async with callbacks.listening(*ports) as port:
            yield port
    except UnavailablePort as error:
        raise SignInError(f"no port of 127.0.0.1 is free for the browser ({error.strerror})") from None
