import asyncio
import gzip
import socket
import threading
from collections.abc import Iterator
from urllib.parse import quote, unquote

import pytest

from opencode_tui.engine.sandbox.address import is_local_address
from opencode_tui.engine.tool.builtin.html_text import convert
from opencode_tui.engine.tool.builtin.webfetch import WebfetchTool, host_of, is_local_name
from opencode_tui.schema.error import DeniedError, RejectedError, ToolError
from opencode_tui.schema.permission import Rule
from tests.support.rows import each
from tests.support.world.pages import Pages, serve
from tests.support.world.tools import Workbench

RUSSIAN, JAPANESE, TYPED = "Привет мир", "日本語の文", "it’s “x” – 1 €"
# How a page says its encoding, as type, body and what is read; the last ones say it wrongly or not at all.
# Source: html.spec.whatwg.org/#the-input-byte-stream and encoding.spec.whatwg.org/#names-and-labels (2026-10).
TEXTS: dict[str, tuple[str, bytes, str]] = {
    "header": ("text/html; charset=windows-1251", RUSSIAN.encode("cp1251"), RUSSIAN),
    "tag": ("text/html", b"<meta charset='windows-1251'>" + RUSSIAN.encode("cp1251"), RUSSIAN),
    "tag of HTML 4": (
        "text/html",
        b'<head>\n<META http-equiv="Content-Type" content="text/html; charset=Shift_JIS">' + JAPANESE.encode("cp932"),
        JAPANESE,
    ),
    "tag without quotes": ("application/xhtml+xml", b"<meta charset=koi8-r />" + RUSSIAN.encode("koi8-r"), RUSSIAN),
    "header before tag": ("text/html; charset=koi8-r", b"<meta charset=utf-8>" + RUSSIAN.encode("koi8-r"), RUSSIAN),
    "mark before header": ("text/plain; charset=latin-1", b"\xef\xbb\xbf" + RUSSIAN.encode(), RUSSIAN),
    "mark of UTF-8": ("text/plain", b"\xef\xbb\xbf" + RUSSIAN.encode(), RUSSIAN),
    "mark of UTF-16": ("text/html", RUSSIAN.encode("utf-16"), RUSSIAN),
    "UTF-16 without a mark": ("text/plain; charset=utf-16", RUSSIAN.encode("utf-16-le"), RUSSIAN),
    "tag in UTF-8 that says UTF-16": ("text/html", b"<meta charset=utf-16>" + RUSSIAN.encode(), RUSSIAN),
    "latin-1 means windows-1252": ("text/plain; charset=ISO-8859-1", TYPED.encode("cp1252"), TYPED),
    "gb2312 means gb18030": ("text/html; charset=gb2312", "镕基".encode("gbk"), "镕基"),
    "nothing, UTF-8": ("text/html", RUSSIAN.encode(), RUSSIAN),
    "nothing, windows-1252": ("text/plain", TYPED.encode("cp1252"), TYPED),
    "no type": ("", RUSSIAN.encode(), RUSSIAN),
    "an unknown name": ("text/plain; charset=klingon", RUSSIAN.encode(), RUSSIAN),
    **{
        f"a name of Python: {name}": (f"text/plain; charset={name}", RUSSIAN.encode(), RUSSIAN)
        for name in ("idna", "undefined", "punycode", "base64", "rot13", "unicode_escape", "raw-unicode-escape", "utf7")
    },
    "a tag behind the first kilobyte": (
        "text/html",
        b" " * 1024 + b"<meta charset=koi8-r>" + RUSSIAN.encode(),
        RUSSIAN,
    ),
}
NO_TEXTS: dict[str, tuple[str, bytes]] = {
    "a program as text": ("text/plain", b"\x7fELF\0\0\0\x1b]0;x\x07"),
    "a program as text in UTF-8": ("text/plain; charset=utf-8", b"\x7fELF\0\0\0\x1b]0;x\x07"),
    "a picture without a type": ("", b"\x89PNG\r\n\x1a\n\0\0\0"),
    "a page as a picture": ("image/png", b"<html>not found</html>"),
    "an empty picture": ("image/png", b""),
}
# Pages that leave out end tags, as they may, and what is read of them.
OMITTED: dict[str, tuple[str, str]] = {
    "items": ("<ul><li>a<li>b<li>c</ul>d", "- a\n- b\n- c\n\nd"),
    "items with items": ("<ul><li>a<ul><li>b<li>c</ul><li>d</ul>", "- a\n  - b\n  - c\n- d"),
    "some ends": ("<ol><li>a<li>b</li><li>c</ol>", "1. a\n2. b\n3. c"),
    "paragraphs": ("<p>one<p>two <b>bold<p>three<div>four</div>", "one\n\ntwo **bold**\n\nthree\n\nfour"),
    "a heading after a paragraph": ("<p>one<h2>Two</h2>three", "one\n\n## Two\n\nthree"),
    "paragraphs in items": ("<ul><li><p>a<p>b<li>c</ul>", "- a\n\n  b\n- c"),
    "a list of terms": ("<dl><dt>t<dd>one<dt>u<dd>two</dl>", "t\n:   one\n\nu\n:   two"),
    "a table": ("<table><tr><th>a<th>b<tr><td>c<td>d</table>", "| a | b |\n| --- | --- |\n| c | d |"),
    "the parts of a table": (
        "<table><thead><tr><th>a<tbody><tr><td>b<tr><td>c<tbody><tr><td>d</table>",
        "| a |\n| --- |\n| b |\n| c |\n| d |",
    ),
    "a list in a cell": ("<table><tr><td><ul><li>a<li>b</ul><td>c</table>", "|  |  |\n| --- | --- |\n| - a - b | c |"),
    "all ends": ("<ul><li><p>a</p></li><li>b</li></ul><p>c</p>", "- a\n- b\n\nc"),
    "elements that are no items": ("<p>a <em>b <del>c</del></em> d</p>", "a *b ~~c~~* d"),
}

