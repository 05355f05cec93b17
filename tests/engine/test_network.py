"""Requests leave by the proxies and with the certificates of the environment, and a failure names the variable in force."""

import ast
import asyncio
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import certifi
import pytest
import pytest_asyncio
from msgspec.structs import replace

from opencode_tui import network
from opencode_tui.config.auth import AuthStore
from opencode_tui.config.well_known import fetch
from opencode_tui.engine.mcp.lists import ConnectionLost, McpError
from opencode_tui.engine.provider.chatgpt.accounts import Account, Accounts
from opencode_tui.engine.provider.chatgpt.sign_in import begin, finish
from opencode_tui.engine.provider.error.plain import LOCAL
from opencode_tui.engine.provider.formats import find_format
from opencode_tui.engine.provider.http import DirectLlm
from opencode_tui.engine.provider.litellm_worker import LitellmLlm, LitellmWorker
from opencode_tui.engine.provider.local_servers import LocalServers
from opencode_tui.engine.provider.model_fetch import ListSource, ModelLists
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.engine.share.server import ShareServer, ShareServerError
from opencode_tui.engine.sign_in.openrouter import openrouter_sign_in
from opencode_tui.engine.tool.builtin.webfetch import WebfetchTool
from opencode_tui.extras.importing.export_file import ExportFile
from opencode_tui.schema.error import ConfigError, ProviderError, SignInError, StorageError, ToolError, split_remedy
from opencode_tui.schema.ids import system_clock
from opencode_tui.storage.paths import Paths
from tests.engine.provider.asking import KEY, ask, ask_once, request
from tests.support.faults.proxy import closed_port
from tests.support.provider.model_server import ModelServer
from tests.support.provider.network_world import Authority, Proxy, make_authority, open_proxy, open_tls
from tests.support.world.tools import Workbench
from tests.support.world.waiting import PATIENCE_S

VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
HOST = "api.company.test"
CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"
SIGN_INS = ("auth.openai.com", "openrouter.ai")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, *(name.lower() for name in VARIABLES), *CERTIFICATES):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"), HOST, *SIGN_INS)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def tls_port(server: ModelServer, authority: Authority) -> Iterator[int]:
    with open_tls(authority, plain_port(server)) as port:
        yield port


@pytest.fixture
def proxy(tls_port: int) -> Iterator[Proxy]:
    with open_proxy(dict.fromkeys((HOST, *SIGN_INS), tls_port)) as running:
        yield running


def plain_port(server: ModelServer) -> int:
    return urlsplit(server.url("openai")).port or 0


def model(url: str, proxy: str | None = None) -> DirectLlm:
    return DirectLlm(Endpoint("fake", url, KEY, proxy=proxy), find_format("openai"))


async def failure_of(llm: DirectLlm) -> str:
    heard = await ask_once(llm, request())
    assert heard.error is not None
    return str(heard.error)


