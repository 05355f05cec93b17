import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from opencode_tui.engine.tool.builtin.html_text import convert
from opencode_tui.engine.tool.builtin.webfetch import WebfetchTool
from opencode_tui.schema.error import ToolError
from tests.support.world.tools import Workbench

HTML = "<html><head><title>T</title><script>evil()</script></head><body><h1>Head</h1><p>A <a href='/x'>link</a></p></body></html>"


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        match self.path:
            case "/page":
                self._answer(200, "text/html; charset=utf-8", HTML.encode())
            case "/latin":
                self._answer(200, "text/plain; charset=latin-1", "größe".encode("latin-1"))
            case "/image":
                self._answer(200, "image/png", b"\x89PNG")
            case "/zip":
                self._answer(200, "application/zip", b"PK")
            case "/big":
                self._answer(200, "text/plain", b"x" * (5 * 1024 * 1024 + 1))
            case "/moved":
                self._answer(302, "text/plain", b"", {"Location": "/page"})
            case "/away":
                self._answer(
                    302, "text/plain", b"", {"Location": f"http://localhost:{self.headers['Host'].split(':')[1]}/page"}
                )
            case "/file":
                self._answer(302, "text/plain", b"", {"Location": "file:///etc/passwd"})
            case "/loop":
                self._answer(302, "text/plain", b"", {"Location": "/loop"})
            case "/slow":
                threading.Event().wait(2)
            case _:
                self._answer(404, "text/plain", b"no")

    def _answer(self, status: int, mime: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": mime, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_page_becomes_markdown(bench: Workbench, site: str) -> None:
    result = await bench.call(WebfetchTool(), url=f"{site}/page")
    assert result.output == "T\n\n# Head\n\nA [link](/x)"
    assert result.title == f"{site}/page (text/html; charset=utf-8)"
    [ask] = bench.asked
    assert (ask.permission, ask.patterns, ask.always) == ("webfetch", [f"{site}/page"], ["*"])


async def test_page_as_html_is_as_it_came(bench: Workbench, site: str) -> None:
    assert (await bench.call(WebfetchTool(), url=f"{site}/page", format="html")).output == HTML


def test_plain_text_has_no_markup() -> None:
    assert convert(HTML, "text") == "T\nHead\nA\nlink"


async def test_charset_of_the_answer_is_used(bench: Workbench, site: str) -> None:
    assert (await bench.call(WebfetchTool(), url=f"{site}/latin")).output == "größe"


async def test_image_is_attached(bench: Workbench, site: str) -> None:
    result = await bench.call(WebfetchTool(), url=f"{site}/image")
    assert result.attachments == [{"type": "file", "mime": "image/png", "url": "data:image/png;base64,iVBORw=="}]


async def test_redirect_to_another_host_is_asked_for(bench: Workbench, site: str) -> None:
    await bench.call(WebfetchTool(), url=f"{site}/moved")
    assert len(bench.asked) == 1
    await bench.call(WebfetchTool(), url=f"{site}/away")
    assert bench.asked[-1].patterns == [f"{site.replace('127.0.0.1', 'localhost')}/page"]


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/none", "answered 404"),
        ("/big", "larger than 5 MB"),
        ("/zip", "not text"),
        ("/loop", "redirects more"),
        ("/file", "not a URL"),
    ],
)
async def test_what_cannot_be_fetched_is_said(bench: Workbench, site: str, path: str, word: str) -> None:
    with pytest.raises(ToolError, match=word):
        await bench.call(WebfetchTool(), url=f"{site}{path}")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a/b", "nothing", "http://"])
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
