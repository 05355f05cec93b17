"""Makes our records of OpenCode 2's messages: rows of `session_message`, and inputs that it had not read yet.

There a message holds its contents, and the changes of agent and model are messages too; here a message has parts, and each names
its agent and model. Ids are kept, so that a later import finds its messages again: a request that waited stands where it was
written, as those of OpenCode 1 do, and its answer names it. The shapes are the types `Session.Message.*` of the preview's OpenAPI
document, tried with stores that its engine wrote, and those of the released version, documented, not tried.
"""

from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Literal, TypeVar, cast

import msgspec
from msgspec import Struct

from opencode_tui.extras.importing.ids import DerivedIds
from opencode_tui.extras.importing.source import Problem, Problems, check_message, short_title
from opencode_tui.schema.json_text import JsonError, decode_foreign, shallow
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.tool_state import ABORTED_TOOL

AnyStruct = TypeVar("AnyStruct", bound=Struct)

UNKNOWN_MODEL = "unknown"
"""Provider and model of a message for which the store names none."""

RAN_BY_USER = "The user ran this command line; its output follows."

_DEFAULT_VARIANT = "default"
_FAILED = "error"
"""The finish reason of a step that failed; here such a step has an error and no reason."""

_FILE_TOOLS = frozenset({"read", "write", "edit"})
"""Tools whose file is named `path` there and `filePath` here."""

_TOOLS = {"shell": "bash", "subagent": "task", "patch": "apply_patch"}
"""Tools that have another name in the released version than here."""


class V2Row(Struct, frozen=True):
    """A row of `session_message`, or an input that is not among them: `kind` is then `user`. Times are ms since 1970."""

    id: str
    kind: str
    created: int
    data: str


class _Model(Struct, frozen=True, rename="camel"):
    id: str
    provider_id: str = msgspec.field(name="providerID")
    variant: str = _DEFAULT_VARIANT


class _Time(Struct, frozen=True):
    created: float | None = None
    ran: float | None = None
    completed: float | None = None
    pruned: float | None = None


class _Words(Struct, frozen=True):
    """Where the prompt names something: the characters from `start` to `end`."""

    start: int
    end: int
    text: str


class _Source(Struct, frozen=True):
    """In the preview the words of the prompt; in the released version where `data` came from, the words are in `mention`."""

    start: int = 0
    end: int = 0
    text: str = ""
    uri: str = ""

    @property
    def words(self) -> _Words | None:
        return _Words(self.start, self.end, self.text) if self.text else None


class _File(Struct, frozen=True):
    uri: str = ""
    mime: str = "application/octet-stream"
    name: str | None = None
    data: str = ""
    source: _Source = _Source()
    mention: _Words | None = None

    def __post_init__(self) -> None:
        if not self.uri and not self.data:
            raise ValueError("a file without an address and without data")


class _Agent(Struct, frozen=True):
    name: str
    source: _Words | None = None
    mention: _Words | None = None


class _Skill(Struct, frozen=True):
    text: str = ""


class _User(Struct, frozen=True):
    text: str = ""
    files: list[_File] = []
    agents: list[_Agent] = []
    skills: list[_Skill] = []


class _Said(Struct, frozen=True):
    """A text of the program for the model."""

    text: str


class _Output(Struct, frozen=True):
    output: str = ""


class _Shell(Struct, frozen=True, rename="camel"):
    command: str
    output: str | _Output = ""
    call_id: str = msgspec.field(name="callID", default="")
    shell_id: str = msgspec.field(name="shellID", default="")
    time: _Time = _Time()


class _Compaction(Struct, frozen=True):
    summary: str = ""
    recent: str = ""
    reason: Literal["auto", "manual"] = "manual"
    status: Literal["running", "completed", "failed"] = "completed"


class _Switch(Struct, frozen=True):
    agent: str | None = None
    model: _Model | None = None


class _States(Struct, frozen=True):
    """The states of the files around a step; `files` are relative to the work tree."""

    start: str | None = None
    end: str | None = None
    files: list[str] = []


class _Error(Struct, frozen=True):
    message: str = ""
    type: str = "unknown"


class _Answer(Struct, frozen=True):
    agent: str
    model: _Model
    content: list[JsonObject] = []
    snapshot: _States = _States()
    finish: str | None = None
    cost: float = 0.0
    tokens: JsonObject | None = None
    error: _Error | None = None
    time: _Time = _Time()


class _Text(Struct, frozen=True):
    text: str


class _Reasoning(Struct, frozen=True, rename="camel"):
    text: str
    provider_metadata: JsonObject | None = None
    time: _Time = _Time()