@pytest.mark.fast_cases("https_proxy-NODE_EXTRA_CA_CERTS")
@pytest.mark.parametrize("certificates", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"])
@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
async def test_a_model_is_asked_through_the_proxy_with_the_certificates_of_the_environment(
    proxy: Proxy, authority: Authority, monkeypatch: pytest.MonkeyPatch, variable: str, certificates: str
) -> None:
    monkeypatch.setenv(variable, proxy.url)
    monkeypatch.setenv(certificates, str(authority.path))
    heard = await ask_once(model(f"https://{HOST}/openai/v1"), request("one"))
    assert heard.error is None, heard.error
    assert heard.joined("text") == "Echo: one"
    assert proxy.asked == [f"CONNECT {HOST}:443"]


async def test_this_machine_is_never_asked_through_a_proxy(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in VARIABLES[:3]:
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    heard = await ask_once(model(server.url("openai")), request("one"))
    assert heard.joined("text") == "Echo: one"


async def test_a_setting_comes_before_the_variables(
    proxy: Proxy, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(authority.path))
    heard = await ask_once(model(f"https://{HOST}/openai/v1", proxy=proxy.url), request("one"))
    assert heard.joined("text") == "Echo: one"
    assert "127.0.0.1:9" not in await failure_of(model(f"https://{HOST}/openai/v1", proxy=""))


async def test_a_proxy_that_cannot_be_reached_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:pa55@127.0.0.1:9")
    reason, remedy = split_remedy(await failure_of(model(f"https://{HOST}/openai/v1")))
    assert reason.startswith(f"fake: cannot reach {HOST} through the proxy 127.0.0.1:9 (HTTPS_PROXY) (")
    assert remedy == f"check HTTPS_PROXY, or exclude the host with NO_PROXY={HOST}"
    assert "pa55" not in reason


async def test_a_proxy_that_wants_a_login_says_where_to_put_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_proxy({}, refusal="407 Proxy Authentication Required") as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        heard = await ask_once(model(f"https://{HOST}/openai/v1"), request())
    assert heard.error is not None and not heard.error.failure.retryable
    assert split_remedy(str(heard.error))[1] == (
        "put the proxy's user and password into https_proxy, then start opencode-tui again"
    )


async def test_a_certificate_that_is_not_accepted_is_said_and_not_tried_again(
    proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    heard = await ask_once(model(f"https://{HOST}/openai/v1"), request())
    assert heard.error is not None and not heard.error.failure.retryable
    reason, remedy = split_remedy(str(heard.error))
    assert "its certificate is not accepted" in reason and "NODE_EXTRA_CA_CERTS or SSL_CERT_FILE" in remedy
    other = make_authority(tmp_path, "other.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(other.path))
    assert f"check SSL_CERT_FILE={other.path}" in await failure_of(model(f"https://{HOST}/openai/v1"))


@pytest.mark.parametrize("variable", CERTIFICATES)
async def test_a_file_without_certificates_names_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    wrong = tmp_path / "missing.pem"
    monkeypatch.setenv(variable, str(wrong))
    reason, remedy = split_remedy(await failure_of(model(f"https://{HOST}/openai/v1")))
    assert reason.startswith(f"fake: {variable}={wrong} cannot be read (")
    assert f"in {variable}" in remedy


SUBJECT_HASH = "2b72e73f.0"
"""The name under which OpenSSL looks for the certificate of `make_authority` in a folder: `openssl x509 -subject_hash`."""


@pytest.mark.fast_cases("variables4-False", "variables3-True")
@pytest.mark.parametrize(
    ("variables", "is_accepted"),
    [
        ({"SSL_CERT_DIR": "FOLDER"}, True),
        ({"SSL_CERT_DIR": "EMPTY:FOLDER"}, True),
        ({"SSL_CERT_DIR": "/nowhere:FOLDER"}, True),
        ({"SSL_CERT_DIR": "FOLDER:/nowhere:"}, True),
        ({"SSL_CERT_DIR": "EMPTY"}, False),
        ({"SSL_CERT_FILE": "OTHER", "SSL_CERT_DIR": "FOLDER"}, True),
        ({"SSL_CERT_FILE": "FILE", "SSL_CERT_DIR": "EMPTY"}, True),
        ({"SSL_CERT_FILE": "FILE", "SSL_CERT_DIR": "/nowhere"}, True),
        ({"SSL_CERT_FILE": "OTHER", "REQUESTS_CA_BUNDLE": "FILE"}, False),
        ({"SSL_CERT_DIR": "EMPTY", "REQUESTS_CA_BUNDLE": "FILE"}, False),
        ({"REQUESTS_CA_BUNDLE": "FOLDER"}, True),
    ],
)
async def test_files_and_folders_of_certificates_count_as_for_openssl(
    proxy: Proxy,
    authority: Authority,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    is_accepted: bool,
) -> None:
    """Source: https://docs.openssl.org/3.0/man7/openssl-env/: SSL_CERT_DIR is a list, both variables count."""
    for name in ("empty", "folder"):
        (tmp_path / name).mkdir()
    (tmp_path / "folder" / SUBJECT_HASH).write_bytes(authority.path.read_bytes())
    places = {
        "FOLDER": tmp_path / "folder",
        "EMPTY": tmp_path / "empty",
        "FILE": authority.path,
        "OTHER": certifi.where(),
    }
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    for name, value in variables.items():
        monkeypatch.setenv(name, ":".join(str(places.get(one, one)) for one in value.split(":")))
    heard = await ask_once(model(f"https://{HOST}/openai/v1"), request("one"))
    reason = "" if heard.error is None else str(heard.error)
    assert (heard.joined("text") == "Echo: one") == is_accepted, reason
    if not is_accepted:
        assert "its certificate is not accepted" in reason
        expected = {name for name in variables if name != "REQUESTS_CA_BUNDLE"}
        assert {name for name in expected if f"{name}=" in reason} == expected


async def test_a_proxy_of_another_kind_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    reason, remedy = split_remedy(await failure_of(model(f"https://{HOST}/openai/v1")))
    assert "ALL_PROXY is set to socks5://127.0.0.1:9" in reason and "set ALL_PROXY to" in remedy


@pytest.mark.parametrize(
    ("listed", "host", "is_excluded"),
    [
        ("company.test", "api.company.test", True),
        (".company.test", "company.test", True),
        ("*.company.test", "api.company.test", True),
        ("pany.test", "api.company.test", False),
        ("other, api.company.test:443", "api.company.test", True),
        ("api.company.test:80", "api.company.test", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("[fd00::1]:443", "[fd00::1]", True),
        ("fd00::/8", "[fd00::1]", True),
        ("*", "api.company.test", True),
        ("", "api.company.test", False),
        (",", "api.company.test", False),
    ],
)
def test_no_proxy_names_domains_addresses_networks_and_ports(listed: str, host: str, is_excluded: bool) -> None:
    route = network.find_route(f"https://{host}/v1", {"HTTPS_PROXY": "proxy:3128", "NO_PROXY": listed})
    assert (route.proxy is None) == is_excluded
    assert route.proxy in (None, "http://proxy:3128")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "localhost", "LOCALHOST", "app.localhost", "[::1]"])
def test_every_name_of_this_machine_is_known(host: str) -> None:
    assert network.find_route(f"http://{host}:11434/v1", {"ALL_PROXY": "http://proxy:1"}).proxy is None


def test_each_scheme_has_its_own_variable() -> None:
    environ = {"HTTP_PROXY": "http://plain:1", "https_proxy": "http://secure:2", "HTTPS_PROXY": "http://other:3"}
    sources = [network.find_route(f"{scheme}://h.test", environ) for scheme in ("http", "https")]
    assert [(one.proxy, one.source) for one in sources] == [
        ("http://plain:1", "HTTP_PROXY"),
        ("http://secure:2", "https_proxy"),
    ]


async def test_settings_of_a_server_and_shares_use_both(
    proxy: Proxy, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    with pytest.raises(ConfigError, match="NODE_EXTRA_CA_CERTS or SSL_CERT_FILE"):
        await fetch(f"https://{HOST}")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.path))
    await fetch(f"https://{HOST}")
    shares = ShareServer(f"https://{HOST}")
    with pytest.raises(ShareServerError) as refused:  # the server behind has no shares
        await shares.create("ses_1")
    assert "cannot be reached" not in str(refused.value)
    await shares.close()
    assert proxy.asked == [f"CONNECT {HOST}:443"] * 3


async def test_a_share_server_behind_a_dead_proxy_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    shares = ShareServer(f"https://{HOST}")
    with pytest.raises(ShareServerError, match=r"through the proxy 127.0.0.1:9 \(HTTPS_PROXY\); check HTTPS_PROXY"):
        await shares.create("ses_1")
    await shares.close()


@pytest.mark.slow
async def test_an_mcp_server_is_reached_through_the_proxy(
    proxy: Proxy, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdk = await asyncio.to_thread(importlib.import_module, "opencode_tui.engine.mcp.sdk")
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    handlers = sdk.Handlers(elicit=_never, roots=(), changed=lambda: None)
    address = sdk.RemoteAddress(f"https://{HOST}/mcp", {})
    with pytest.raises(ConnectionLost, match="CERTIFICATE_VERIFY_FAILED"):
        async with sdk.connect_remote(address, handlers, None):
            pass
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    with pytest.raises(McpError, match="Not Found"):  # the server behind is one of models
        async with sdk.connect_remote(address, handlers, None):
            pass
    assert set(proxy.asked) == {f"CONNECT {HOST}:443"} and len(proxy.asked) >= 2


async def _never(_: object) -> dict[str, object]:
    return {}


@pytest_asyncio.fixture
async def worker(authority: Authority, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LitellmWorker]:
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(authority.path))
    monkeypatch.setattr("opencode_tui.engine.provider.litellm_worker._START_LIMIT_S", PATIENCE_S)
    owned = LitellmWorker()
    yield owned
    await owned.close()


@pytest.mark.slow
async def test_litellms_process_uses_both_too(
    worker: LitellmWorker, proxy: Proxy, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = request("one")
    asked = replace(asked, model=asked.model.changed(adapter="litellm", api_id="openai/fake-model"))
    heard = await ask(LitellmLlm(Endpoint("fake", f"https://{HOST}/openai/v1", KEY), worker), asked)
    assert heard.error is None, heard.error
    assert heard.joined("text") == "Echo: one"
    assert proxy.asked == [f"CONNECT {HOST}:443"]
    local = await ask(LitellmLlm(Endpoint("fake", server.url("openai"), KEY), worker), asked)
    assert local.joined("text") == "Echo: one"
    with closed_port() as port:
        here = Endpoint("fake", f"http://127.0.0.1:{port}/v1", KEY)
        refused = (await ask(LitellmLlm(here, worker), asked)).error
    assert refused is not None and refused.failure.kind == LOCAL
    assert f"cannot reach 127.0.0.1:{port} (connection refused)" in str(refused)
    missing = await ask(LitellmLlm(Endpoint("fake", "https://missing.test/v1", KEY), worker), asked)
    assert "cannot reach missing.test through the proxy" in str(missing.error) and "(HTTPS_PROXY)" in str(missing.error)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    other = LitellmWorker()
    bedrock = replace(asked, model=asked.model.changed(provider_id="bedrock", api_id=f"bedrock/{CLAUDE}"))
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "k")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    failed = str((await ask(LitellmLlm(Endpoint("bedrock", "", KEY), other), bedrock)).error)
    frankfurt = Endpoint("bedrock", "", KEY, cloud={"aws_region_name": "eu-central-1"})
    assert "cannot reach bedrock-runtime.eu-central-1.amazonaws.com" in str(
        (await ask(LitellmLlm(frankfurt, other), bedrock)).error
    )
    azure = replace(asked, model=asked.model.changed(provider_id="azure", api_id="azure/mine"))
    resource = Endpoint("azure", "", KEY, cloud={"api_base": "https://company.openai.azure.com"})
    assert "cannot reach company.openai.azure.com" in str((await ask(LitellmLlm(resource, other), azure)).error)
    await other.close()
    assert failed.startswith(
        "bedrock: cannot reach bedrock-runtime.eu-west-1.amazonaws.com through the proxy 127.0.0.1:9 ("
    )
    assert "ssl:" not in failed and "NO_PROXY=bedrock-runtime.eu-west-1.amazonaws.com" in failed


async def refresh_lists(paths: Paths) -> str:
    lists = ModelLists(cache=paths.cache, clock=system_clock)
    return "\n".join(await lists.refresh([ListSource(f"https://{HOST}/api.json")], is_forced=True))


async def import_from_address(paths: Paths) -> str:
    with pytest.raises((ConfigError, StorageError)) as caught:
        await asyncio.to_thread(lambda: list(ExportFile(f"https://{HOST}/session.json", here=str(paths.home)).list()))
    return str(caught.value)


async def refuse_chatgpt(paths: Paths) -> str:
    accounts = Accounts(paths, {})
    attempt = begin(accounts, 1455)
    with pytest.raises(SignInError) as caught:
        await asyncio.to_thread(finish, accounts, attempt, code="c", client_id="oaiapp_1")
    return str(caught.value)


async def refresh_chatgpt(paths: Paths) -> str:
    accounts = Accounts(paths, {})
    account = Account(client_id="oaiapp_1", subject="user-1", label="ada", plan_usage=True)
    tokens = {"access_token": "a", "refresh_token": "r", "expires_in": 1, "token_type": "bearer"}
    known = account.with_tokens(tokens, 0)
    assert known is not None
    accounts.add(known)
    with pytest.raises(ProviderError) as caught:
        await asyncio.to_thread(accounts.token)
    return str(caught.value)


async def refuse_openrouter(paths: Paths) -> str:
    async with openrouter_sign_in(AuthStore(paths=paths), {}) as waiting:
        query = parse_qs(urlsplit(waiting.url).query)
        waiting.paste(f"{query['callback_url'][0]}&code=c")
        with pytest.raises(SignInError) as caught:
            await waiting.wait()
    return str(caught.value)


async def fetch_page(paths: Paths) -> str:
    try:
        return (await Workbench(paths.home).call(WebfetchTool(), url=f"https://{HOST}/page", format="text")).output
    except ToolError as error:
        return str(error)


REQUESTS = [
    (fetch_page, '{"object": "list"', HOST),
    (refresh_lists, "it lists no models", HOST),
    (import_from_address, "is not an exported session", HOST),
    (refuse_chatgpt, "HTTP 404", "auth.openai.com"),
    (refresh_chatgpt, "it is not known whether the sign-in was renewed", "auth.openai.com"),
    (refuse_openrouter, "HTTP 404", "openrouter.ai"),
]


@pytest.mark.fast_cases("refuse_chatgpt-HTTP 404-auth.openai.com", "refuse_openrouter-HTTP 404-openrouter.ai")
@pytest.mark.parametrize(("ask_there", "answer", "host"), REQUESTS)
async def test_pages_lists_imports_and_sign_ins_use_both_and_name_what_fails(
    proxy: Proxy,
    authority: Authority,
    paths: Paths,
    monkeypatch: pytest.MonkeyPatch,
    ask_there: Callable[[Paths], Awaitable[str]],
    answer: str,
    host: str,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:9")
    assert "HTTPS_PROXY is set to socks5://127.0.0.1:9" in await ask_there(paths)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    failed = await ask_there(paths)
    assert "through the proxy 127.0.0.1:9 (HTTPS_PROXY)" in failed
    assert f"check HTTPS_PROXY, or exclude the host with NO_PROXY={host}" in failed
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    assert "NODE_EXTRA_CA_CERTS or SSL_CERT_FILE" in await ask_there(paths)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    assert answer in await ask_there(paths)  # the server behind is one of models
    assert proxy.asked == [f"CONNECT {host}:443"] * 2


async def test_an_ollama_of_the_network_is_asked_through_the_proxy(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_proxy({"gpu.company.test": plain_port(server)}) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        await LocalServers({"OLLAMA_HOST": "http://gpu.company.test"}, ports={"ollama": 11434}).refresh()
    assert "GET http://gpu.company.test/api/tags" in proxy.asked


@pytest.mark.slow
def test_every_client_has_its_options_from_here() -> None:
    made: list[str] = []
    for path in sorted(Path(network.__file__).parent.rglob("*.py")):
        calls = [one for one in ast.walk(ast.parse(path.read_bytes())) if isinstance(one, ast.Call)]
        named = [(ast.unparse(one.func), {word.arg for word in one.keywords}) for one in calls]
        # A Unix socket has a transport of its own; `**` has no name.
        made += [f"{path.name}: {name}" for name, words in named if name in CLIENTS and words & {None, "transport"}]
        assert not [name for name, words in named if name in CLIENTS and not words & {None, "transport"}], path
    assert len(made) > 10


CLIENTS = {
    f"{module}.{name}"
    for module in ("httpx", "httpx2")
    for name in ("AsyncClient", "Client", "get", "post", "request", "stream")
}
