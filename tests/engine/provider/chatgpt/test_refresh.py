"""Tokens are refreshed once over all processes, and no refresh token is ever sent twice."""

import errno
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opencode_tui.config.auth import AuthStore
from opencode_tui.engine.provider.chatgpt.accounts import Account, Accounts
from opencode_tui.engine.provider.chatgpt.service import TEST_ORIGIN
from opencode_tui.schema.error import AuthError, ProviderError, StorageError
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.paths import Paths
from tests.support.provider.chatgpt_service import ChatGptService

SignIn = Callable[..., Account]

PROCESSES = 8
CHILDREN = """
import http.client, os, signal, sys
from urllib.parse import parse_qs, urlsplit
from opencode_tui.engine.provider.chatgpt.accounts import Accounts
from opencode_tui.engine.provider.chatgpt.sign_in import begin, finish
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.paths import find_paths
import httpx

def kill_at(chosen):
    done = [0]
    def counted(known):
        def call(*given, **named):
            if done[0] == chosen:
                os.kill(os.getpid(), signal.SIGKILL)
            done[0] += 1
            return known(*given, **named)
        return call
    for name in ("open", "read", "write", "fsync", "close", "replace", "unlink", "mkdir", "chmod", "lstat", "read_whole"):
        setattr(FileSystem, name, counted(getattr(FileSystem, name)))

def sign_in(accounts):
    attempt = begin(accounts, 1455)
    place = urlsplit(attempt.url)
    browser = http.client.HTTPConnection(place.netloc)
    browser.request("GET", f"{place.path}?{place.query}")
    query = parse_qs(urlsplit(browser.getresponse().getheader("location")).query)
    return finish(accounts, attempt, code=query["code"][0], client_id=query["client_id"][0]).access_token

FLOWS = {
    "refresh": lambda accounts: accounts.token(),
    "sign-in": sign_in,
    "sign-out": lambda accounts: accounts.sign_out(accounts.current()),
}

def child(flow, chosen):
    pid = os.fork()
    if pid:
        return pid
    if chosen >= 0:
        kill_at(chosen)
    said = FLOWS[flow](Accounts(find_paths(os.environ), os.environ))
    os.write(1, f"{said}\\n".encode())
    os._exit(0)

for line in sys.stdin:
    flow, *numbers = line.split()
    started = [child(flow, int(chosen)) for chosen in numbers]
    ended = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in started]
    os.write(1, f"ended {sum(ended)}\\n".encode())
"""
"""Starts a process of a flow for each number of a line, killed at this file operation, and prints what they printed."""


class Children:
    """Processes that ask for a token, sign in or sign out."""

    def __init__(self, environ: dict[str, str], service: ChatGptService) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, "-c", CHILDREN],
            env={**environ, TEST_ORIGIN: service.origin},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, flow: str, *kill_at: int) -> tuple[list[str], int]:
        """Return what was printed, and the sum of the exit codes."""
        assert self._parent.stdin and self._parent.stdout
        self._parent.stdin.write(" ".join(map(str, (flow, *kill_at))) + "\n")
        self._parent.stdin.flush()
        printed: list[str] = []
        while not (line := self._parent.stdout.readline()).startswith("ended "):
            assert line, "the processes ended"
            printed.append(line.strip())
        return printed, int(line.removeprefix("ended "))

    def close(self) -> None:
        self._parent.communicate()


@pytest.fixture
def children(environ: dict[str, str], service: ChatGptService) -> Iterator[Children]:
    started = Children(environ, service)
    yield started
    started.close()


def expire(accounts: Accounts, paths: Paths) -> None:
    """Put the end of the access token into the past, as if an hour had passed."""
    current = accounts.current()
    assert current is not None
    entry = json.loads(paths.auth.read_text())
    entry["chatgpt"]["accounts"][current.id]["expiresAt"] = 1000.0
    paths.auth.write_text(json.dumps(entry))
    paths.auth.chmod(0o600)


@pytest.mark.slow
def test_eight_processes_that_refresh_at_once_refresh_once(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, paths: Paths, children: Children
) -> None:
    sign_in()
    expire(accounts, paths)
    service.slow_s = 0.1
    printed, ended = children.run("refresh", *[-1] * PROCESSES)
    assert (len(printed), len(set(printed)), ended) == (PROCESSES, 1, 0) and printed[0].startswith("access-")
    assert (service.count["refresh"], service.violations) == (1, [])


def test_a_refreshed_pair_replaces_the_old_one_and_is_on_the_disk(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, paths: Paths
) -> None:
    old = sign_in()
    expire(accounts, paths)
    token = accounts.token()
    new = accounts.current()
    assert new is not None and new.access_token == token and new.refresh_token != old.refresh_token
    assert token in paths.auth.read_text() and (old.refresh_token or "-") not in paths.auth.read_text()
    assert paths.auth.stat().st_mode & 0o777 == 0o600
    assert (accounts.token(), service.count["refresh"], service.violations) == (token, 1, [])


def test_a_rejected_token_is_replaced_once_not_one_that_another_process_replaced(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService
) -> None:
    old = sign_in().access_token
    new = accounts.token(rejected=old)
    assert new != old and service.count["refresh"] == 1
    assert (accounts.token(rejected=old), service.count["refresh"]) == (new, 1)


def test_no_refresh_is_sent_before_it_is_allowed(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, paths: Paths
) -> None:
    service.refresh_after = 3000
    sign_in()
    expire(accounts, paths)
    with pytest.raises(ProviderError, match="may be renewed from"):
        accounts.token()
    assert service.count["refresh"] == 0


