"""No token of a sign-in leaves this machine but to its own service: not in records, logs, pages, shared sessions or errors."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_tui.config.auth import AuthStore
from opencode_tui.engine.provider.chatgpt.accounts import Account, Accounts
from opencode_tui.engine.provider.chatgpt.catalog import read_models
from opencode_tui.engine.provider.chatgpt.service import TEST_ORIGIN
from opencode_tui.schema.api.request import CreateSession
from opencode_tui.schema.error import ProviderError
from opencode_tui.schema.model import ModelRef
from opencode_tui.storage.paths import Paths
from opencode_tui.text.conversation import to_markdown
from opencode_tui.text.export.html import session_page
from opencode_tui.text.export.redact import redact_info, redact_messages, users_redactor
from tests.support.provider import chatgpt_service
from tests.support.provider.chatgpt_service import ChatGptService
from tests.support.provider.model_script import Answer, Call
from tests.support.share.server import recorded_server
from tests.support.world.engine import opened

SignIn = Callable[..., Account]
OPENROUTER_KEY = "sk-or-v1-0123456789abcdef0123456789abcdef"
MCP = {
    "tracker": {
        "tokens": {"accessToken": "mcp-access-0123456789", "refreshToken": "mcp-refresh-0123456789"},
        "clientInfo": {"clientId": "c", "clientSecret": "mcp-client-0123456789"},
        "serverUrl": "https://tracker.test/mcp",
    }
}
MCP_TOKENS = ["mcp-access-0123456789", "mcp-refresh-0123456789", "mcp-client-0123456789"]
PLAN = ModelRef(provider_id="chatgpt", model_id="gpt-6.1-sol")


@pytest.fixture
def tokens(sign_in: SignIn, accounts: Accounts, service: ChatGptService, paths: Paths) -> list[str]:
    """Sign in everywhere; return the tokens that are stored now."""
    account = sign_in()
    assert read_models(accounts, account)
    AuthStore(paths=paths).login("openrouter", OPENROUTER_KEY)
    paths.mcp_auth.write_text(json.dumps(MCP))
    paths.mcp_auth.chmod(0o600)
    assert account.access_token and account.refresh_token
    return [account.access_token, account.refresh_token, OPENROUTER_KEY, *MCP_TOKENS]


def leaked(tokens: list[str], text: str) -> list[str]:
    return [token for token in tokens if token in text]


@pytest.mark.slow
async def test_tokens_that_a_tool_reads_are_in_no_record_page_or_shared_session(
    tokens: list[str], service: ChatGptService, environ: dict[str, str], paths: Paths, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "copy.txt").write_text("a copy of all sign-ins\n" + "\n".join(tokens))
    [id_token] = [secret for secret in service.secrets if secret.startswith("eyJ")]
    environ[TEST_ORIGIN] = service.origin
    service.answers = [Answer(calls=(Call("read", {"filePath": str(folder / "copy.txt")}),)), Answer(text="Read.")]
    async with (
        recorded_server(tmp_path) as server,
        opened(environ, folder, settings={"enterprise": {"url": server.url}}) as world,
    ):
        session = await world.client.sessions.create(CreateSession(title="Named, so that no title is asked for"))
        await world.prompt("read copy.txt", session=session, model=PLAN)
        messages = list(await world.client.messages.list(session.id))
        pages = ["".join(session_page(session, messages)), "".join(to_markdown(session, messages))]
        assert len(pages) == 2 and all("a copy of all sign-ins" in page for page in pages)
        assert [leaked([*tokens, id_token], page) for page in pages] == [[], []]
        # What the user pastes is in the records; it is left out of what others get.
        await world.prompt(f"is {id_token} or {tokens[0]} valid?", session=session, model=PLAN)
        shared = await world.client.sharing.share(session.id)
        assert shared.share is not None
        await server.until(shared.share.url, "a copy of all sign-ins")
        assert leaked([*tokens, id_token], server.sent.decode()) == []
        redactor, messages = users_redactor(), list(await world.client.messages.list(session.id))
        page = "".join(session_page(redact_info(session, redactor), list(redact_messages(messages, redactor))))
        assert leaked([id_token, OPENROUTER_KEY], page) == []
    kept = [paths.auth, paths.mcp_auth, folder / "copy.txt"]
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path not in kept]
    texts = {path: path.read_bytes().decode("utf-8", "replace") for path in files}
    assert len(texts) > 10 and any("a copy of all sign-ins" in text for text in texts.values())
    assert {path.name: leaked(tokens[1:], text) for path, text in texts.items() if leaked(tokens[1:], text)} == {}


async def test_an_error_that_repeats_the_token_shows_none(
    tokens: list[str], service: ChatGptService, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(chatgpt_service.ERRORS, "plan", (400, "wrong", f"bad header: Bearer {tokens[0]}"))
    service.faults = ["plan"]
    environ[TEST_ORIGIN] = service.origin
    folder = tmp_path / "project"
    folder.mkdir()
    async with opened(environ, folder) as world:
        session = await world.client.sessions.create(CreateSession(title="Named"))
        with pytest.raises(ProviderError, match=r"bad header: Bearer \*\*\*"):
            await world.prompt("hi", session=session, model=PLAN)
        [failed] = [one.info for one in await world.messages(session) if one.info.role == "assistant"]
        assert failed.error is not None and leaked(tokens, json.dumps(failed.to_dict())) == []