class _Provider(Struct, frozen=True):
    executed: bool = False
    metadata: JsonObject | None = None


class _State(Struct, frozen=True):
    status: Literal["pending", "streaming", "running", "completed", "error"]
    input: JsonObject | str = ""
    content: list[JsonObject] = []
    structured: JsonObject | None = None
    metadata: JsonObject | None = None
    attachments: list[_File] = []
    error: _Error = _Error()


class _Tool(Struct, frozen=True):
    id: str
    name: str
    state: _State
    provider: _Provider = _Provider()
    time: _Time = _Time()


class V2Session:
    """Makes the messages of one session in the order of the calls.

    `folder` is where it runs, `root` its work tree. `agent` and `model` (JSON) are those of the session's row: of its first request
    when no answer names them. What cannot be read is added to `problems` under `path`.
    """

    def __init__(
        self,
        session_id: str,
        *,
        folder: str,
        root: str,
        agent: str | None,
        model: str | None,
        path: str,
        problems: Problems,
    ) -> None:
        self._session_id = session_id
        self._folder = folder
        self._root = root
        self._path = path
        self._problems = problems
        self._request = ""
        self._agent = agent or "build"
        self._model = _model_of(model) or _Model(UNKNOWN_MODEL, UNKNOWN_MODEL)

    def messages(self, rows: Sequence[V2Row]) -> Iterator[MessageWithParts]:
        """Yield the messages of rows in the order in which they were read, which their ids need not have."""
        for at, row in enumerate(rows):
            if row.kind == "user":
                self._look_ahead(rows[at + 1 :])
            try:
                yield from self._of_row(row)
            except (JsonError, msgspec.ValidationError) as error:
                self._problems.append(Problem(self._path, row.id, f"not a valid message: {error}"))

    def _look_ahead(self, rows: Sequence[V2Row]) -> None:
        """Take the agent and model of the answer to a request; without one they are those of before."""
        for row in rows:
            if row.kind in ("agent-switched", "model-switched"):
                return
            if row.kind == "assistant":
                with suppress(JsonError, msgspec.ValidationError):  # reported when its turn comes
                    self._switch(_read(row.data, _Switch))
                return

    def _switch(self, switch: _Switch) -> None:
        self._agent = switch.agent or self._agent
        self._model = switch.model or self._model

    def _of_row(self, row: V2Row) -> Iterator[MessageWithParts]:
        match row.kind:
            case "user":
                yield from self._user(row, _user_parts(_read(row.data, _User)))
            case "synthetic":
                yield from self._user(row, [_text(_read(row.data, _Said).text, synthetic=True)])
            case "skill":
                yield from self._user(row, [_text(_read(row.data, _Said).text, synthetic=True)])
            case "system" | "location-switched" | "idle":
                pass  # what changed in the surroundings at that time; the next request says what is true then
            case "agent-switched" | "model-switched":
                self._switch(_read(row.data, _Switch))
            case "shell":
                yield from self._shell(row, _read(row.data, _Shell))
            case "compaction":
                yield from self._compaction(row, _read(row.data, _Compaction))
            case "assistant":
                yield from self._answer(row, _read(row.data, _Answer))
            case _:
                self._problems.append(Problem(self._path, row.id, f"an unknown kind of message: {row.kind[:40]}"))

    def _user(self, row: V2Row, parts: Sequence[JsonObject]) -> Iterator[MessageWithParts]:
        info: JsonObject = {
            "role": "user",
            "id": self._ids(row)[0],
            "time": {"created": row.created},
            "agent": self._agent,
            "model": {"providerID": self._model.provider_id, "modelID": self._model.id},
        }
        if self._model.variant != _DEFAULT_VARIANT:
            info["variant"] = self._model.variant
        self._request = info["id"]
        yield from self._checked(row, info, parts)

    def _shell(self, row: V2Row, shell: _Shell) -> Iterator[MessageWithParts]:
        yield from self._user(row, [_text(RAN_BY_USER, synthetic=True)])
        time = {"start": row.created, "end": _ms(shell.time.completed, row.created)}
        output = shell.output if isinstance(shell.output, str) else shell.output.output
        state = {"status": "completed", "input": {"command": shell.command}, "output": output, "time": time}
        call_id = shell.call_id or shell.shell_id or row.id
        call = {"type": "tool", "callID": call_id, "tool": "bash", "state": {**state, "title": shell.command}}
        info = self._step(self._ids(row)[1], row.created, time["end"])
        yield from self._checked(row, info, [call])

    def _compaction(self, row: V2Row, compaction: _Compaction) -> Iterator[MessageWithParts]:
        if compaction.status != "completed":
            return  # it replaced nothing
        yield from self._user(row, [{"type": "compaction", "auto": compaction.reason == "auto"}])
        info = self._step(self._ids(row)[1], row.created, row.created)
        texts = [text for text in (compaction.summary, compaction.recent) if text.strip()]
        info |= {"summary": True, "mode": "compaction", "agent": "compaction", "finish": "stop"}
        yield from self._checked(row, info, [_text(text) for text in texts])

    def _answer(self, row: V2Row, answer: _Answer) -> Iterator[MessageWithParts]:
        self._switch(_Switch(answer.agent, answer.model))
        completed = answer.time.completed
        info = self._step(self._ids(row)[0], row.created, None if completed is None else int(completed))
        parts: list[JsonObject] = [{"type": "step-start", **_state("snapshot", answer.snapshot.start)}]
        for item in answer.content:
            try:
                parts += _content(item, row.created)
            except msgspec.ValidationError as error:
                self._problems.append(Problem(self._path, row.id, f"not a valid part: {error}"))
        cost: JsonObject = {"cost": answer.cost} | ({"tokens": answer.tokens} if answer.tokens else {})
        info |= cost
        if answer.error is not None:
            info["error"] = _stored_error(answer.error)
        if answer.finish and answer.finish != _FAILED:
            info["finish"] = answer.finish
            end: JsonObject = {"type": "step-finish", "reason": answer.finish, "tokens": {}, **cost}
            parts.append(end | _state("snapshot", answer.snapshot.end))
        if answer.snapshot.start and answer.snapshot.files:
            files = [f"{self._root.rstrip('/')}/{file}" for file in answer.snapshot.files]
            parts.append({"type": "patch", "hash": answer.snapshot.start, "files": files})
        yield from self._checked(row, info, parts)

    def _step(self, message_id: str, created: int, completed: int | None) -> JsonObject:
        time: JsonObject = {"created": created} | ({} if completed is None else {"completed": completed})
        info: JsonObject = {
            "role": "assistant",
            "id": message_id,
            "parentID": self._request,
            "providerID": self._model.provider_id,
            "modelID": self._model.id,
            "mode": self._agent,
            "agent": self._agent,
            "path": {"cwd": self._folder, "root": self._root},
            "time": time,
        }
        return info | ({} if self._model.variant == _DEFAULT_VARIANT else {"variant": self._model.variant})

    def _ids(self, row: V2Row) -> tuple[str, str]:
        """Return the id of a row's message, and one right behind it for its answer; an id that is none is replaced."""
        ids = DerivedIds(self._session_id)
        own = row.id if ids.keeps(row.id, row.created) else ids.message(row.id, row.created)
        return own, ids.message(f"{row.id}.answer", row.created)

    def _checked(self, row: V2Row, info: JsonObject, parts: Sequence[JsonObject]) -> Iterator[MessageWithParts]:
        named: JsonObject = {"sessionID": self._session_id, "messageID": info["id"]}
        ids = DerivedIds(self._session_id)
        with_ids: list[tuple[str, JsonObject]] = [
            (row.id, {**part, **named, "id": ids.part(f"{info['id']}.{at}", row.created)})
            for at, part in enumerate(parts)
        ]
        info = {**info, "sessionID": self._session_id}
        message = check_message(info, with_ids, path=self._path, line=row.id, problems=self._problems)
        if message is not None:
            yield message


