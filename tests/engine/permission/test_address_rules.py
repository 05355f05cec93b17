"""Claims about rules for addresses: one that asks or denies holds in each spelling, one that allows only in the normal form."""

import asyncio
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from opencode_tui.engine.agent.explain import ExplainScope, explain
from opencode_tui.engine.permission.decision import Query, is_granted, open_patterns
from opencode_tui.engine.permission.grants import Grant
from opencode_tui.engine.permission.policy import AskPerson, RefuseQuestions
from opencode_tui.engine.permission.service import CallPermission
from opencode_tui.engine.tool.builtin.webfetch import WebfetchTool
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.error import DeniedError, ToolError
from tests.engine.permission.conftest import CALL, World
from tests.support.rows import each
from tests.support.world.pages import Pages, serve
from tests.support.world.rules import rules
from tests.support.world.tools import Workbench
from tests.support.world.waiting import until

SPELLINGS = [
    "http://127.0.0.1:PORT/secret",
    "HTTP://127.0.0.1:PORT/secret",
    "hTtP://127.0.0.1:PORT/secret",
    "http://127.0.0.1:PORT?secret",
    "http://127.0.0.1:PORT",
    "http://127.0.0.1:PORT#/x",
    "http://a@127.0.0.1:PORT/secret",
    "http://a:b@127.0.0.1:PORT/secret",
    "http://@127.0.0.1:PORT/secret",
    "http://good.org\\@127.0.0.1:PORT/secret",
    "http://127.0.0.1.:PORT/secret",
    "http://127.0.0.1:0PORT/secret",
    "http://127.1:PORT/secret",
    "http://2130706433:PORT/secret",
    "http://0x7f000001:PORT/secret",
    "http://0x7F.1:PORT/secret",
    "http://017700000001:PORT/secret",
    "http://[::ffff:127.0.0.1]:PORT/secret",
    "http://[0:0:0:0:0:FFFF:7f00:1]:PORT/secret",
    "http://127\u30020\u30020\u30021:PORT/secret",
    "http://LOCALHOST:PORT/secret",
    "http://localhost.:PORT/secret",
    "http://a@LocalHost.:PORT/secret",
]
"""Ways to write the address of a page here. The server answers all of them that are asked for."""

HOST_RULES = ("webfetch * allow", "webfetch http://127.0.0.1:PORT/* deny", "webfetch http://localhost:PORT/* deny")
PATH_SPELLINGS = [
    "/secret/x",
    "/%73ecret/x",
    "/s%65cre%74/x",
    "/./secret/x",
    "/open/../secret/x",
    "/open/%2e%2e/secret/x",
    "/open/.%2E/secret/x",
    "/%2e/secret/x",
    "/../secret/x",
    "/secret/%2e%2e/secret/x",
    "/open/../%73ecret/x?y#z",
]


class Site(Pages):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path.startswith("/moved"):
            self.answer(302, "text/plain", b"", {"Location": self.path.partition("?")[2]})
        else:
            self.answer(200, "text/plain", b"content")


@pytest.fixture
def asked() -> list[str]:
    Site.asked = []
    return Site.asked


@pytest.fixture
def port(asked: list[str]) -> Iterator[str]:
    with serve(Site) as url:
        yield url.rpartition(":")[2]


def context_of(world: World, folder: Path, *lines: str, asks: bool = False) -> ToolContext:
    policy = AskPerson() if asks else RefuseQuestions()
    ask = CallPermission(world.service, "ses_1", CALL, lambda: [rules(*lines)], policy)
    return replace(Workbench(folder).context, ask=ask)


async def fetched(context: ToolContext, url: str) -> str:
    tool = WebfetchTool()
    return (await tool.run(tool.parameters(url=url), context)).output


def at(port: str, *texts: str) -> list[str]:
    return [text.replace("PORT", port) for text in texts]


@pytest.mark.fast_cases("http://127.0.0.1:PORT", "http://localhost.:PORT/secret")
@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_a_rule_that_denies_holds_in_each_spelling_of_the_host(
    world: World, tmp_path: Path, port: str, asked: list[str], spelling: str
) -> None:
    [url] = at(port, spelling)
    context = context_of(world, tmp_path, *at(port, *HOST_RULES))
    with pytest.raises(DeniedError):
        await fetched(context, url)
    assert asked == []
    assert "content" in await fetched(context_of(world, tmp_path, "webfetch * allow"), url)
    assert len(asked) == 1