@pytest.mark.parametrize("fault", ["lost-refresh", "odd-refresh", "page-refresh"])
def test_after_a_lost_answer_the_refresh_token_is_never_sent_again(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, paths: Paths, fault: str
) -> None:
    sign_in()
    expire(accounts, paths)
    service.faults = [fault]
    for same in (accounts, accounts, Accounts(paths, {TEST_ORIGIN: service.origin})):
        with pytest.raises(AuthError, match=r"not known whether.*sign in again"):
            same.token()
    assert (service.count["refresh"], service.violations) == (1, [])
    assert sign_in(accounts.current()).access_token == accounts.token()


def test_a_server_that_is_busy_is_asked_again_with_the_same_token(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, paths: Paths
) -> None:
    sign_in()
    expire(accounts, paths)
    service.faults = ["busy-refresh"]
    with pytest.raises(ProviderError, match="temporarily_unavailable") as caught:
        accounts.token()
    assert caught.value.failure.retryable
    assert accounts.token() and service.violations == []


def test_a_server_that_cannot_be_reached_has_not_got_the_token(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, paths: Paths
) -> None:
    sign_in()
    expire(accounts, paths)
    unreachable = Accounts(paths, {TEST_ORIGIN: "http://127.0.0.1:1"})
    with pytest.raises(ProviderError, match="cannot reach"):
        unreachable.token()
    assert accounts.token() and service.violations == []


def test_a_reused_token_ends_the_sign_in_and_says_so(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, paths: Paths
) -> None:
    sign_in()
    copy = paths.auth.read_text()
    expire(accounts, paths)
    accounts.token()
    paths.auth.write_text(copy)  # a backup that was brought back
    expire(accounts, paths)
    with pytest.raises(AuthError, match="refresh_token_reused"):
        accounts.token()
    with pytest.raises(AuthError, match=r"signed out \(refresh_token_reused"):
        accounts.token()
    assert service.count["refresh"] == 2 and AuthStore(paths=paths).key("chatgpt") is None


def test_an_ended_sign_in_is_asked_for_again_and_its_tokens_are_deleted(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, paths: Paths
) -> None:
    sign_in()
    expire(accounts, paths)
    service.end_all()
    with pytest.raises(AuthError, match=r"invalid_refresh_token.*auth login chatgpt"):
        accounts.token()
    assert "access-" not in paths.auth.read_text() and "refresh-" not in paths.auth.read_text()


@pytest.mark.parametrize(("failing", "sent"), [(0, 0), (1, 1)])
def test_tokens_that_cannot_be_written_are_not_used(
    sign_in: SignIn,
    accounts: Accounts,
    service: ChatGptService,
    paths: Paths,
    monkeypatch: pytest.MonkeyPatch,
    failing: int,
    sent: int,
) -> None:
    sign_in()
    expire(accounts, paths)
    replaced = iter(range(9))
    known = FileSystem.replace

    def replace(self: FileSystem, source: str, target: str) -> None:
        if next(replaced) == failing:
            raise OSError(errno.ENOSPC, "No space left on device")
        known(self, source, target)

    with monkeypatch.context() as full:
        full.setattr(FileSystem, "replace", replace)
        with pytest.raises(StorageError):
            accounts.token()
    assert service.count["refresh"] == sent
    assert after_kill(accounts, service) == ("signed out" if sent else "signed in")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flow", "first", "last"),
    [
        ("refresh", "signed in", "signed in"),
        ("sign-in", "nobody", "signed in"),
        ("sign-out", "signed in", "signed out"),
    ],
)
def test_a_kill_at_each_file_operation_leaves_a_sign_in_or_clearly_none(
    sign_in: SignIn,
    accounts: Accounts,
    service: ChatGptService,
    paths: Paths,
    children: Children,
    flow: str,
    first: str,
    last: str,
) -> None:
    seen: list[str] = []
    ended = -signal.SIGKILL
    while ended:
        if flow == "sign-in":
            paths.auth.unlink(missing_ok=True)
        else:
            sign_in(accounts.current())
        if flow == "refresh":
            expire(accounts, paths)
        _, ended = children.run(flow, len(seen))
        assert ended in (0, -signal.SIGKILL)
        seen.append(after_kill(accounts, service))
    assert len(seen) >= 10 and {first, last} <= set(seen) <= {first, last, "signed out"} and service.violations == []
    assert (seen[0], seen[-1]) == (first, last)


def after_kill(accounts: Accounts, service: ChatGptService) -> str:
    """Return what the next process finds: a token that the service accepts, or a clear demand to sign in again."""
    try:
        token = accounts.token()
    except AuthError as error:
        words = {"sign in again (/login, or `opencode-tui auth login": "signed out", "nobody is signed in": "nobody"}
        return next((state for word, state in words.items() if word in str(error)), str(error))
    assert service.user_of(f"Bearer {token}") == "user-1"
    return "signed in"


def test_no_token_is_in_any_other_file_or_error(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, paths: Paths, tmp_path: Path
) -> None:
    account = sign_in()
    expire(accounts, paths)
    accounts.token()
    texts = [path.read_text() for path in tmp_path.rglob("*") if path.is_file() and path != paths.auth]
    assert texts and service.secrets and not any(secret in text for secret in service.secrets for text in texts)
    assert not any(secret in repr((accounts, service.count)) for secret in service.secrets)
    stored = AuthStore(paths=paths).keys()
    current = accounts.current()
    assert current is not None and {current.access_token, current.refresh_token} <= set(stored)
    assert account.access_token not in stored
