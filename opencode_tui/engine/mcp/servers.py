"""The MCP servers of a folder: their states and lists, calls, and what the user starts, stops and adds.

Nothing starts when this is built: a server starts on its first call, or seconds after the folder was opened if its lists are not
known yet or old (`start_unknown`), so that neither the first frame nor the first request waits for it.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from opencode_tui.config.redact import redact_address, redact_text
from opencode_tui.config.settings.settings import (
    McpLocalSettings,
    McpRemoteSettings,
    McpSettings,
)
from opencode_tui.engine.mcp.browser import open_browser
from opencode_tui.engine.mcp.lists import ConnectionLost, McpError
from opencode_tui.engine.mcp.names import tool_ids
from opencode_tui.engine.mcp.server import (
    BACKOFF_S,
    CALL_S,
    Elicit,
    McpEntry,
    McpServer,
    McpStopped,
    Report,
    ServerWorld,
)
from opencode_tui.engine.mcp.sign_in import SignIns
from opencode_tui.redaction.cover import COVER
from opencode_tui.redaction.names import is_secret_flag, is_secret_option
from opencode_tui.schema.api.mcp import McpArgument, McpPrompt, McpResource, McpServerStatus, McpTool, SignInState
from opencode_tui.schema.error import ConfigError, NotFoundError, SignInError
from opencode_tui.schema.event.folder_event import McpBrowserOpenFailed, McpToolsChanged
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.schema.hidden_text import show_hidden, show_hidden_descriptions
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.record import JsonObject, Reader, ValidationError
from opencode_tui.tasks import task_group

logger = logging.getLogger(__name__)

OLD_MS = 24 * 3_600_000
"""Age of cached lists from which they are read again."""

_CHARACTERS = 4
"""Characters of a token, roughly."""


class McpServers:
    """All servers of a folder, in the order of the settings. Call all methods on the event loop."""

    def __init__(
        self,
        entries: Mapping[str, McpSettings],
        world: ServerWorld,
        *,
        clock: Clock,
        publish: Callable[[McpToolsChanged | McpBrowserOpenFailed | ScreenToastShown], None],
        reserved: frozenset[str] = frozenset(),
        redact: Callable[[str], str] = redact_text,
    ) -> None:
        """Blocks for a small file of each server.

        `reserved` are names that no tool of a server may have. `redact` returns a text without keys.
        """
        self._world = world
        self._clock = clock
        self._publish = publish
        self._reserved = reserved
        self._redact = redact
        self._servers: dict[str, McpServer] = {}
        for name, entry in entries.items():
            if isinstance(entry, McpLocalSettings | McpRemoteSettings):
                self._servers[name] = self._new_server(name, entry)
        self._sign_ins = SignIns(world.credentials)
        self._tools: tuple[int, list[McpTool]] = (-1, [])
        self.version = 0
        """Increased when the lists of a server, or the set of servers, have changed."""

    def _new_server(self, name: str, entry: McpEntry) -> McpServer:
        is_enabled = entry.enabled is not False
        return McpServer(name, entry, self._world, changed=self._on_changed, is_enabled=is_enabled)

    @property
    def names(self) -> list[str]:
        """The names of all servers."""
        return list(self._servers)

    def get(self, name: str) -> McpServer:
        """Return a server. Raises NotFoundError."""
        if name not in self._servers:
            known = ", ".join(self._servers) or "none"
            raise NotFoundError(f"there is no MCP server {name!r}; servers of this folder: {known}")
        return self._servers[name]

    def enabled(self) -> list[McpServer]:
        """Return the servers that may be used; from any thread."""
        return [server for server in list(self._servers.values()) if server.is_enabled]

    def status(self) -> list[McpServerStatus]:
        """Return the state of every server."""
        return [self.status_of(name) for name in self._servers]

    def status_of(self, name: str) -> McpServerStatus:
        """Return the state of a server. Raises NotFoundError."""
        server = self.get(name)
        entry = server.entry
        is_local = isinstance(entry, McpLocalSettings)
        redact = self._redact
        target = _describe_command(entry.command) if is_local else entry.url
        retry = server.retry_in
        return McpServerStatus(
            name=name,
            kind="local" if is_local else "remote",
            state="failed" if server.state == "known" and server.error else server.state,
            target=redact(redact_address(target)),
            error=None if server.error is None else redact(server.error),
            retry_in=None if retry is None else round(retry * 1000),
            tools=len(server.lists.tools),
            tokens=sum(tool.tokens for tool in self.tools(name)),
            prompts=len(server.lists.prompts),
            resources=len(server.lists.resources),
            is_listed=server.is_listed,
            instructions=server.lists.instructions or None,
            sign_in=_sign_in_state(server),
            output=[redact(line) for line in server.output],
            faults=[redact(show_hidden(line)) for line in server.lists.faults],
        )

    def tools(self, name: str) -> list[McpTool]:
        """Return the known tools of a server by name. Raises NotFoundError."""
        self.get(name)
        return [tool for tool in self.all_tools(with_disabled=True) if tool.server == name]

    def all_tools(self, *, with_disabled: bool = False) -> list[McpTool]:
        """Return the known tools of all enabled servers, in the order of the settings, then by name."""
        if self._tools[0] != self.version:
            listed = [(server.name, tool) for server in self._servers.values() for tool in server.lists.tools]
            ids = tool_ids([(server, tool["name"]) for server, tool in listed], self._reserved)
            made = [_tool(tool_id, server, tool) for tool_id, (server, tool) in zip(ids, listed, strict=True)]
            self._tools = (self.version, made)
        return [tool for tool in self._tools[1] if with_disabled or self._servers[tool.server].is_enabled]

    def prompts(self) -> list[McpPrompt]:
        """Return the known prompts of all enabled servers."""
        return [_prompt(server.name, one) for server in self.enabled() for one in server.lists.prompts]

    def resources(self) -> list[McpResource]:
        """Return the known resources of all enabled servers."""
        return [_resource(server.name, one) for server in self.enabled() for one in server.lists.resources]

    def templates(self) -> list[McpResource]:
        """Return the known templates of resources of all enabled servers, each with the template as its `uri`."""
        return [
            _resource(server.name, {**one, "uri": one["uriTemplate"]})
            for server in self.enabled()
            for one in server.lists.templates
        ]

    async def connect(self, name: str) -> McpServerStatus:
        """Switch a server on, start it and return its state: also after a failure, which is in the state. Raises NotFoundError."""
        server = self.get(name)
        server.enable()
        self.version += 1
        with suppress(McpError):
            await server.start()
        return self.status_of(name)

    async def disconnect(self, name: str) -> McpServerStatus:
        """End a server, and switch it off until `connect`. Raises NotFoundError."""
        await self.get(name).stop(disable=True)
        self._on_changed(name, is_shown=False)
        return self.status_of(name)

    async def restart(self, name: str) -> McpServerStatus:
        """End a server and start it again; returns as `connect`."""
        await self.get(name).stop()
        return await self.connect(name)

    async def add(self, name: str, config: JsonObject) -> McpServerStatus:
        """Add or replace a server until the folder is closed, and start it if it is enabled. Raises ConfigError."""
        try:
            entry = _ENTRY.validate_json(json.dumps(config))
        except ValidationError as error:
            first = error.errors()[0]
            raise ConfigError(f"mcp.{name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        if not isinstance(entry, McpLocalSettings | McpRemoteSettings):
            raise ConfigError(f'mcp.{name}: give its type, "local" or "remote"')
        if name in self._servers:
            await self._servers[name].stop()
        is_enabled = entry.enabled is not False
        self._servers[name] = await asyncio.to_thread(self._new_server, name, entry)
        self.version += 1
        return await self.connect(name) if is_enabled else self.status_of(name)

    async def begin_sign_in(self, name: str) -> str:
        """Return the address for the browser; an empty text for a server that demands no sign-in. It ends in the background.

        Raises NotFoundError, ConfigError for a server without sign-in, SignInError.
        """
        server = self.get(name)
        terms = server.sign_in.terms
        if terms is None:
            reason = "its settings say `oauth: false` or have an `Authorization` of their own"
            why = reason if isinstance(server.entry, McpRemoteSettings) else "it is a program on this machine"
            raise ConfigError(f"there is no sign-in to the MCP server {name}: {why}")
        if not self._sign_ins.is_pending(name):
            server.sign_in.challenge = None
            await self.restart(name)
            stored = await asyncio.to_thread(self._world.credentials.find, name, terms.url)
            challenge = server.sign_in.challenge or stored.details.challenge
            if challenge is None and server.state == "connected":
                return ""
            if challenge is None:
                raise SignInError(f"the MCP server {name} cannot be used: {server.error or 'it did not start'}")
        else:
            challenge = ""
        with _failing(name):
            return await self._sign_ins.begin(terms, challenge, partial(self._end_sign_in, name))

    async def sign_in(self, name: str) -> McpServerStatus:
        """Sign in with the user's browser, or wait for a sign-in that has begun; connect, and return the state.

        Waits some minutes for the user. Raises as `begin_sign_in`; a browser that cannot be opened is an event.
        """
        url = await self.begin_sign_in(name)
        if url:
            opening = asyncio.create_task(self._open_browser(name, url))
            try:
                with _failing(name):
                    await self._sign_ins.wait(name)
            finally:
                opening.cancel()
        return self.status_of(name)

    async def _open_browser(self, name: str, url: str) -> None:
        """Open the browser of a sign-in, and report at any time while that waits that it cannot be opened."""
        if not await open_browser(url, self._world.environ, self._world.folder):
            self._publish(McpBrowserOpenFailed(mcp_name=name, url=url))

    async def finish_sign_in(self, name: str, code: str) -> McpServerStatus:
        """End a sign-in that has begun with the code, or the address, that the browser shows; raises as `begin_sign_in`."""
        self.get(name)
        with _failing(name):
            await self._sign_ins.finish(name, code)
        return self.status_of(name)

    async def sign_out(self, name: str) -> bool:
        """Delete the tokens of a server, cancel a sign-in to it, and end it; return whether there were any.

        A name that is not in the settings may have some too. Raises NotFoundError for one that is unknown everywhere.
        """
        await self._sign_ins.cancel(name)
        had_any = await asyncio.to_thread(self._world.credentials.remove, name)
        if not had_any or name in self._servers:
            server = self.get(name)
            await server.stop()
            server.refuse_tokens()
            self._on_changed(name, is_shown=False)
        return had_any

    async def use_new_sign_ins(self) -> None:
        """Let servers be used again that demanded a sign-in, if another process has signed in since; starts none."""
        for server in self.enabled():
            if await server.use_new_sign_in():
                self.version += 1

    async def _end_sign_in(self, name: str, failure: Exception | None) -> None:
        """Connect after a sign-in, or record why it failed."""
        server = self._servers.get(name)
        if server is None:
            return
        if failure is None:
            await self.restart(name)
            return
        server.record_sign_in_failure(failure)
        self._on_changed(name, is_shown=False)

    async def call(
        self,
        server: str,
        tool: str,
        arguments: JsonObject,
        *,
        report: Report | None = None,
        elicit: Elicit | None = None,
        limit_s: float = CALL_S,
    ) -> JsonObject:
        """Return the result of a tool as the protocol writes it; starts the server first. Raises NotFoundError, McpError.

        `limit_s` as in `McpServer.call`.
        """
        return await self.get(server).call(tool, arguments, report=report, elicit=elicit, limit_s=limit_s)

    async def get_prompt(self, server: str, prompt: str, arguments: dict[str, str]) -> JsonObject:
        """Return the messages of a prompt as the protocol writes them. Raises NotFoundError, McpError."""
        return await self.get(server).prompt(prompt, arguments)

    async def read_resource(self, server: str, uri: str) -> JsonObject:
        """Return the contents of a resource as the protocol writes them. Raises NotFoundError, McpError."""
        return await self.get(server).resource(uri)

    async def wait_listed(self, seconds: float) -> list[str]:
        """Wait until the lists of all enabled servers are known, at most this long; return the names of those still unknown."""
        waiting = {asyncio.create_task(_try_start(server)) for server in self.enabled() if not server.is_listed}
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        return [server.name for server in self.enabled() if not server.is_listed]

    async def start_unknown(self) -> None:
        """Start the servers whose lists are not known or old; ends when each is up or has failed too often.

        Those that demand a sign-in are named on the screen.
        """
        now = self._clock()
        unknown = [one for one in self.enabled() if one.listed_at is None or now - one.listed_at > OLD_MS]
        async with task_group() as group:
            for server in unknown:
                group.create_task(_start_often(server))
        for server in unknown:
            if server.state == "needs_auth":
                self._publish(ScreenToastShown(message=f"MCP server {server.name}: {server.error}", variant="warning"))

    async def close(self) -> None:
        """End all servers with their processes, and the sign-ins that wait."""
        await self._sign_ins.cancel()
        await asyncio.gather(*(server.stop(close=True) for server in self._servers.values()))

    def _on_changed(self, name: str, *, is_shown: bool = True) -> None:
        self.version += 1
        self._publish(McpToolsChanged(server=name))
        server = self._servers[name]
        if is_shown:
            count = len(server.lists.tools)
            message = f"MCP server {name}: {count} tool{'' if count == 1 else 's'}, used from your next message on"
            self._publish(ScreenToastShown(message=message, variant="info"))


@contextmanager
def _failing(name: str) -> Generator[None]:
    """Raise SignInError with the server's name for what a sign-in raises."""
    try:
        yield
    except (McpError, SignInError, ConnectionLost) as error:
        raise SignInError(f"the sign-in to {name} failed: {error}") from None