@pytest.mark.parametrize("spelling", PATH_SPELLINGS)
async def test_a_rule_that_denies_holds_in_each_spelling_of_the_path(
    world: World, tmp_path: Path, port: str, asked: list[str], spelling: str
) -> None:
    [rule] = at(port, "webfetch http://127.0.0.1:PORT/secret/* deny")
    context = context_of(world, tmp_path, "webfetch * allow", rule)
    with pytest.raises(DeniedError):
        await fetched(context, f"http://127.0.0.1:{port}{spelling}")
    assert asked == []
    assert await fetched(context, f"http://127.0.0.1:{port}/open/%73ecret/x") == "content"


@pytest.mark.parametrize(
    "spelling", ["HTTP://127.0.0.1:PORT/secret/x", "//a@127.1:PORT/secret/x", "/%73ecret/x", "../secret/x"]
)
async def test_a_rule_that_denies_holds_in_each_spelling_that_a_redirect_names(
    world: World, tmp_path: Path, port: str, asked: list[str], spelling: str
) -> None:
    [rule, target] = at(port, "webfetch http://127.0.0.1:PORT/secret/* deny", spelling)
    with pytest.raises(DeniedError):
        await fetched(context_of(world, tmp_path, "webfetch * allow", rule), f"http://127.0.0.1:{port}/moved?{target}")
    assert asked == [f"/moved?{target}"]


@each(
    ("rule", "url"),
    [
        ("https://EXAMPLE.org/*", "https://example.org/x"),
        ("https://*.Example.org/*", "https://a.example.org/x"),
        ("https://example.org:443/*", "https://example.org/x"),
        ("https://example.org:*", "https://example.org/x"),
        ("https://example.org./*", "https://example.org/x"),
        ("https://a@example.org/*", "https://example.org/x"),
        ("http://127.1/*", "http://127.0.0.1/x"),
        ("http://[::1]/*", "http://[0:0:0:0:0:0:0:1]/x"),
        ("https://m\u00fcller.de/*", "https://xn--mller-kva.de/x"),
        ("https://xn--mller-kva.de/*", "https://M\u00dcLLER.de/x"),
        ("https://example.org", "https://example.org/"),
        ("https://example.org/", "https://example.org"),
        ("https://example.org/%73/*", "https://example.org/s/x"),
        ("https://example.org/\u00e4*", "https://example.org/%c3%a4x"),
        ("https://example.org/a b", "https://example.org/a%20b"),
        ("https://example.org/x#y", "https://example.org/x"),
        ("https://example.org/*", "\thttps://exam\nple.org/x "),
        ("*example.org/*", "https://EXAMPLE.org/x"),
        ("*/secret", "https://example.org/%73ecret"),
    ],
)
def test_a_rule_may_be_written_in_another_spelling_than_the_address(rule: str, url: str) -> None:
    query = Query("", "webfetch", [url])
    with pytest.raises(DeniedError):
        open_patterns(query, [rules("webfetch * allow", f"webfetch {rule} deny")])
    assert open_patterns(query, [rules("webfetch * allow", f"webfetch {rule} ask")]) == [url]
    assert open_patterns(query, [rules("webfetch * deny", f"webfetch {rule} allow")]) == []


@each(
    "url",
    [
        "https://good.org@evil.org/",
        "https://good.org/@evil.org/../../../other",
        "https://good.org%2f.evil.org/docs/x",
        "https://good.org%2Fdocs%2F.evil.org/",
        "https://good.org\u2100.evil.org/docs/x",
        "https://good.org:444/docs/x",
        "http://good.org/docs/x",
        "https://good.org/docs/../x",
        "https://good.org/docs/%2e%2e/x",
        "https://good.org/docs%2fx",
        "https://good.org./docs/../x",
        "https://goo\u0434.org/docs/x",
    ],
)
def test_a_rule_that_allows_counts_only_for_what_is_fetched(url: str) -> None:
    with pytest.raises(DeniedError):
        open_patterns(
            Query("", "webfetch", [url]), [rules("webfetch * deny", "webfetch https://good.org/docs/* allow")]
        )
    assert open_patterns(
        Query("", "webfetch", [url]), [rules("webfetch * ask", "webfetch https://good.org/docs/* allow")]
    )


