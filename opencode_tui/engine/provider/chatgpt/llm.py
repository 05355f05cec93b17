"""The adapter of a ChatGPT plan: each request has an access token that counts, refreshed once when the route rejects it."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from msgspec.structs import replace

from opencode_tui.config.auth import CHATGPT
from opencode_tui.engine.provider.chatgpt.accounts import LONGEST_WAIT_MS, Accounts
from opencode_tui.engine.provider.chatgpt.catalog import MAX_AGE_S, read_models
from opencode_tui.engine.provider.chatgpt.service import sign_in_again
from opencode_tui.engine.provider.formats import find_format
from opencode_tui.engine.provider.http import DirectLlm
from opencode_tui.engine.provider.llm import LlmRequest, OnUsage, StreamEvent, ignore_usage
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.engine.waits import waiting
from opencode_tui.schema.api.sign_in import USAGE_PAGE
from opencode_tui.schema.error import AuthError, ProviderError, with_remedy
from opencode_tui.schema.ids import Clock

_OTHER = "switch the model (/models, or -m)"
_WORDS: dict[str, tuple[str, str, str, bool]] = {
    "user_not_eligible": ("permission", "this ChatGPT account may not use its plan here", _OTHER, False),
    "usage_limit_exceeded": (
        "quota",
        "the limit of your ChatGPT plan for this program is reached",
        f"raise it or see when it is reset on {USAGE_PAGE}, or {_OTHER}",
        False,
    ),
    "usage_unavailable": ("overloaded", "the usage of your ChatGPT plan cannot be read now", "try again later", True),
    "route_not_supported": ("invalid_request", "a ChatGPT plan does not have this route", _OTHER, False),
    "unsupported_capability": ("invalid_request", "a ChatGPT plan does not have this capability", _OTHER, False),
    "invalid_user": (
        "permission",
        "this ChatGPT account is not valid here",
        "use another one (/login, or `opencode-tui auth login chatgpt --add`)",
        False,
    ),
}
"""Kind, reason, remedy and whether a retry may help, by the code.

Source: developers.openai.com/siwc/token-sharing-open-source/errors-and-recovery.
"""

_CODE = re.compile(r"subscription_sharing_(\w+)")


class ChatGptLlm:
    """Sends requests with the token of the account in use."""

    def __init__(
        self, endpoint: Endpoint, accounts: Accounts, *, clock: Clock, on_usage: OnUsage = ignore_usage
    ) -> None:
        self._on_usage = on_usage
        self._endpoint = endpoint
        self._accounts = accounts
        self._clock = clock
        self._open: dict[str, DirectLlm] = {}
        self._reading: asyncio.Task[object] | None = None

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Sequence[StreamEvent]]:
        """Yield the events of the response; see `Llm.stream`."""
        token = await self._token(self._accounts.token)
        self._read_models()
        try:
            try:
                first = self._direct(token).stream(request)
                async with aclosing(first):
                    head = await anext(first, None)
                    if head is not None:
                        yield head
                    async for batch in first:
                        yield batch
                return
            except AuthError as error:
                if error.failure.status != 401:
                    raise
            token = await self._token(lambda: self._accounts.token(rejected=token))
            async with aclosing(self._direct(token).stream(request)) as again:
                async for batch in again:
                    yield batch
        except ProviderError as error:
            if error.failure.status == 401:
                raise sign_in_again("the sign-in is not accepted any more") from error
            raise _worded(error) from error

    async def close(self) -> None:
        """Close all connections."""
        if self._reading is not None:
            self._reading.cancel()
        for llm in self._open.values():
            await llm.close()

    async def _token(self, read: Callable[[], str]) -> str:
        """Return a token, after its refresh or that by another process."""
        with waiting("sign_in", CHATGPT, limit_s=LONGEST_WAIT_MS / 1000):
            return await asyncio.to_thread(read)

    async def fresh_endpoint(self) -> Endpoint:
        """Return the endpoint with an access token that can be sent. Raises as `Accounts.token`."""
        return self._endpoint_with(await asyncio.to_thread(self._accounts.token))

    def _endpoint_with(self, token: str) -> Endpoint:
        return replace(self._endpoint, api_key=token, base_url=self._accounts.service.api)

    def _direct(self, token: str) -> DirectLlm:
        if token not in self._open:
            self._open[token] = DirectLlm(
                self._endpoint_with(token), find_format("chatgpt"), clock=self._clock, on_usage=self._on_usage
            )
        return self._open[token]

    def _read_models(self) -> None:
        """Read the list of models again in the background, when it is old."""
        account = self._accounts.current()
        if account is not None and self._reading is None and (account.models_at or 0) + MAX_AGE_S < time.time():
            self._reading = asyncio.create_task(asyncio.to_thread(read_models, self._accounts, account))


def _worded(error: ProviderError) -> ProviderError:
    """Return an error of the plan in our words, any other as it is."""
    code = _CODE.search(error.failure.body or "")
    words = _WORDS.get(code.group(1)) if code else None
    if code is None or words is None:
        return error
    kind, reason, remedy, is_retryable = words
    text = with_remedy(f"{CHATGPT}: {reason} ({code.group(0)})", remedy)
    metadata = {**(error.failure.metadata or {}), "code": code.group(0)}
    failure = replace(error.failure, kind=kind, retryable=is_retryable, metadata=metadata)
    return ProviderError(text, provider_id=CHATGPT, failure=failure)
