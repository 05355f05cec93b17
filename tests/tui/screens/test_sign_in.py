"""/login with the browser: the panel that waits, several accounts, signing out; the services enforce their documentation."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from opencode_tui.config.auth import AuthStore
from opencode_tui.engine.provider.chatgpt.accounts import Accounts
from opencode_tui.engine.provider.chatgpt.service import TEST_ORIGIN
from opencode_tui.engine.sign_in import openrouter
from opencode_tui.storage.paths import find_paths
from opencode_tui.tui.dialogs.sign_in import SignInPanel
from tests.engine.mcp.sign_in_world import browser
from tests.support.provider.chatgpt_service import ChatGptService
from tests.support.provider.openrouter_service import KEY, openrouter_service
from tests.support.terminal.screen import Page, screen
from tests.support.world.processes import is_listening
from tests.support.world.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def service() -> Iterator[ChatGptService]:
    with ChatGptService() as running:
        yield running


@pytest.fixture
def environ(environ: dict[str, str], service: ChatGptService) -> dict[str, str]:
    """No browser opens."""
    return {**environ, TEST_ORIGIN: service.origin, "BROWSER": "/nowhere"}


def accounts_of(environ: dict[str, str]) -> Accounts:
    return Accounts(find_paths(environ), environ)


async def open_panel(page: Page, *, of: str = "chatgpt") -> str:
    """Choose a sign-in in /login, and return the address that its panel shows."""
    await page.send("/login")
    await page.sees("Continue with ChatGPT")
    await page.type(f"with {of}")
    await page.press("enter")
    return await shown_address(page)


async def shown_address(page: Page) -> str:
    await page.sees("Sign in with your browser")
    return page.app.chat.query_one(SignInPanel)._url


async def paste(page: Page, address: str) -> None:
    page.app.chat.query_one(SignInPanel).editor.paste(address)
    await page.sees("sign in with this address")
    await page.press("enter")


async def test_a_pasted_address_signs_in_and_the_first_time_says_whose_plan_is_used(
    environ: dict[str, str], folder: Path, service: ChatGptService
) -> None:
    async with screen(environ, folder, size=(140, 40)) as page:
        url = await open_panel(page)
        text = page.text()
        shown = "".join(re.findall(r"▎\s+(\S+)", text))
        assert url in shown and url.startswith(f"{service.origin}/api/accounts/authorize?")
        await paste(page, "https://example.com/nothing")
        assert "not the address that the browser shows" in await page.sees("not the address")
        await paste(page, service.consent(url))
        text = await page.sees("You're using your ChatGPT plan")
        assert "chatgpt.com/settings/usage" in text and "got it" in text
        assert service.secrets and not [one for one in service.secrets if one in text]
        await page.answer("enter")
        text = await page.sees("Signed in as ada@example.com")
        assert "2 models, /models chooses one" in text and "You're using" not in text
        await page.press("ctrl+x", "m")
        await page.sees("GPT-6.1 Sol")
    assert service.violations == []


async def test_it_is_said_once_and_a_signed_out_account_signs_in_again(
    environ: dict[str, str], folder: Path, service: ChatGptService
) -> None:
    async with screen(environ, folder, size=(140, 40)) as page:
        await paste(page, service.consent(await open_panel(page)))
        await page.sees("You're using your ChatGPT plan")
        await page.answer("enter")
        await page.send("/login")
        await page.sees("Connect a provider")
        await page.type("with chatgpt")
        await page.press("enter")
        await page.sees("Add another account")
        await page.press("ctrl+d")
        assert "revoked" in await page.sees("Sign out ada@example.com?")
        await page.answer("escape")
        assert service.count["revoke"] == 0
        await page.send("/login")
        await page.sees("Connect a provider")
        await page.type("with chatgpt")
        await page.press("enter")
        await page.sees("Add another account")
        await page.press("ctrl+d")
        await page.sees("Sign out ada@example.com?")
        await page.answer("y")
        await page.sees("its tokens are revoked")
        assert service.count["revoke"] == 1 and not accounts_of(environ).all()[0].is_signed_in
        await page.send("/login")
        await page.sees("Connect a provider")
        await page.type("with chatgpt")
        await page.press("enter")
        await page.sees("signed out")
        await page.press("enter")
        await paste(page, service.consent(await shown_address(page)))
        text = await page.sees("Signed in as ada@example.com")
        assert "You're using" not in text
    [account] = accounts_of(environ).all()
    assert account.is_signed_in and service.violations == []


async def test_one_of_several_accounts_with_the_same_address_is_chosen_by_its_label(
    environ: dict[str, str], folder: Path, service: ChatGptService
) -> None:
    async with screen(environ, folder, size=(140, 40)) as page:
        await paste(page, service.consent(await open_panel(page)))
        await page.sees("You're using your ChatGPT plan")
        await page.answer("enter")
        service.user = {"sub": "user-2", "email": "ada@example.com"}
        await page.send("/login")
        await page.sees("Connect a provider")
        await page.type("with chatgpt")
        await page.press("enter")
        await page.sees("Add another account")
        await page.type("another")
        await page.press("enter")
        await paste(page, service.consent(await shown_address(page)))
        await page.sees("Signed in as ada@example.com (2)")
        await page.send("/login")
        await page.sees("Connect a provider")
        await page.type("with chatgpt")
        await page.press("enter")
        await page.sees("ada@example.com (2)")
        await page.press("up", "enter")
        await page.sees("ada@example.com is in use")
    one, two = accounts_of(environ).all()
    current = accounts_of(environ).current()
    assert current is not None and (current.id, one.label, two.label) == (
        one.id,
        "ada@example.com",
        "ada@example.com (2)",
    )


async def test_escape_ends_it_and_gives_the_port_back(
    environ: dict[str, str], folder: Path, service: ChatGptService
) -> None:
    async with screen(environ, folder, size=(140, 40)) as page:
        url = await open_panel(page)
        port = urlsplit(parse_qs(urlsplit(url).query)["redirect_uri"][0]).port
        assert port is not None and is_listening(port)
        await page.press("escape")
        await page.sees("you canceled it")
        await page.sees_no_more("Sign in with your browser")
        await page.send("hello")  # the prompt has the focus again
        await page.sees("hello")
        await until(lambda: not is_listening(port))
    assert accounts_of(environ).all() == [] and service.count["exchange"] == 0


async def test_a_refusal_in_the_browser_closes_the_panel_with_its_reason(
    environ: dict[str, str], folder: Path, service: ChatGptService
) -> None:
    async with screen(environ, folder, size=(140, 40)) as page:
        url = await open_panel(page)
        refused = service.consent(url).replace("code=", "error=access_denied&x=")
        link, _, path = refused.removeprefix("http://").partition("/")
        reader, writer = await asyncio.open_connection(*link.split(":"))
        writer.write(f"GET /{path} HTTP/1.1\r\n\r\n".encode())
        assert b"200 OK" in await reader.read()
        writer.close()
        assert "access_denied" in await page.sees("Not signed in")
        assert not page.app.chat.query(SignInPanel)


async def test_the_browser_of_this_machine_signs_in_and_an_account_without_its_plan_is_asked_again(
    environ: dict[str, str], folder: Path, service: ChatGptService, tmp_path: Path
) -> None:
    service.scope = "openid profile email offline_access resource.invoke"
    (tmp_path / "bin").mkdir()
    environ = {**environ, "BROWSER": browser(tmp_path / "bin")}
    async with screen(environ, folder, size=(140, 40)) as page:
        await page.send("/login")
        await page.sees("Connect a provider")
        await page.type("with chatgpt")
        await page.press("enter")
        await page.sees("The plan may not be used")
        [account] = accounts_of(environ).all()
        assert account.is_signed_in and not account.plan_usage
        service.scope += " chatgpt.tokens.use.direct"
        await page.send("/login")
        await page.sees("Connect a provider")
        await page.type("with chatgpt")
        await page.press("enter")
        await page.sees("the plan is not allowed")
        await page.press("enter")
        await page.sees("You're using your ChatGPT plan")  # now it is the first time
    assert accounts_of(environ).all()[0].plan_usage and service.violations == []


async def test_openrouter_gives_a_key_after_its_sign_in(environ: dict[str, str], folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    with openrouter_service() as origin:
        variables = {**environ, openrouter.TEST_ORIGIN: origin, "BROWSER": browser(tmp_path / "bin")}
        async with screen(variables, folder, size=(140, 40)) as page:
            await page.send("/login")
            await page.sees("Continue with OpenRouter")
            await page.type("with openrouter")
            await page.press("enter")
            text = await page.sees("Saved a key of your OpenRouter account")
            assert KEY not in text
    assert AuthStore(paths=find_paths(environ)).key("openrouter") == KEY


async def test_copilot_says_whose_identity_it_uses_and_asks_for_no_key(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, size=(140, 40)) as page:
        await page.send("/login")
        await page.sees("Connect a provider")
        await page.type("copilot")
        await page.sees("with VS Code's identity")
        await page.press("enter")
        text = await page.sees("identity of VS Code")
        assert "API key for" not in text
        await page.answer("enter")
        await page.sees_no_more("identity of VS Code")


async def test_a_plan_is_shown_in_the_place_of_money_and_its_end_says_where_it_is_managed(
    environ: dict[str, str], folder: Path, service: ChatGptService
) -> None:
    service.faults = []
    async with screen(environ, folder, size=(100, 40)) as page:
        await paste(page, service.consent(await open_panel(page)))
        await page.sees("You're using your ChatGPT plan")
        await page.answer("enter")
        await page.press("ctrl+x", "m")
        await page.type("gpt-6.1")
        await page.press("enter")
        await page.sees("gpt-6.1-sol low  your ChatGPT plan")
        await page.send("hello")
        await page.sees("Hello.")
        await page.send("/cost")
        text = await page.sees("Your ChatGPT plan: 1 request of this session, ")
        assert "Account in use: ada@example.com." in text and "https://chatgpt.com/settings/usage shows it" in text
        assert "your ChatGPT plan" in text and "$" not in text
        await page.press("escape")
        service.faults = ["plan"]
        await page.send("again")
        text = await page.sees("your ChatGPT plan: limit reached")
        assert "chatgpt.com/settings/usage" in text
        await page.send("/cost")
        await page.sees("The limit is reached: raise it there, or choose another model (/models).")
        await page.press("escape")
        await page.send("once more")
        await page.sees_no_more("limit reached")
    assert service.violations == []
