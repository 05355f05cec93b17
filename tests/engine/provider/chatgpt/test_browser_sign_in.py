"""The browser comes back to a listener of one sign-in, or the user pastes its address."""

import asyncio
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import pytest

from opencode_tui.engine.provider.chatgpt.accounts import Accounts
from opencode_tui.engine.sign_in.browser_sign_in import FIRST_USE, chatgpt_sign_in
from opencode_tui.schema.error import SignInError
from tests.support.provider.chatgpt_service import ChatGptService
from tests.support.world.waiting import PATIENCE_S


def get(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.slow
async def test_the_browser_signs_in_and_the_first_time_says_where_usage_is_managed(
    accounts: Accounts, service: ChatGptService
) -> None:
    said: list[str] = []
    for _ in range(2):
        async with chatgpt_sign_in(accounts, accounts.current()) as waiting:
            assert await asyncio.to_thread(get, waiting.url) == 200
            said.append((await waiting.wait()).whole())
    assert service.count["models"] == 2
    assert said == [f"signed in as ada@example.com. {' '.join(FIRST_USE)}", "signed in as ada@example.com"]
    assert service.violations == []


async def test_a_wrong_state_does_not_end_the_sign_in(accounts: Accounts, service: ChatGptService) -> None:
    async with chatgpt_sign_in(accounts) as waiting:
        address = service.consent(waiting.url)
        assert urlsplit(address).hostname == "127.0.0.1"
        for wrong in (address.replace("state=", "state=x"), address.replace("/auth/callback", "/other")):
            assert await asyncio.to_thread(get, wrong) in (400, 404)
        for wrong in ("", "hello", address.partition("?")[0], address.replace("state=", "state=x")):
            with pytest.raises(SignInError):
                waiting.paste(wrong)
        waiting.paste(f" {address}\n")
        assert "signed in as" in (await waiting.wait()).words
        assert await asyncio.to_thread(get, address) == 400  # it counts once
    with pytest.raises(OSError, match=r"refused|reset"):
        await asyncio.to_thread(get, address)


async def test_a_refusal_of_the_user_ends_the_sign_in_with_its_words(
    accounts: Accounts, service: ChatGptService
) -> None:
    async with chatgpt_sign_in(accounts) as waiting:
        address = service.consent(waiting.url).replace("code=", "error=access_denied&x=")
        assert await asyncio.to_thread(get, address) == 200
        with pytest.raises(SignInError, match="access_denied"):
            await waiting.wait()
    assert accounts.current() is None


async def test_two_sign_ins_at_once_have_ports_and_states_of_their_own(
    accounts: Accounts, service: ChatGptService
) -> None:
    async with chatgpt_sign_in(accounts) as one, chatgpt_sign_in(accounts) as other:
        assert await asyncio.to_thread(get, other.url) == 200
        assert await asyncio.to_thread(get, one.url) == 200
        await asyncio.gather(one.wait(), other.wait())
    assert service.violations == [] and len(accounts.all()) == 2