def _sign_in_state(server: McpServer) -> SignInState | None:
    try:
        stored = server.sign_in.read()
    except ConfigError:  # a damaged file, which a sign-in reports
        return None
    return None if stored is None else stored.state


_ENTRY: Reader[McpSettings] = Reader(McpSettings)


async def _try_start(server: McpServer) -> None:
    with suppress(McpError):
        await server.start()


async def _start_often(server: McpServer) -> None:
    for _ in range(len(BACKOFF_S) + 1):
        try:
            await server.start()
        except McpStopped:
            return
        except McpError:
            pass
        if server.state != "known":
            return


def _describe_command(command: Sequence[str]) -> str:
    """Return a command as one line, with the values of arguments whose names say that they are keys covered."""
    shown: list[str] = []
    for before, word in zip(("", *command), command, strict=False):
        name, equals, _ = word.partition("=")
        if equals and is_secret_option(name):
            shown.append(f"{name}={COVER}")
        else:
            shown.append(COVER if is_secret_flag(before) and not word.startswith("-") else word)
    return " ".join(shown)


def _tool(tool_id: str, server: str, tool: JsonObject) -> McpTool:
    given: JsonObject = show_hidden_descriptions(tool.get("inputSchema") or {})
    schema: JsonObject = {name: value for name, value in given.items() if name != "$schema"}
    parameters: JsonObject = {**schema, "type": "object", "properties": schema.get("properties") or {}}
    description = show_hidden(str(tool.get("description") or tool.get("title") or ""))
    size = len(tool_id) + len(description) + len(json.dumps(parameters, ensure_ascii=False))
    return McpTool(
        id=tool_id,
        name=tool["name"],
        server=server,
        description=description,
        parameters=parameters,
        tokens=round(size / _CHARACTERS),
    )


def _prompt(server: str, prompt: JsonObject) -> McpPrompt:
    given: list[JsonObject] = prompt.get("arguments") or []
    arguments = [
        McpArgument(name=one["name"], description=one.get("description"), required=bool(one.get("required")))
        for one in given
        if isinstance(one.get("name"), str)
    ]
    description = prompt.get("description") or prompt.get("title")
    return McpPrompt(name=prompt["name"], server=server, description=description, arguments=arguments)


def _resource(server: str, resource: JsonObject) -> McpResource:
    return McpResource(
        name=str(resource.get("name") or resource["uri"]),
        uri=resource["uri"],
        description=resource.get("description"),
        mime_type=resource.get("mimeType"),
        client=server,
    )