HTML = "<html><head><title>T</title><script>evil()</script></head><body><h1>Head</h1><p>A <a href='/x'>link</a></p></body></html>"


class Site(Pages):
    def do_GET(self) -> None:
        match self.path:
            case "/page":
                self.answer(200, "text/html; charset=utf-8", HTML.encode())
            case "/latin":
                self.answer(200, "text/plain; charset=latin-1", "größe".encode("latin-1"))
            case "/image":
                self.answer(200, "image/png", b"\x89PNG")
            case "/zip":
                self.answer(200, "application/zip", b"PK")
            case "/big":
                self.answer(200, "text/plain", b"x" * (5 * 1024 * 1024 + 1))
            case "/moved":
                self.answer(302, "text/plain", b"", {"Location": "/page"})
            case "/away":
                self.answer(
                    302, "text/plain", b"", {"Location": f"http://localhost:{self.headers['Host'].split(':')[1]}/page"}
                )
            case "/file":
                self.answer(302, "text/plain", b"", {"Location": "file:///etc/passwd"})
            case "/loop":
                self.answer(302, "text/plain", b"", {"Location": "/loop"})
            case "/bomb":
                self.answer(200, "text/plain", gzip.compress(b"0" * (64 << 20)), {"Content-Encoding": "gzip"})
            case "/twice":
                inner = gzip.compress(gzip.compress(b"0" * (64 << 20)))
                self.answer(200, "text/plain", inner, {"Content-Encoding": "gzip, gzip"})
            case "/packed":
                self.answer(200, "text/plain", gzip.compress(b"packed text"), {"Content-Encoding": "gzip"})
            case "/anchors":
                self.answer(200, "text/html", b"<a " * 1_500_000)
            case "/hidden":
                self.answer(200, "text/html", "<p>a\U000e0041\u202eb".encode())
            case path if (name := unquote(path[1:])) in TEXTS:
                self.answer(200, *TEXTS[name][:2])
            case path if (name := unquote(path[1:])) in NO_TEXTS:
                self.answer(200, *NO_TEXTS[name])
            case "/slow":
                threading.Event().wait(2)
            case _:
                self.answer(404, "text/plain", b"no")