def title_of(data: str) -> str:
    """Return the first line of a request as a title; empty when it has none or is damaged."""
    try:
        return short_title(_read(data, _User).text)
    except (JsonError, msgspec.ValidationError):
        return ""  # reported with the message


def _read(data: str, shape: type[AnyStruct]) -> AnyStruct:
    """Return the data of a row. Raises JsonError, or ValidationError of msgspec."""
    return msgspec.convert(decode_foreign(data), shape)


def _model_of(data: str | None) -> _Model | None:
    try:
        return _read(data, _Model) if data else None
    except (JsonError, msgspec.ValidationError):
        return None  # only a default


def _ms(time: float | None, default: int) -> int:
    return default if time is None else int(time)


def _state(name: str, state: str | None) -> JsonObject:
    return {name: state} if state else {}


def _text(text: str, **marks: bool) -> JsonObject:
    return {"type": "text", "text": text, **marks}


def _user_parts(user: _User) -> list[JsonObject]:
    parts = [_text(user.text)] if user.text else []
    parts += [_file(file) for file in user.files]
    parts += [_text(text, synthetic=True) for file in user.files if (text := _text_of(file))]
    parts += [_text(skill.text, synthetic=True) for skill in user.skills if skill.text]
    for agent in user.agents:
        part: JsonObject = {"type": "agent", "name": agent.name}
        words = agent.mention or agent.source
        parts.append(part | ({"source": _place(words)} if words else {}))
    return parts


