"""The sign-ins of clients that wait for the browser, by their ID, and the accounts of ChatGPT for a list of them."""

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from opencode_tui.cancellation import consume_error
from opencode_tui.config.auth import CHATGPT, AuthStore
from opencode_tui.engine.provider.chatgpt.accounts import Account, Accounts
from opencode_tui.engine.sign_in.browser_sign_in import BrowserSignIn, chatgpt_sign_in, open_browser
from opencode_tui.engine.sign_in.openrouter import openrouter_sign_in
from opencode_tui.schema.api.sign_in import SignInAccount, SignInDone, SignInRequest, SignInStarted
from opencode_tui.schema.error import ConfigError, NotFoundError, SignInError
from opencode_tui.storage.paths import Paths

MOST = 8
"""Sign-ins that wait at the same time; the oldest one ends for another one."""


class _Waiting:
    def __init__(self) -> None:
        self.begun: asyncio.Future[BrowserSignIn] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[SignInDone] | None = None


class WaitingSignIns:
    """The sign-ins that wait. Call all methods on the event loop."""

    def __init__(self, paths: Paths, environ: Mapping[str, str]) -> None:
        self._auth = AuthStore(paths=paths)
        self._accounts = Accounts(paths, environ)
        self._environ = environ
        self._waiting: dict[str, _Waiting] = {}

    async def begin(self, request: SignInRequest, folder: Path) -> SignInStarted:
        """Begin a sign-in, open the browser in the background, and return the address. Raises SignInError, ConfigError.

        Programs in `folder` are not used as a browser.
        """
        signing = await self._prepare(request)
        while len(self._waiting) >= MOST:
            await self.cancel(next(iter(self._waiting)))
        name, waiting = secrets.token_hex(8), _Waiting()
        self._waiting[name] = waiting
        waiting.task = asyncio.create_task(self._run(waiting, signing, folder), name=f"sign-in {request.provider_id}")
        waiting.task.add_done_callback(consume_error)
        await asyncio.wait({waiting.task, waiting.begun}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.begun.done():
            del self._waiting[name]
            waiting.task.result()
        return SignInStarted(id=name, url=waiting.begun.result().url)

    async def wait(self, name: str) -> SignInDone:
        """Return who signed in; the caller's cancellation does not end the sign-in. Raises SignInError, StorageError."""
        waiting = self._find(name)
        assert waiting.task is not None
        try:
            done = await asyncio.shield(waiting.task)
        except asyncio.CancelledError:
            if waiting.task.cancelled():
                raise SignInError("it was canceled") from None
            raise
        finally:
            if waiting.task.done():
                self._waiting.pop(name, None)
        return done

    def paste(self, name: str, address: str) -> None:
        """Go on with the whole address that the browser shows at the end. Raises SignInError; the sign-in still waits then."""
        self._find(name).begun.result().paste(address)

    async def cancel(self, name: str) -> None:
        """End a sign-in; nothing of it is stored. One that has ended stays as it is."""
        waiting = self._waiting.pop(name, None)
        if waiting is not None and waiting.task is not None:
            waiting.task.cancel()
            await asyncio.wait({waiting.task})

    async def close(self) -> None:
        """End all."""
        for name in tuple(self._waiting):
            await self.cancel(name)

    def accounts(self) -> list[SignInAccount]:
        """Return the accounts of ChatGPT in the order of their first sign-in. Blocks for a small file."""
        current = self._accounts.current()
        return [
            SignInAccount(
                id=one.id,
                label=one.label,
                is_signed_in=one.is_signed_in,
                is_current=current is not None and one.id == current.id,
                may_use_plan=one.plan_usage,
                ended=one.ended,
            )
            for one in self._accounts.all()
        ]

    def select(self, account_id: str) -> None:
        """Use this account from now on. Raises NotFoundError, StorageError. Blocks for a small file."""
        self._accounts.select(self._account(account_id))

    def sign_out(self, account_id: str) -> str:
        """Sign an account out; return why its tokens could not be revoked, empty if they were. Raises as `select`. Blocks."""
        return self._accounts.sign_out(self._account(account_id))

    def _account(self, account_id: str) -> Account:
        account = self._accounts.find(account_id)
        if account is None:
            raise NotFoundError(f"no account {account_id[:40]!r} of ChatGPT is known here")
        return account

    def _find(self, name: str) -> _Waiting:
        if name not in self._waiting:
            raise NotFoundError("this sign-in does not wait any more; begin it again")
        return self._waiting[name]

    async def _prepare(self, request: SignInRequest) -> AbstractAsyncContextManager[BrowserSignIn]:
        match request.provider_id:
            case "openrouter":
                return openrouter_sign_in(self._auth, self._environ)
            case provider_id if provider_id == CHATGPT:
                account = await asyncio.to_thread(self._account, request.account_id) if request.account_id else None
                return chatgpt_sign_in(self._accounts, account, is_consent_asked=bool(request.is_consent_asked))
            case other:
                raise ConfigError(f"{other[:60]} has no sign-in with the browser; store a key of it")

    async def _run(
        self, waiting: _Waiting, signing: AbstractAsyncContextManager[BrowserSignIn], folder: Path
    ) -> SignInDone:
        async with signing as begun:
            opening = asyncio.create_task(open_browser(begun.url, self._environ, folder))
            waiting.begun.set_result(begun)
            try:
                return await begun.wait()
            finally:
                opening.cancel()