@pytest.fixture
def site() -> Iterator[str]:
    with serve(Site) as url:
        yield url


@pytest.mark.slow
async def test_page_becomes_markdown(bench: Workbench, site: str) -> None:
    result = await bench.call(WebfetchTool(), url=f"{site}/page")
    assert result.output == "T\n\n# Head\n\nA [link](/x)"
    assert result.title == f"{site}/page (text/html; charset=utf-8)"
    [ask] = bench.asked
    assert (ask.permission, ask.patterns, ask.always) == ("webfetch", [f"{site}/page"], [f"{site}/*"])


async def test_page_as_html_is_as_it_came(bench: Workbench, site: str) -> None:
    assert (await bench.call(WebfetchTool(), url=f"{site}/page", format="html")).output == HTML


@pytest.mark.slow
def test_plain_text_has_no_markup() -> None:
    assert convert(HTML, "text") == "T\nHead\nA\nlink"


async def test_charset_of_the_answer_is_used(bench: Workbench, site: str) -> None:
    assert (await bench.call(WebfetchTool(), url=f"{site}/latin")).output == "größe"


@pytest.mark.fast_cases("no type", "a name of Python: raw-unicod..")
@pytest.mark.parametrize("name", TEXTS)
async def test_a_page_is_read_in_its_encoding(bench: Workbench, site: str, name: str) -> None:
    assert (await bench.call(WebfetchTool(), url=f"{site}/{quote(name)}", format="text")).output == TEXTS[name][2]


@pytest.mark.parametrize("name", NO_TEXTS)
async def test_what_is_not_what_its_type_says_is_named(bench: Workbench, site: str, name: str) -> None:
    with pytest.raises(
        ToolError, match=r"is not text, whatever its type says|is named image/png, but it is text or empty"
    ):
        await bench.call(WebfetchTool(), url=f"{site}/{quote(name)}")


@pytest.mark.parametrize("name", OMITTED)
def test_a_page_may_leave_out_end_tags(name: str) -> None:
    page, want = OMITTED[name]
    assert convert(page, "markdown") == want


# More than the levels that Python's stack and that of the library have.
@pytest.mark.parametrize("page", ["<ul>" + "<li>x" * 1500 + "</ul>", "<p>x" * 1500, "<div>x" * 1500, "<b>x" * 1500])
def test_a_page_of_many_open_elements_is_read(page: str) -> None:
    assert convert(page, "markdown").count("x") == page.count("x")


async def test_characters_that_no_reader_sees_are_written_out(bench: Workbench, site: str) -> None:
    assert (await bench.call(WebfetchTool(), url=f"{site}/hidden")).output == r"a\U000e0041\U0000202eb"


async def test_image_is_attached(bench: Workbench, site: str) -> None:
    result = await bench.call(WebfetchTool(), url=f"{site}/image")
    assert result.attachments == [{"type": "file", "mime": "image/png", "url": "data:image/png;base64,iVBORw=="}]


async def test_redirect_to_another_host_is_asked_for(bench: Workbench, site: str) -> None:
    await bench.call(WebfetchTool(), url=f"{site}/moved")
    assert len(bench.asked) == 1
    await bench.call(WebfetchTool(), url=f"{site}/away")
    assert bench.asked[-1].patterns == [f"{site.replace('127.0.0.1', 'localhost')}/page"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/none", "answered 404"),
        ("/big", "larger than 5 MB"),
        ("/zip", "not text"),
        ("/loop", "redirects more"),
        ("/file", "not a URL"),
        ("/bomb", "larger than 5 MB"),
        ("/twice", "unexpected encoding 'gzip, gzip'"),
        ("/anchors", "could not be converted"),
    ],
)
async def test_what_cannot_be_fetched_is_said(bench: Workbench, site: str, path: str, word: str) -> None:
    with pytest.raises(ToolError, match=word):
        await bench.call(WebfetchTool(), url=f"{site}{path}")


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://a/b",
        "nothing",
        "http://",
        "http://[::1",
        "http://0177.0.0.1/",
        "http://\uff11.0.0.1/",
    ],
)
async def test_only_web_addresses_are_fetched(bench: Workbench, url: str) -> None:
    with pytest.raises(ToolError, match="not a URL"):
        await bench.call(WebfetchTool(), url=url)
    assert bench.asked == []


