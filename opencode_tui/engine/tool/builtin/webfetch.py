"""The webfetch tool: one page or file over HTTP(S). Source: reference, section 28 (webfetch)."""

import asyncio
import base64
import sys
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct
from pydantic import Field

from opencode_tui import __version__
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import ToolError

if TYPE_CHECKING:
    import httpx

_BODY_LIMIT_BYTES = 5 * 1024 * 1024
_REDIRECTS = 10
_ACCEPT = {
    "markdown": "text/markdown, text/x-markdown;q=0.9, text/plain;q=0.8, text/html;q=0.7, */*;q=0.1",
    "text": "text/plain, text/markdown;q=0.9, text/html;q=0.8, */*;q=0.1",
    "html": "text/html, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1",
}
_TEXTUAL = ("json", "xml", "javascript", "yaml", "toml", "x-sh", "sql", "graphql", "x-www-form-urlencoded")


class WebfetchParameters(Parameters):
    """The address and the format."""

    url: str
    format: Literal["text", "markdown", "html"] = "markdown"
    timeout: float = Field(default=30, gt=0, description="seconds, at most 120")


class _Page(Struct, frozen=True):
    """A response's body with its type (lower case, without parameters) and its address after redirects."""

    url: str
    mime: str
    content_type: str
    charset: str
    body: bytes


class WebfetchTool:
    """Fetches an address; asks for every host that a redirect leads to."""

    name = "webfetch"
    parameters = WebfetchParameters

    def __init__(self) -> None:
        self.description = read_description(self.name)

    async def run(self, arguments: WebfetchParameters, context: ToolContext) -> ToolResult:
        """Return the page; raises ToolError for other protocols, failures, responses other than 2xx, and over 5 MB."""
        _check(arguments.url)
        await context.ask("webfetch", [arguments.url], always=["*"], metadata=arguments.model_dump(exclude_none=True))
        page = await _fetch(arguments, context)
        title = f"{arguments.url} ({page.content_type or 'unknown type'})"
        if page.mime.startswith("image/") and page.mime != "image/svg+xml":
            url = f"data:{page.mime};base64,{base64.b64encode(page.body).decode()}"
            return ToolResult(
                title, "Image fetched; it is attached.", {}, [{"type": "file", "mime": page.mime, "url": url}]
            )
        return ToolResult(title, await _read_text(page, arguments), {})


async def _fetch(arguments: WebfetchParameters, context: ToolContext) -> _Page:
    import httpx  # costs a tenth of a second, which only a fetch should pay

    seconds = min(arguments.timeout, 120)
    url = arguments.url
    headers = {"User-Agent": f"opencode-tui/{__version__}", "Accept": _ACCEPT[arguments.format]}
    client = await asyncio.to_thread(httpx.AsyncClient, headers=headers, timeout=None)
    async with client:
        for _ in range(_REDIRECTS):
            try:
                async with asyncio.timeout(seconds):
                    found = await _request(client, url)
            except TimeoutError as error:
                raise ToolError(f"{url} took longer than {seconds:g} s; try again with a longer timeout") from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise ToolError(f"{url} could not be fetched: {_first_line(error)}; check the address") from error
            if isinstance(found, _Page):
                return found
            _check(found)
            if urlsplit(found).netloc != urlsplit(url).netloc:
                await context.ask("webfetch", [found], always=["*"], metadata={"url": found, "redirectedFrom": url})
            url = found
    raise ToolError(f"{arguments.url} redirects more than {_REDIRECTS} times; check the address")


async def _request(client: "httpx.AsyncClient", url: str) -> "_Page | str":
    """Return the page, or the address that it redirects to."""
    async with client.stream("GET", url) as response:
        if response.is_redirect and response.next_request is not None:
            return str(response.next_request.url)
        if not response.is_success:
            raise ToolError(f"{url} answered {response.status_code} {response.reason_phrase}; check the address")
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _BODY_LIMIT_BYTES:
                raise ToolError(f"{url} is larger than 5 MB; fetch a smaller page, or download it with bash")
        content_type = response.headers.get("content-type", "")
        mime = content_type.split(";")[0].strip().lower()
        return _Page(url, mime, content_type, response.charset_encoding or "utf-8", bytes(body))


async def _read_text(page: _Page, arguments: WebfetchParameters) -> str:
    if page.mime and not page.mime.startswith("text/") and not any(word in page.mime for word in _TEXTUAL):
        raise ToolError(f"{page.url} is {page.mime}, which is not text; download it with bash")
    text = _decode(page)
    if "html" not in page.mime or arguments.format == "html":
        return text
    return await _convert(text, arguments)


def _decode(page: _Page) -> str:
    try:
        return page.body.decode(page.charset, "replace")
    except LookupError:
        # The server names an unknown encoding.
        return page.body.decode("utf-8", "replace")


async def _convert(html: str, arguments: WebfetchParameters) -> str:
    seconds = min(arguments.timeout, 120)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "opencode_tui.engine.tool.builtin.html_text",
        arguments.format,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(seconds):
            text, errors = await process.communicate(html.encode("utf-8", "replace"))
    except TimeoutError as error:
        raise ToolError(
            f"{arguments.url} took longer than {seconds:g} s to convert; fetch it with format html"
        ) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ToolError(f"{arguments.url} could not be converted ({last[:200]}); fetch it with format html")
    return text.decode("utf-8", "replace")


def _check(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ToolError(f"{url!r} is not a URL; it must start with http:// or https://")


def _first_line(error: Any) -> str:
    return (str(error) or type(error).__name__).split("\n")[0]
