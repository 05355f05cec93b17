"""The service, and the accounts of an empty installation."""

from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from opencode_tui.engine.provider.chatgpt.accounts import Account, Accounts
from opencode_tui.engine.provider.chatgpt.service import TEST_ORIGIN
from opencode_tui.engine.provider.chatgpt.sign_in import begin, finish
from opencode_tui.storage.paths import Paths
from tests.support.provider.chatgpt_service import ChatGptService


@pytest.fixture
def service() -> Iterator[ChatGptService]:
    with ChatGptService() as running:
        yield running


@pytest.fixture
def accounts(paths: Paths, service: ChatGptService) -> Accounts:
    return Accounts(paths, {TEST_ORIGIN: service.origin})


@pytest.fixture
def sign_in(accounts: Accounts, service: ChatGptService) -> Callable[..., Account]:
    """Returns the whole sign-in of a user: `sign_in()`, `sign_in(account)` again."""

    def run(account: Account | None = None, **changed: str) -> Account:
        attempt = begin(accounts, 1455, account=account)
        query = {name: values[0] for name, values in parse_qs(urlsplit(service.consent(attempt.url)).query).items()}
        code, client_id = changed.get("code", query["code"]), changed.get("client_id", query["client_id"])
        return finish(accounts, attempt, code=code, client_id=client_id)

    return run