@each(
    "url",
    [
        "https://good.org/docs/x",
        "https://good.org/docs/x?a=b&c=%2F#top",
        "https://good.org/docs/",
        "https://good.org:443/docs/x",
        "https://GOOD.org/docs/x",
        "https://good.org/docs/a/../x",
    ],
)
def test_a_rule_that_allows_an_address_allows_it_as_before(url: str) -> None:
    given = rules("webfetch * deny", "webfetch https://good.org/docs/* allow")
    assert open_patterns(Query("", "webfetch", [url]), [given]) == []


@each(
    "url",
    [
        "https://example.org/x",
        "https://evil.org/?u=http://127.0.0.1:1/x",
        "http://127.0.0.1:2/x",
        "http://127.0.0.10:1/x",
        "*",
    ],
)
def test_a_rule_that_denies_an_address_denies_no_other(url: str) -> None:
    given = rules("webfetch * allow", "webfetch http://127.0.0.1:1/* deny")
    assert open_patterns(Query("", "webfetch", [url]), [given]) == []


async def test_always_is_stored_in_the_normal_form_and_covers_each_spelling(
    world: World, tmp_path: Path, port: str, asked: list[str]
) -> None:
    context = context_of(world, tmp_path, "webfetch * ask", asks=True)
    fetching = asyncio.create_task(fetched(context, f"HTTP://a@LocalHost.:{port}/x"))
    await until(lambda: bool(world.service.pending()))
    [request] = world.service.pending()
    assert request.patterns == [f"HTTP://a@LocalHost.:{port}/x"]
    await world.service.reply(request.id, "always")
    assert await fetching == "content"
    assert [grant.pattern for grant in await world.grants.rules()] == [f"http://localhost:{port}/*"]
    refusing = context_of(world, tmp_path, "webfetch * ask")
    for spelling in ("http://localhost:PORT/y", "HTTP://LOCALHOST:PORT", "http://b@localhost.:PORT/z"):
        [url] = at(port, spelling)
        assert await fetched(refusing, url) == "content"
    assert len(asked) == 4


@each(
    ("stored", "url"),
    [
        ("http://LOCALHOST:8000/*", "http://LOCALHOST:8000/x"),
        ("http://LOCALHOST:8000/*", "http://localhost:8000/x"),
        ("http://a@127.0.0.1:8000/*", "http://a@127.0.0.1:8000/x"),
        ("http://127.1:8000/*", "http://127.1:8000/x"),
        ("http://localhost.:8000/*", "http://localhost.:8000/x"),
        ("http://localhost:80/*", "http://localhost:80/x"),
        ("http://[::1]:8000/*", "http://[::1]:8000/x"),
        ("http://localhost:8000/*", "http://localhost:8000"),
        ("*", "http://localhost:8000"),
    ],
)
def test_a_grant_that_was_stored_as_it_was_written_still_holds(stored: str, url: str) -> None:
    grant = Grant(permission="webfetch", pattern=stored, action="allow")
    assert is_granted(Query("", "webfetch", [url], by_user=[url]), url, [grant])
    assert not is_granted(
        Query("", "webfetch", ["http://x@other.org/"]), "http://x@other.org/", [grant][: stored != "*"]
    )


def test_a_grant_covers_no_address_that_only_looks_like_it() -> None:
    grant = Grant(permission="webfetch", pattern="http://localhost:8000/docs/*", action="allow")
    for url in (
        "http://localhost:8000/docs/../x",
        "http://localhost:8000/docs/%2e%2e/x",
        "http://localhost:8000%2fdocs%2f@x.org/",
    ):
        assert not is_granted(Query("", "webfetch", [url]), url, [grant])


async def test_a_host_with_a_wildcard_in_it_is_never_always_allowed(world: World, tmp_path: Path) -> None:
    context = context_of(world, tmp_path, "webfetch * ask", asks=True)
    fetching = asyncio.create_task(fetched(context, "http://*.localhost:1/x"))
    await until(lambda: bool(world.service.pending()))
    [request] = world.service.pending()
    assert request.always == []
    await world.service.reply(request.id, "reject")
    with pytest.raises(Exception, match="reject"):
        await fetching


