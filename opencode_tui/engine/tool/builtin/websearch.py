"""The websearch tool: a query to a search service whose key the user has.

Sources of the two APIs: https://api-dashboard.search.brave.com/app/documentation (GET, `X-Subscription-Token`) and
https://docs.tavily.com/documentation/api-reference (POST, bearer token). Without a key the model does not see the tool.
"""

import asyncio
import html
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from opencode_tui import __version__, network
from opencode_tui.config.redact import redact_text
from opencode_tui.engine.permission.decision import Query
from opencode_tui.engine.provider.decode.response import as_list
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.search_service import BRAVE, SERVICES, SearchService
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import ConfigError, ToolError
from opencode_tui.schema.field import Field
from opencode_tui.schema.json_text import JsonError, as_object, load_json
from opencode_tui.schema.record import JsonObject

if TYPE_CHECKING:
    import httpx

_TIMEOUT_S = 20.0
_BODY_LIMIT_BYTES = 2 * 1024 * 1024
_MAX_RESULTS = 20
_MAX_SNIPPET = 1_000
_MAX_REASON = 300
_TAG = re.compile(r"<[^>]{0,200}>")


class WebsearchParameters(Parameters):
    """The query and the number of results."""

    query: str = Field(min_length=1, max_length=400)
    num_results: int = Field(default=8, ge=1, le=_MAX_RESULTS)


class Result(Struct, frozen=True):
    """A page that was found."""

    title: str
    url: str
    text: str


class WebsearchTool:
    """Searches the web; `find` returns the service to use, and is called for each search."""

    name = "websearch"
    parameters = WebsearchParameters

    def __init__(self, find: Callable[[], SearchService | None]) -> None:
        self.description = read_description(self.name)
        self._find = find

    async def run(self, arguments: WebsearchParameters, context: ToolContext) -> ToolResult:
        """Return the results; raises ToolError without a key, for failures of the service, and after 20 s."""
        service = await asyncio.to_thread(self._find)
        if service is None:
            names = " or ".join(f"`opencode-tui auth login {one.id}`" for one in SERVICES)
            raise ToolError(f"no search service has a key; ask the user to run {names}")
        query = " ".join(arguments.query.split())
        await context.ask.query(
            Query(
                session_id="",
                permission="websearch",
                patterns=[query],
                always=["*"],
                metadata={**arguments.present(), "service": service.name},
            )
        )
        results = await _search(service, query, arguments.num_results)
        pages = [{"title": result.title, "url": result.url} for result in results]
        return ToolResult(query, _format(results), {"count": len(results), "results": pages, "service": service.name})


async def _search(service: SearchService, query: str, count: int) -> list[Result]:
    import httpx  # costs a tenth of a second, which only a search should pay

    try:
        client = await asyncio.to_thread(_client, service.url)
    except ConfigError as error:
        raise ToolError(f"{service.name} cannot be reached: {error}") from error
    try:
        async with client, asyncio.timeout(_TIMEOUT_S), client.stream(**_request(service, query, count)) as response:
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _BODY_LIMIT_BYTES:
                    raise ToolError(f"{service.name} sent more than 2 MB; search for something narrower")
            status = response.status_code
    except TimeoutError as error:
        raise ToolError(f"{service.name} did not answer within {_TIMEOUT_S:g} s; try again") from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        reason = network.explain(str(error) or type(error).__name__, service.url)
        reason = redact_text(reason, (service.key,)).split("\n")[0]
        raise ToolError(f"{service.name} cannot be reached ({reason}); check the network") from error
    return _read(service, status, bytes(body), count)


def _client(url: str) -> "httpx.AsyncClient":
    """Return a client for an address. Blocks: imports httpx and loads the certificates. Raises ConfigError."""
    import httpx

    agent = {"User-Agent": f"opencode-tui/{__version__}", "Accept": "application/json"}
    return httpx.AsyncClient(headers=agent, timeout=None, follow_redirects=False, **network.client_options(url))


def _request(service: SearchService, query: str, count: int) -> dict[str, Any]:
    if service.id == BRAVE.id:
        params = {"q": query, "count": str(count), "text_decorations": "false"}
        headers = {"X-Subscription-Token": service.key}
        return {"method": "GET", "url": service.url, "params": params, "headers": headers}
    body = {"query": query, "max_results": count, "search_depth": "basic"}
    return {"method": "POST", "url": service.url, "json": body, "headers": {"Authorization": f"Bearer {service.key}"}}


def _read(service: SearchService, status: int, body: bytes, count: int) -> list[Result]:
    """Return the results in a response. Raises ToolError for any other response."""
    value: object
    try:
        value = load_json(body)
    except JsonError:
        value = None
    if status != 200:
        reason = redact_text(_reason(value), (service.key,))[:_MAX_REASON]
        said = f": {reason}" if reason else ""
        if status in (401, 403):
            raise ToolError(
                f"{service.name} rejected the key (HTTP {status}{said}); ask the user to run `opencode-tui auth login {service.id}`"
            )
        if status in (402, 429, 432, 433):
            raise ToolError(f"{service.name}: search quota reached (HTTP {status}{said}); continue without searching")
        raise ToolError(f"{service.name} failed (HTTP {status}{said}); try again, or continue without it")
    found = as_object(value)
    if value != found:
        raise ToolError(f"{service.name} sent no JSON object; a proxy may have answered")
    listed = as_object(found.get("web")) if service.id == BRAVE.id else found
    results = [_result(as_object(page)) for page in as_list(listed.get("results"))]
    return [result for result in results if result.url.startswith(("http://", "https://"))][:count]


def _result(page: JsonObject) -> Result:
    text = page.get("description") or page.get("content")
    return Result(_plain(page.get("title")) or "(no title)", str(page.get("url") or "").strip(), _plain(text))


def _plain(text: object) -> str:
    """Return one line of a text without markup."""
    plain = html.unescape(_TAG.sub("", text)) if isinstance(text, str) else ""
    return " ".join(plain.split())[:_MAX_SNIPPET]


def _reason(value: object) -> str:
    """Return the message of an error in any of the two shapes."""
    for key in ("error", "detail", "message"):
        inner = as_object(value).get(key)
        if inner:
            return inner if isinstance(inner, str) else _reason(as_object(inner))
    return ""


def _format(results: list[Result]) -> str:
    if not results:
        return "No results."
    return "\n\n".join(
        f"{number}. {result.title}\n   {result.url}" + (f"\n   {result.text}" if result.text else "")
        for number, result in enumerate(results, start=1)
    )


def make(kit: ToolKit) -> WebsearchTool:
    """Return the tool."""
    return WebsearchTool(kit.find_search)
