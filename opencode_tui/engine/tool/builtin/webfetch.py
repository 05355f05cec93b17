"""The webfetch tool: one page or file over HTTP(S). Source: docs/internals/tools.md#webfetch.

What may be fetched is decided for every address on the way, also for one that a redirect names: a host that is, or resolves to, an
address of this machine or its network needs a rule or an answer of the user, and the connection goes to the addresses that were
checked. Bytes are counted as they arrive and as they are decompressed.
"""

import asyncio
import base64
import codecs
import os
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from opencode_tui import __version__, network
from opencode_tui.engine.permission.address_forms import origin_of, read_address
from opencode_tui.engine.permission.decision import Query, open_patterns
from opencode_tui.engine.permission.ruleset import grantable
from opencode_tui.engine.provider.inflate import unpacker
from opencode_tui.engine.sandbox.address import is_local_address, resolve
from opencode_tui.engine.tool.files.text_format import detect, is_binary
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.programs import python_command, python_environ
from opencode_tui.schema.error import ConfigError, ToolError
from opencode_tui.schema.field import Field
from opencode_tui.schema.hidden_text import show_hidden

if TYPE_CHECKING:
    import httpx

LOCAL_REASON = "Reaches an address of this machine or your network."

_LOCAL_ENDINGS = ("localhost", "local", "internal", "localdomain", "lan", "home.arpa")

_BODY_LIMIT_BYTES = 5 * 1024 * 1024
_REDIRECTS = 10
_LONGEST_S = 120
_ACCEPT = {
    "markdown": "text/markdown, text/x-markdown;q=0.9, text/plain;q=0.8, text/html;q=0.7, */*;q=0.1",
    "text": "text/plain, text/markdown;q=0.9, text/html;q=0.8, */*;q=0.1",
    "html": "text/html, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1",
}
_TAG_BYTES = 1024
_CHARSET_TAG = re.compile(rb"<meta\b[^>]*?\bcharset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_LABELS = {
    **dict.fromkeys(
        ("iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "l1", "ascii", "us-ascii"), "windows-1252"
    ),
    **dict.fromkeys(("iso-8859-9", "latin5"), "windows-1254"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "ms_kanji"), "cp932"),
    **dict.fromkeys(("gb2312", "gb_2312-80", "gbk", "x-gbk"), "gb18030"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "ksc5601", "korean"), "cp949"),
    **dict.fromkeys(("tis-620", "iso-8859-11"), "cp874"),
    "utf-16": "utf-16-le",
}
"""Names of encodings that stand for a larger one on the web."""
_NOT_ON_THE_WEB = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7")
"""Encodings of Python that no browser reads a page with; some of them decode any bytes to other or no text."""
_TEXTUAL = ("json", "xml", "javascript", "yaml", "toml", "x-sh", "sql", "graphql", "x-www-form-urlencoded")


class WebfetchParameters(Parameters):
    """The address and the format."""

    url: str
    format: Literal["text", "markdown", "html"] = "markdown"
    timeout: float = Field(default=30, gt=0)
    """Seconds, at most 120: a model that writes milliseconds gets the longest."""


class _Page(Struct, frozen=True):
    """A response's body with its type (lower case, without parameters) and its address after redirects.

    `charset` is what the response's header says, empty when it says nothing.
    """

    url: str
    mime: str
    content_type: str
    charset: str
    body: bytes


class _Redirect(Struct, frozen=True):
    """The address that a response names instead of a page."""

    url: str


class WebfetchTool:
    """Fetches an address; asks for every host that a redirect leads to."""

    name = "webfetch"
    parameters = WebfetchParameters

    def __init__(self) -> None:
        self.description = read_description(self.name)

    async def run(self, arguments: WebfetchParameters, context: ToolContext) -> ToolResult:
        """Return the page; raises ToolError for other protocols, failures, responses other than 2xx, and over 5 MB."""
        page = await _fetch(arguments, context)
        title = f"{arguments.url} ({page.content_type or 'unknown type'})"
        if page.mime.startswith("image/") and page.mime != "image/svg+xml":
            if _is_text(page.body):
                raise ToolError(f"{page.url} is named {page.mime}, but it is text or empty; check the address")
            url = f"data:{page.mime};base64,{base64.b64encode(page.body).decode()}"
            return ToolResult(
                title, "Image fetched; it is attached.", {}, [{"type": "file", "mime": page.mime, "url": url}]
            )
        return ToolResult(title, await _read_text(page, arguments), {})