DENIED_LINES = [
    "curl http://127.0.0.1:PORT/secret",
    "curl HTTP://127.0.0.1:PORT/secret",
    "curl 127.0.0.1:PORT/secret",
    "curl -s 127.0.0.1:PORT",
    "curl LOCALHOST:PORT/secret",
    "curl --url localhost:PORT/secret",
    "curl -sS --url LocalHost:PORT",
    "curl -o out.txt a@127.0.0.1:PORT/secret",
    "curl http://a:b@127.0.0.1:PORT/secret",
    "curl 'http://127.0.0.1:PORT?secret'",
    "curl http:/127.0.0.1:PORT/secret",
    "curl http:///127.0.0.1:PORT/secret",
    "curl http://127.1:PORT/",
    "curl 0x7f000001:PORT",
    "curl http://%31%32%37.0.0.1:PORT/",
    "curl 'http://[::ffff:127.0.0.1]:PORT/'",
    'curl htt"p"://127.0.0.1:PORT/',
    "curl 'http://127.0.0.{1}:PORT/'",
    "curl 'http://127.0.0.[1-1]:PORT/'",
    "curl '127.0.0.1:PORT/{secret}'",
    "curl '{localhost,127.0.0.2}:PORT/'",
    "h=127.0.0.1:PORT; curl $h/secret",
    "curl 127.0.0.1:PORT/$name",
    "sh -c 'curl localhost:PORT/x'",
    "curl https://example.org LOCALHOST:PORT",
    "wget -qO- LOCALHOST:PORT/secret",
    "wget http://a@127.0.0.1:PORT/secret",
    "wget 127.0.0.1:PORT",
    "wget LocalHost.:PORT",
]


async def explained(folder: Path, line: str, *given: str) -> str:
    ruleset = rules("bash * allow", *given)
    scope = ExplainScope(ruleset, [""] * len(ruleset), [], folder, folder, folder, tier="bubblewrap")
    return (await explain("bash", line, scope)).action


@pytest.mark.parametrize("line", DENIED_LINES)
async def test_a_rule_that_denies_holds_for_commands(tmp_path: Path, line: str) -> None:
    assert await explained(tmp_path, *at("18765", line, *HOST_RULES)) == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "curl https://example.org/x",
        "curl example.org",
        "curl -s --retry-delay 5 --noproxy localhost:PORT https://example.org",
        "curl 127.0.0.1:2/x",
        "curl -o localhost.txt https://example.org",
        "wget --tries 5 example.org/x",
        "ping localhost",
        "echo LOCALHOST:PORT",
    ],
)
async def test_other_commands_are_as_free_as_before(tmp_path: Path, line: str) -> None:
    assert await explained(tmp_path, *at("18765", line, *HOST_RULES)) == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "curl https://good.org/x",
        "curl --retry-delay 5 --max-filesize 10000000 --dns-servers 1.1.1.1 -H 'A: b' -o x.txt https://good.org/x",
        "wget --tries 5 --user-agent a.b -O x.txt https://good.org/x",
    ],
)
async def test_the_one_address_that_is_allowed_needs_nothing_more(tmp_path: Path, line: str) -> None:
    assert await explained(tmp_path, line, "webfetch * deny", "webfetch https://good.org/* allow") == "allow"
    assert (
        await explained(tmp_path, f"{line}; curl evil.org", "webfetch * deny", "webfetch https://good.org/* allow")
        == "deny"
    )


@pytest.mark.fast_cases("curl http:/127.0.0.1:PORT/se..", "curl http:///127.0.0.1:PORT/..")
@pytest.mark.parametrize(
    "spelling",
    [line for line in DENIED_LINES if line.startswith("curl ") and not re.search(r"\$|example|0\.2", line)],
)
def test_curl_reaches_the_page_in_these_spellings(tmp_path: Path, port: str, asked: list[str], spelling: str) -> None:
    """The commands that a rule denies do fetch the page: a table of texts that nothing reads would claim nothing."""
    [line] = at(port, spelling)
    subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, timeout=30, check=False)
    assert len(asked) == 1


async def test_what_the_client_does_not_fetch_is_no_address(world: World, tmp_path: Path) -> None:
    for url in ("http:///127.0.0.1/", "http:/127.0.0.1/", " http://", "http://127.0.0.1:x/"):
        with pytest.raises(ToolError):
            await fetched(context_of(world, tmp_path, "webfetch * allow"), url)
