"""The facets over HTTP: each method is made from its row of the table of calls (`facets/call.py`) when it is first used."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from opencode_tui.client.facets.call import Call, calls_of, is_sequence, records_in, struct_in
from opencode_tui.client.remote_events import RemoteEvents
from opencode_tui.client.remote_link import Link, answer_failure, body_error
from opencode_tui.schema.api.file import FindKind
from opencode_tui.schema.api.request import CommandInput, PromptInput, ShellInput
from opencode_tui.schema.error import NotFoundError, OpencodeError
from opencode_tui.schema.event.screen_event import ScreenEvent
from opencode_tui.schema.http_headers import MESSAGE_HEADER
from opencode_tui.schema.json_text import decode_structs, load_json
from opencode_tui.schema.record import JsonObject, Reader, Record
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage

LAST_EVENTS_S = 1.0
"""Seconds to wait for a turn's last events after its response."""

Stored = Callable[[str], None]
T = TypeVar("T")


class RemoteFacet:
    """Answers the methods of a facet through a connection to a server; a method that is written here takes precedence."""

    def __init__(self, facet: type, link: Link) -> None:
        self._calls = calls_of(facet)
        self._link = link

    def __getattr__(self, name: str) -> Any:
        """Return the method; called for one that is not kept yet."""
        call = None if name.startswith("_") else self._calls.get(name)
        if call is None:
            raise AttributeError(name)
        read = _reader(call)

        async def ask(*given: Any, **named: Any) -> Any:
            bound = call.signature.bind(*given, **named)
            bound.apply_defaults()
            try:
                content = await self._send(call, bound.arguments)
            except NotFoundError:
                if call.is_false_if_gone:
                    return False
                raise
            try:
                return read(content)
            except ValueError as error:
                reason = str(error).partition("\n")[0]
                raise OpencodeError(
                    f"{self._link.url}{call.path} answered with something unexpected ({reason}); check the address"
                ) from error

        self.__dict__[name] = ask
        return ask

    async def _send(self, call: Call, arguments: Mapping[str, Any]) -> bytes:
        path, body = call.path_of(arguments), call.body_of(arguments)
        if call.waits:
            async with self._link.stream(call.method, path, body) as answer:
                return await answer.aread()
        return await self._link.bytes(call.method, path, body=body, query=call.query_of(arguments), reads=call.reads)


def remote(facet: type[T], link: Link, kind: type[RemoteFacet] = RemoteFacet) -> T:
    """Return a facet of the folder that the link is for, all of its methods made from rows but those of `kind`."""
    return cast("T", kind(facet, link))


class RemotePrompts(RemoteFacet):
    """Requests that start a turn are answered when the session is idle; their ID comes before that."""

    def __init__(self, facet: type, link: Link, events: RemoteEvents) -> None:
        super().__init__(facet, link)
        self._events = events

    async def prompt(
        self, session_id: str, request: PromptInput, *, stored: Stored | None = None, refuses_ids: bool = False
    ) -> MessageWithParts:
        """Send a request; return the last message of its answer."""
        return await self._turn("prompt", session_id, request, stored)

    async def command(
        self, session_id: str, given: CommandInput, *, stored: Stored | None = None, refuses_ids: bool = False
    ) -> MessageWithParts:
        """Send a slash command."""
        return await self._turn("command", session_id, given, stored)

    async def shell(self, session_id: str, given: ShellInput, *, stored: Stored | None = None) -> MessageWithParts:
        """Run a shell command of the user."""
        return await self._turn("shell", session_id, given, stored)

    async def _turn(self, name: str, session_id: str, request: Record, stored: Stored | None) -> MessageWithParts:
        """Send a request that starts a turn and return its last message; raises the error that ended the turn.

        Waits a moment for the turn's last events, because in the process they always come before the answer.
        """
        self._events.expect_idle(session_id)
        call = self._calls[name]
        async with self._link.stream(call.method, call.path_of({"session_id": session_id}), request) as answer:
            message_id = answer.headers.get(MESSAGE_HEADER)
            if stored is not None and message_id:
                stored(message_id)
            body = await answer.aread()
        answered = _parse_answer(body)
        if not (isinstance(request, PromptInput) and request.no_reply):
            await self._events.idle(session_id, seconds=LAST_EVENTS_S)
        if isinstance(answered.info, AssistantMessage) and answered.info.error is not None:
            failure = answer_failure(answered.info.error)
            if failure is not None:
                raise failure
        return answered


class RemoteFiles(RemoteFacet):
    """OpenCode's API has another name for the kind of what is searched."""

    async def find(self, query: str, *, kind: FindKind = "all", limit: int = 100) -> Sequence[str]:
        """Return files and folders whose names match."""
        call, asked = self._calls["find"], {"query": query, "type": None if kind == "all" else kind, "limit": limit}
        return await self._link.value(call.method, call.path, query=asked)


class RemoteScreen(RemoteFacet):
    """An event travels as OpenCode's API writes it."""

    async def publish(self, event: ScreenEvent) -> None:
        """Send an event to the open screens."""
        call, properties = self._calls["publish"], event.to_dict()
        kind = properties.pop("type")
        await self._link.value(call.method, call.path, {"type": kind, "properties": properties})


def _parse_answer(body: bytes) -> MessageWithParts:
    """Return the last message of a turn; raises the error that the server sent in its place."""
    answer: JsonObject | None = load_json(body or b"null")
    if answer is None:
        raise OpencodeError("the server ended the turn without its response; see the session for the work done")
    if "info" not in answer:
        raise body_error(answer)
    return MessageWithParts.model_validate(answer)


def _reader(call: Call) -> Callable[[bytes], Any]:
    """Return what decodes the answer of a call; records are validated by their own classes, which are built once."""
    kind, field = call.signature.return_annotation, call.field
    if kind is None:
        return lambda _content: None
    if (struct := struct_in(kind)) is not None:
        return lambda content: decode_structs(content, struct)
    records = records_in(kind)
    if not records:
        return load_json if field is None else lambda content: load_json(content).get(field)
    record, *others = records
    if kind is record:
        return record.model_validate_json
    if is_sequence(kind) and not others:
        return lambda content: [record.model_validate(one) for one in load_json(content)]
    adapter: Reader[Any] = Reader(kind)
    return lambda content: adapter.validate_python(load_json(content))