async def _fetch(arguments: WebfetchParameters, context: ToolContext) -> _Page:
    check_url(arguments.url)
    import httpx  # costs a tenth of a second, which only a fetch should pay

    seconds = min(arguments.timeout, _LONGEST_S)
    left = seconds  # of all redirects together; the answers of the user take none of it
    url, origin, approved = arguments.url, "", set[str]()
    headers = {
        "User-Agent": f"opencode-tui/{__version__}",
        "Accept": _ACCEPT[arguments.format],
        "Accept-Encoding": "gzip, deflate",
    }
    for _ in range(_REDIRECTS):
        metadata = arguments.present() if not origin else {"url": url, "redirectedFrom": origin}
        try:
            addresses = await _permit(url, context, metadata, approved, seconds=left)
            client = await asyncio.to_thread(_make_client, url, headers)
            began = time.monotonic()
            async with asyncio.timeout(left), client:
                found = await _request(client, url, addresses)
            left = max(0.0, left - (time.monotonic() - began))
        except TimeoutError as error:
            advice = f"try again with a longer `timeout`, in seconds, at most {_LONGEST_S}"
            raise ToolError(f"{url} took longer than {seconds:g} s; {advice}") from error
        except ConfigError as error:
            raise ToolError(f"{url} could not be fetched: {error}") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            reason = network.explain(_first_line(error), url)
            remedy = "" if isinstance(error, httpx.TransportError) and "; " in reason else "; check the address"
            raise ToolError(f"{url} could not be fetched: {reason}{remedy}") from error
        if isinstance(found, _Page):
            return found
        check_url(found.url)
        url, origin = found.url, url
    raise ToolError(f"{arguments.url} redirects more than {_REDIRECTS} times; check the address")


def _make_client(url: str, headers: dict[str, str]) -> "httpx.AsyncClient":
    """Return a client for one address, which decides about the proxy. Blocks: loads the certificates. Raises ConfigError."""
    import httpx  # already imported by the caller

    return httpx.AsyncClient(headers=headers, timeout=None, **network.client_options(url))


async def _permit(
    url: str, context: ToolContext, metadata: dict[str, Any], approved: set[str], *, seconds: float
) -> Sequence[str]:
    """Return the addresses to connect to, none where a proxy resolves the name. Raises PermissionRefused.

    For a redirect to a host and port in `approved`, which is extended, rules can deny but nothing is asked again.
    """
    host, netloc = host_of(url), urlsplit(url).netloc
    is_local = is_local_name(host)
    if netloc in approved:
        open_patterns(_query(url, metadata, is_local=False), context.ask.rules())
    else:
        await context.ask.query(_query(url, metadata, is_local=is_local))
    addresses: Sequence[str] = ()
    if network.find_route(url).proxy is None:
        async with asyncio.timeout(seconds):
            addresses = await resolve(host)
    if any(map(is_local_address, addresses)) and not is_local and f"local {netloc}" not in approved:
        await context.ask.query(_query(url, metadata, is_local=True))
        approved.add(f"local {netloc}")
    approved.add(netloc)
    return addresses


def _query(url: str, metadata: dict[str, Any], *, is_local: bool) -> Query:
    """Return the query about an address; for one of this machine or network a built-in rule is not enough."""
    if not is_local:
        return Query(session_id="", permission="webfetch", patterns=[url], always=["*"], metadata=metadata)
    return Query(
        session_id="",
        permission="webfetch",
        patterns=[url],
        always=grantable([origin_of(url)], "/*"),
        metadata={**metadata, "reasons": [LOCAL_REASON], "local": True},
        by_user=[url],
    )


async def _request(client: "httpx.AsyncClient", url: str, addresses: Sequence[str]) -> _Page | _Redirect:
    """Return the page, or the address that it redirects to; tries the addresses in order until one can be reached."""
    import httpx  # already imported by the caller

    target = httpx.URL(url)
    for number, address in enumerate(addresses or (target.host,), start=1):
        request = client.build_request(
            "GET",
            target.copy_with(host=address),
            headers={"Host": target.netloc.decode("ascii")},
            extensions={"sni_hostname": target.raw_host.decode("ascii")},
        )
        try:
            response = await client.send(request, stream=True, follow_redirects=False)
        except httpx.ConnectError:
            if number < len(addresses):
                continue
            raise
        try:
            return await _read(url, response)
        finally:
            await response.aclose()
    raise ToolError(f"{url} has no address; check its host")