async def test_refused_connection_is_one_line(bench: Workbench) -> None:
    with pytest.raises(ToolError, match="could not be fetched") as caught:
        await bench.call(WebfetchTool(), url="http://127.0.0.1:1/")
    assert "\n" not in str(caught.value)


async def test_slow_server_times_out(bench: Workbench, site: str) -> None:
    with pytest.raises(ToolError, match=r"longer than 0\.2 s"):
        await bench.call(WebfetchTool(), url=f"{site}/slow", timeout=0.2)


async def test_cancel_ends_a_fetch(bench: Workbench, site: str) -> None:
    task = asyncio.create_task(bench.call(WebfetchTool(), url=f"{site}/slow"))
    await asyncio.sleep(0.1)
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()


async def test_a_compressed_page_is_read(bench: Workbench, site: str) -> None:
    assert (await bench.call(WebfetchTool(), url=f"{site}/packed")).output == "packed text"


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "LOCALHOST.", "0x7f000001", "2130706433", "127.1", "[::ffff:127.0.0.1]",
        "[::1]",
    ],
)  # fmt: skip
async def test_this_machine_needs_a_rule_of_the_user_however_it_is_written(
    bench: Workbench, site: str, host: str
) -> None:
    bench.refused.add("webfetch")
    url = f"http://{host}:{site.rpartition(':')[2]}/page"
    with pytest.raises(RejectedError):
        await bench.call(WebfetchTool(), url=url)
    [asked] = bench.asked
    assert (asked.patterns, asked.must_ask) == ([url], [url])
    assert asked.metadata["reasons"] == ["Reaches an address of this machine or your network."]


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("8.8.8.8", True), ("[2001:4860:4860::8888]", True), ("printer.local", True), ("db.internal", True),
        ("example.org", False), ("local.example.org", False), ("0x7f.example.org", False),
    ],
)  # fmt: skip
def test_addresses_and_local_names_need_a_rule_of_the_user(host: str, is_local: bool) -> None:
    assert is_local_name(host_of(f"https://{host}/")) is is_local


@each(
    ("address", "is_local"),
    [
        ("10.1.2.3", True), ("172.16.0.1", True), ("192.168.1.1", True), ("169.254.169.254", True), ("100.64.0.1", True),
        ("0.0.0.0", True), ("224.0.0.1", True), ("fe80::1", True), ("fd00::1", True), ("::", True), ("::ffff:10.0.0.1", True),
        ("64:ff9b::a00:1", True), ("2002:a00:1::", True), ("8.8.8.8", False), ("2001:4860:4860::8888", False),
        ("64:ff9b::808:808", False),
    ],
)  # fmt: skip
def test_what_a_name_resolves_to_is_checked(address: str, is_local: bool) -> None:
    assert is_local_address(address) is is_local


@pytest.mark.slow
async def test_a_name_is_resolved_once_and_asked_for_when_it_leads_here(
    bench: Workbench, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(site.rpartition(":")[2])
    answers = ["127.0.0.1", "10.255.255.1"]

    def resolving(host: str, *_args: object, **_options: object) -> list[object]:
        assert host == "page.example"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers.pop(0), 0))]

    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **more: (resolving if host == "page.example" else real)(host, *rest, **more),
    )
    url = f"http://page.example:{port}/page"
    assert "Head" in (await bench.call(WebfetchTool(), url=url)).output
    assert answers == ["10.255.255.1"]
    assert [(asked.patterns, asked.must_ask) for asked in bench.asked] == [([url], []), ([url], [url])]


async def test_a_rule_that_denies_holds_for_every_redirect(bench: Workbench, site: str) -> None:
    allow = Rule(permission="webfetch", pattern="*", action="allow")
    bench.layers = [[allow, Rule(permission="webfetch", pattern="*/page", action="deny")]]
    with pytest.raises(DeniedError):
        await bench.call(WebfetchTool(), url=f"{site}/moved")