def _text_of(file: _File) -> str:
    """Return the text of a file that the store holds itself; empty for a picture."""
    if not file.data or not file.mime.startswith("text/"):
        return ""
    try:
        return b64decode(file.data, validate=True).decode("utf-8", "replace")
    except ValueError:
        return ""  # not base64


def _file(file: _File) -> JsonObject:
    address = file.uri or f"data:{file.mime};base64,{file.data}"
    part: JsonObject = {"type": "file", "mime": file.mime, "url": address}
    if file.name:
        part["filename"] = file.name
    if words := file.mention or file.source.words:
        path = file.name or file.source.uri or file.uri
        part["source"] = {"type": "file", "path": path, "text": _place(words)}
    return part


def _place(words: _Words) -> JsonObject:
    return {"value": words.text, "start": words.start, "end": words.end}


def _stored_error(error: _Error) -> JsonObject:
    name = "MessageAbortedError" if error.type == "aborted" else "UnknownError"
    return {"name": name, "data": {"message": error.message}}


def _content(item: JsonObject, created: int) -> Iterator[JsonObject]:
    """Yield the part of an item of an answer's content; raises ValidationError of msgspec."""
    match item.get("type"):
        case "text":
            if (said := msgspec.convert(item, _Text)).text:
                yield _text(said.text)
        case "reasoning":
            thought = msgspec.convert(item, _Reasoning)
            start = _ms(thought.time.created, created)
            part: JsonObject = {"type": "reasoning", "text": thought.text}
            part["time"] = {"start": start, "end": _ms(thought.time.completed, start)}
            yield part | ({"metadata": thought.provider_metadata} if thought.provider_metadata else {})
        case "tool":
            yield _call(msgspec.convert(item, _Tool), created)
        case kind:
            raise msgspec.ValidationError(f"an unknown kind of content: {str(kind)[:40]}")


def _call(call: _Tool, created: int) -> JsonObject:
    name = _TOOLS.get(call.name, call.name)
    part: JsonObject = {"type": "tool", "callID": call.id, "tool": name, "state": _call_state(call, created)}
    return part | ({"metadata": call.provider.metadata} if call.provider.metadata else {})


def _call_state(call: _Tool, created: int) -> JsonObject:
    """Return the state of a call as ours: its contents are one text and attachments, its times are those of its work."""
    state = call.state
    start = _ms(call.time.ran, _ms(call.time.created, created))
    if isinstance(state.input, str) or state.status in ("pending", "streaming"):
        return {"status": "pending", "input": {}, "raw": state.input if isinstance(state.input, str) else ""}
    given = {_name(call.name, name): value for name, value in state.input.items()}
    if state.status == "running":
        return {"status": "running", "input": given, "time": {"start": start}}
    time: JsonObject = {"start": start, "end": _ms(call.time.completed, start)}
    if state.status == "error":
        message = state.error.message or ABORTED_TOOL
        return {"status": "error", "input": given, "error": message, "time": time}
    if call.time.pruned is not None:
        time["compacted"] = int(call.time.pruned)
    output, metadata = _output(state)
    files = [_file(file) for file in state.attachments] + [
        _file(msgspec.convert(item, _File)) for item in state.content if item.get("type") == "file"
    ]
    done: JsonObject = {"status": "completed", "input": given, "output": output, "title": "", "time": time}
    return done | {"metadata": metadata} | ({"attachments": files} if files else {})


def _name(tool: str, argument: str) -> str:
    return "filePath" if tool in _FILE_TOOLS and argument == "path" else argument


def _output(state: _State) -> tuple[str, JsonObject]:
    """Return what the model read of a call, and its details: the diff of an edit is where our own calls have it."""
    texts = [str(item["text"]) for item in state.content if item.get("type") == "text" and "text" in item]
    details = shallow(dict(state.structured or state.metadata or {}))
    if not texts and isinstance(details.get("content"), str):  # `read` has its file there alone
        texts = [details.pop("content")]
    files: object = details.get("files")
    patches = [_patch(file) for file in cast("list[object]", files)] if isinstance(files, list) else []
    if any(patches):
        details["diff"] = "".join(patches)
    return "\n".join(texts), details


def _patch(file: object) -> str:
    return str(cast(JsonObject, file).get("patch") or "") if isinstance(file, dict) else ""