async def _read(url: str, response: "httpx.Response") -> _Page | _Redirect:
    if response.is_redirect:
        return _Redirect(urljoin(url, response.headers["location"]))
    if not response.is_success:
        raise ToolError(f"{url} answered {response.status_code} {response.reason_phrase}; check the address")
    encoding = response.headers.get("content-encoding", "identity").lower()
    if encoding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise ToolError(f"{url} has the unexpected encoding {encoding!r}; download it with bash")
    unpack = unpacker() if encoding not in ("identity", "") else None
    received, body = 0, bytearray()
    async for raw in response.aiter_raw():
        received += len(raw)
        try:
            for piece in (raw,) if unpack is None else unpack(raw):
                body += piece
                if max(received, len(body)) > _BODY_LIMIT_BYTES:
                    raise ToolError(f"{url} is larger than 5 MB; fetch a smaller page, or download it with bash")
        except zlib.error as error:
            raise ToolError(f"{url} cannot be decompressed ({error}); download it with bash") from error
    content_type = response.headers.get("content-type", "")
    mime = content_type.split(";")[0].strip().lower()
    return _Page(url, mime, content_type, response.charset_encoding or "", bytes(body))


async def _read_text(page: _Page, arguments: WebfetchParameters) -> str:
    if page.mime and not page.mime.startswith("text/") and not any(word in page.mime for word in _TEXTUAL):
        raise ToolError(f"{page.url} is {page.mime}, which is not text; download it with bash")
    text = _decode(page)
    if arguments.format == "html":
        return text
    return show_hidden(await _convert(text, arguments) if "html" in page.mime else text)


def _is_text(body: bytes) -> bool:
    try:
        return not is_binary(body) and bool(body.decode() or not body)
    except UnicodeDecodeError:
        return False


def _decode(page: _Page) -> str:
    """Return the text of a page by its byte order mark, else its header, else its own tag, else its bytes.

    Raises ToolError for bytes that are no text. Source: html.spec.whatwg.org/#the-input-byte-stream and
    encoding.spec.whatwg.org/#names-and-labels (2026-10).
    """
    found = detect(page.body, is_whole=True)
    if found.mark:
        return page.body[len(found.mark) :].decode(found.encoding, "replace")
    for label in _declared(page):
        try:
            if codecs.lookup(label).name in _NOT_ON_THE_WEB:
                continue
            text = page.body.decode(label, "replace")
        except (LookupError, UnicodeError):
            continue  # an unknown encoding, or one that is none of texts
        if label.startswith("utf-16") or not is_binary(page.body):
            return text
    if is_binary(page.body):
        raise ToolError(f"{page.url} is not text, whatever its type says; download it with bash")
    return page.body.decode(found.encoding, "replace")


def _declared(page: _Page) -> Iterator[str]:
    """Yield the encodings that a page is said to have, by its header and by its own tag."""
    if page.charset:
        label = page.charset.strip().lower()
        yield _LABELS.get(label, label)
    tag = _CHARSET_TAG.search(page.body[:_TAG_BYTES]) if "html" in page.mime else None
    if tag is not None:
        label = tag[1].decode("ascii").lower()
        yield "utf-8" if label.startswith("utf-16") else _LABELS.get(label, label)


async def _convert(html: str, arguments: WebfetchParameters) -> str:
    seconds = min(arguments.timeout, _LONGEST_S)
    process = await asyncio.create_subprocess_exec(
        *python_command("-m", "opencode_tui.engine.tool.builtin.html_text", arguments.format),
        env=python_environ(os.environ),
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


def _first_line(error: Any) -> str:
    return (str(error) or type(error).__name__).split("\n")[0]


# Web addresses: which of them are valid, and which name this machine or its network.


def check_url(url: str) -> None:
    """Raise ToolError for what is not the address of a web page."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ToolError(f"{url!r} is not a URL; it must start with http:// or https:// and name a host")


def host_of(url: str) -> str:
    """Return the host as it is connected to: lower case, in ASCII, without brackets. Raises ToolError."""
    import httpx  # costs a tenth of a second, which only a fetch should pay

    try:
        return httpx.URL(url).raw_host.decode("ascii").lower().rstrip(".")
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ToolError(f"{url!r} is not a URL ({error}); check the address") from error


def is_local_name(host: str) -> bool:
    """Return whether a host is an address itself, in any notation, or a name of this machine or its network."""
    return read_address(host) is not None or any(host == end or host.endswith(f".{end}") for end in _LOCAL_ENDINGS)


def make(kit: ToolKit) -> WebfetchTool:
    """Return the tool."""
    return WebfetchTool()
