"""Sign-ins with the browser and the accounts of ChatGPT, through each api; the service enforces its documentation."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from opencode_tui.config.auth import AuthStore
from opencode_tui.engine.provider.chatgpt.accounts import Accounts
from opencode_tui.engine.provider.chatgpt.service import TEST_ORIGIN
from opencode_tui.engine.provider.chatgpt.sign_in import begin, finish
from opencode_tui.schema.api.sign_in import SignInRequest
from opencode_tui.schema.error import ConfigError, NotFoundError, SignInError
from opencode_tui.storage.paths import Paths, find_paths
from tests.engine.mcp.sign_in_world import browser
from tests.support.provider.chatgpt_service import ChatGptService
from tests.support.world.processes import is_listening


@pytest.fixture
def service() -> Iterator[ChatGptService]:
    with ChatGptService() as running:
        yield running


@pytest.fixture
def environ(environ: dict[str, str], service: ChatGptService) -> dict[str, str]:
    """No browser opens: the address is pasted."""
    return {**environ, TEST_ORIGIN: service.origin, "BROWSER": "/nowhere"}


@pytest.fixture
def paths(environ: dict[str, str]) -> Paths:
    return find_paths(environ)


CHATGPT = SignInRequest(provider_id="chatgpt")


async def test_an_account_signs_in_with_a_pasted_address_is_chosen_and_signs_out(api, service: ChatGptService) -> None:
    sign_ins = api.client.sign_ins
    assert list(await sign_ins.accounts()) == []
    for user, first in (("user-1", True), ("user-2", False)):
        service.user = {"sub": user, "email": "ada@example.com"}
        begun = await sign_ins.begin(CHATGPT)
        ending = asyncio.create_task(sign_ins.wait(begun.id))
        with pytest.raises(SignInError, match="not the address"):
            await sign_ins.paste(begun.id, "hello")
        await sign_ins.paste(begun.id, service.consent(begun.url))
        done = await ending
        assert (bool(done.first_use), done.may_use_plan) == (first, True)
    one, two = await sign_ins.accounts()
    assert [(one.label, one.is_current), (two.label, two.is_current)] == [
        ("ada@example.com", False),
        ("ada@example.com (2)", True),
    ]
    await sign_ins.select(one.id)
    assert await sign_ins.sign_out(one.id) == "" and service.count["revoke"] == 1
    one, two = await sign_ins.accounts()
    assert [one.is_signed_in, one.is_current, two.is_signed_in] == [False, True, True]
    assert service.violations == []


async def test_a_signed_out_account_signs_in_again_with_its_registration(api, service: ChatGptService) -> None:
    sign_ins = api.client.sign_ins
    for _ in range(2):
        known = list(await sign_ins.accounts())
        begun = await sign_ins.begin(CHATGPT.changed(account_id=known[0].id if known else None))
        await sign_ins.paste(begun.id, service.consent(begun.url))
        await sign_ins.wait(begun.id)
        [account] = await sign_ins.accounts()
        await sign_ins.sign_out(account.id)
    assert service.violations == [] and service.count["exchange"] == 2


async def test_a_canceled_sign_in_gives_its_port_back_and_stores_nothing(api, service: ChatGptService) -> None:
    sign_ins = api.client.sign_ins
    begun = await sign_ins.begin(CHATGPT)
    port = urlsplit(parse_qs(urlsplit(begun.url).query)["redirect_uri"][0]).port
    assert port is not None and is_listening(port)
    ending = asyncio.create_task(sign_ins.wait(begun.id))
    await asyncio.sleep(0)
    await sign_ins.cancel(begun.id)
    with pytest.raises((SignInError, NotFoundError)):
        await ending
    assert not is_listening(port)
    with pytest.raises(NotFoundError):
        await sign_ins.paste(begun.id, service.consent(begun.url))
    assert list(await sign_ins.accounts()) == [] and service.count["exchange"] == 0


async def test_what_cannot_be_signed_in_says_why(api) -> None:
    sign_ins = api.client.sign_ins
    with pytest.raises(ConfigError, match="groq has no sign-in with the browser"):
        await sign_ins.begin(SignInRequest(provider_id="groq"))
    with pytest.raises(NotFoundError):
        await sign_ins.begin(CHATGPT.changed(account_id="0123456789ab"))
    for call in (sign_ins.select("0123456789ab"), sign_ins.sign_out("0123456789ab"), sign_ins.wait("0123456789abcdef")):
        with pytest.raises(NotFoundError):
            await call


async def test_the_browser_ends_a_sign_in(
    api, service: ChatGptService, environ: dict[str, str], tmp_path: Path
) -> None:
    begun = await api.client.sign_ins.begin(CHATGPT)
    process = await asyncio.create_subprocess_exec(browser(tmp_path), begun.url)
    assert "signed in as ada@example.com" in (await api.client.sign_ins.wait(begun.id)).words
    assert await process.wait() == 0


def test_tokens_that_come_after_a_cancellation_are_revoked_and_not_stored(
    paths: Paths, environ: dict[str, str], service: ChatGptService
) -> None:
    accounts = Accounts(paths, environ)
    attempt = begin(accounts, 1455)
    query = parse_qs(urlsplit(service.consent(attempt.url)).query)
    with pytest.raises(SignInError, match="canceled"):
        finish(accounts, attempt, code=query["code"][0], client_id=query["client_id"][0], is_wanted=lambda: False)
    assert service.count["exchange"] == 1 and service.count["revoke"] == 1
    assert accounts.all() == [] and "accounts" not in AuthStore(paths=paths).entry("chatgpt")
