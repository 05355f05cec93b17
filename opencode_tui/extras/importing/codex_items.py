"""The items of a Codex session in order, from its three formats.

Since September 2025 a line is `{timestamp, type, payload}`; before, the items themselves were the lines; the first versions
wrote one JSON file. Going back in a conversation starts a new file that names the lines of an older one that come before it; for
some time it was an event in the same file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from opencode_tui.extras.importing.json_lines import (
    JsonLines,
    Line,
    as_count,
    as_objects,
    as_text,
    as_time,
    decode_object,
)
from opencode_tui.schema.error import StorageError
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

_FILE_LIMIT_BYTES = 64 * 1024 * 1024
_KINDS = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "token_usage_record"})
_EVENTS = frozenset({"token_count", "turn_aborted", "thread_rolled_back"})
_CHANGES = frozenset({"patch_apply_begin", "patch_apply_end"})
_OUTPUTS = frozenset(
    {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"}
)
_ANSWERS = frozenset({"token_count", "reasoning", "function_call", "custom_tool_call", "local_shell_call"})
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})


class Item(Struct, frozen=True):
    """An item: its file's number, its line, offset and size there, its kind and type, when it was made, the call it is of."""

    file: int
    line: int
    offset: int
    size: int
    kind: str
    type: str
    time: int
    call_id: str = ""


@dataclass(slots=True)
class Facts:
    """What the items say of the session."""

    id: str = ""
    directory: str = ""
    version: str = ""
    provider: str = ""
    created: int = 0
    title: str = ""
    prompt: str = ""
    parent: str = ""
    agent: str = ""
    is_talk: bool = False


class Items(Struct, frozen=True):
    """The items of a session, oldest first. `outputs` and `changes` are the items of a call's output and of its file changes.

    `went_back` has the items where the user went back, with the first item that no longer counts.
    """

    files: Sequence[JsonLines]
    items: Sequence[Item]
    facts: Facts
    outputs: Mapping[str, Item]
    changes: Mapping[str, Item]
    went_back: Mapping[int, int] = {}
    whole: Sequence[JsonObject] = ()

    def payload(self, item: Item) -> JsonObject:
        """Return what an item has; read from its file again."""
        if self.whole:
            return self.whole[item.offset]
        value = self.files[item.file].at(item.offset, item.size)
        return as_object(value.get("payload")) if "payload" in value else value

    def close(self) -> None:
        """Close the files."""
        for file in self.files:
            file.close()


def read_items(lineage: Sequence[tuple[JsonLines, int | None]]) -> Items:
    """Return the items of files that continue each other, the oldest first, each up to an ordinal."""
    items: list[Item] = []
    facts = Facts()
    for number, (file, end) in enumerate(lineage):
        is_newest = number == len(lineage) - 1
        own = Facts()
        for line in file.lines():
            ordinal = as_count(line.value.get("ordinal")) if "ordinal" in line.value else line.number - 1
            if end is not None and ordinal >= end:
                break
            item = _item(line, number, items[-1].time if items else own.created, own)
            if item is not None:
                items.append(item)
        if is_newest:
            own.prompt = facts.prompt or own.prompt
            own.is_talk |= facts.is_talk
            facts = own
        else:
            facts.prompt, facts.is_talk = facts.prompt or own.prompt, facts.is_talk or own.is_talk
    return _finished([file for file, _ in lineage], items, facts)


def read_whole(path: Path) -> Items:
    """Return the items of one JSON file. Raises StorageError."""
    try:
        with path.open("rb") as file:
            data = file.read(_FILE_LIMIT_BYTES + 1)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error
    value = (
        decode_object(data) if len(data) <= _FILE_LIMIT_BYTES else f"is larger than {_FILE_LIMIT_BYTES // 1024**2} MB"
    )
    if isinstance(value, str):
        raise StorageError(f"{path} {value}")
    session, found = as_object(value.get("session")), as_objects(value.get("items"))
    facts = Facts()
    _learn(facts, "session_meta", session)
    time = as_time(session.get("timestamp")) or 0
    facts.created = time
    items: list[Item] = []
    for number, payload in enumerate(found):
        line = Line(number + 1, number, 0, payload)
        item = _item(line, 0, items[-1].time if items else time, facts)
        if item is not None:
            items.append(item)
    return _finished([], items, facts, whole=found)


def _item(line: Line, file: int, before: int, facts: Facts) -> Item | None:
    """Return a line as an item, None for what is not used."""
    value = line.value
    is_wrapped = isinstance(value.get("payload"), dict)
    payload = as_object(value["payload"]) if is_wrapped else value
    kind = as_text(value.get("type")) if is_wrapped else _bare_kind(value)
    time = as_time(value.get("timestamp")) or before
    facts.created = facts.created or time
    _learn(facts, kind, payload)
    kind_of = as_text(payload.get("type"))
    if kind not in _KINDS or kind == "session_meta":
        return None
    call_id = as_text(payload.get("call_id"))
    if kind == "event_msg":
        item = as_object(payload.get("item"))
        if kind_of == "item_completed" and item.get("type") == "FileChange":
            kind_of, call_id = "patch_apply_end", as_text(item.get("id"))
        elif kind_of not in _EVENTS | _CHANGES:
            return None
    return Item(file, line.number, line.offset, line.size, kind, kind_of, time, call_id or as_text(payload.get("id")))


def _bare_kind(value: JsonObject) -> str:
    """Return the kind of a line of the format without payloads."""
    if "record_type" in value:
        return ""
    return "response_item" if isinstance(value.get("type"), str) else "session_meta" if "id" in value else ""


def _learn(facts: Facts, kind: str, payload: JsonObject) -> None:
    """Record what an item says of the session; the first description of a session is its own, later ones are copies."""
    if kind == "session_meta" and not facts.id:
        facts.id = as_text(payload.get("id"))
        facts.directory = as_text(payload.get("cwd"))
        facts.version = as_text(payload.get("cli_version"))
        facts.provider = as_text(payload.get("model_provider"))
        facts.created = as_time(payload.get("timestamp")) or facts.created
        spawned = as_object(as_object(as_object(payload.get("source")).get("subagent")).get("thread_spawn"))
        facts.parent = as_text(payload.get("parent_thread_id")) or as_text(spawned.get("parent_thread_id"))
        facts.agent = as_text(payload.get("agent_role")) or as_text(spawned.get("agent_role"))
    elif kind == "turn_context":
        facts.directory = facts.directory or as_text(payload.get("cwd"))
    elif kind == "event_msg":
        facts.title = as_text(payload.get("thread_name")) or facts.title
    elif kind == "response_item" and payload.get("type") == "message":
        facts.is_talk |= payload.get("role") == "assistant"
        if payload.get("role") == "user":
            texts = prompt_texts(payload)
            facts.is_talk |= bool(texts)
            facts.prompt = facts.prompt or next((text for text in texts if text.strip()), "")
            if not facts.directory:
                facts.directory = _early_directory(payload)
    elif kind == "response_item":
        facts.is_talk |= as_text(payload.get("type")) in CALLS


def _early_directory(payload: JsonObject) -> str:
    """Return the folder that an early version told the model."""
    for block in as_objects(payload.get("content")):
        text = as_text(block.get("text"))
        for head, tail in (("<cwd>", "</cwd>"), ("Current working directory: ", "\n")):
            if head in text:
                return text.partition(head)[2].partition(tail)[0].strip()
    return ""


_SYNTHETIC = (
    "<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions", "<turn_aborted>",
    "<user_shell_command>", "<subagent_notification>", "<permissions instructions>", "<skill>", "<skills_instructions>",
    "<collaboration_mode>", "<personality", "<ENVIRONMENT_CONTEXT>", "<hook_prompt", "<goal_context>", "<user_action>",
)  # fmt: skip


def is_synthetic(text: str) -> bool:
    """Return whether the program wrote a text of a user's message."""
    return text.lstrip().startswith(_SYNTHETIC)


def prompt_texts(payload: JsonObject) -> list[str]:
    """Return the texts that the user wrote in a message."""
    content = payload.get("content")
    blocks = [{"text": content}] if isinstance(content, str) else as_objects(content)
    texts = [as_text(block.get("text")) for block in blocks]
    return [text for text in texts if text and not is_synthetic(text) and text.strip()[:6] not in ("<image", "</imag")]


def _finished(
    files: Sequence[JsonLines], items: list[Item], facts: Facts, *, whole: Sequence[JsonObject] = ()
) -> Items:
    outputs: dict[str, Item] = {}
    changes: dict[str, Item] = {}
    for item in items:
        if item.kind == "response_item" and item.type in _OUTPUTS:
            outputs.setdefault(item.call_id, item)
        elif item.type in _CHANGES:
            changes.setdefault(item.call_id, item)
    found = Items(files, items, facts, outputs, changes, whole=whole)
    if not any(item.type == "thread_rolled_back" for item in items):
        return found
    return msgspec.structs.replace(found, went_back=_went_back(found))


def _went_back(found: Items) -> dict[int, int]:
    """Return where the user went back in the same file, each with the first item that no longer counts."""
    turns: list[int] = []
    starts: dict[int, int] = {}
    for at, item in enumerate(found.items):
        if item.kind == "response_item" and item.type == "message":
            payload = found.payload(item)
            if payload.get("role") == "user" and prompt_texts(payload):
                turns.append(at)
        elif item.type == "thread_rolled_back":
            count = min(as_count(found.payload(item).get("num_turns")), len(turns))
            if count:
                starts[at] = turns[-count]
                del turns[-count:]
    return starts


class Thread(Struct, frozen=True):
    """Items of one conversation, as indexes; `key` is the line where the user went back, empty for the first."""

    key: str
    items: Sequence[int]


def threads_of(found: Items) -> list[Thread]:
    """Return the conversations among the items: going back over an answer begins another one."""
    threads: list[Thread] = []
    key, path = "", list[int]()
    for at, item in enumerate(found.items):
        start = found.went_back.get(at)
        if start is None:
            path.append(at)
            continue
        left = [one for one in path if one >= start]
        if any(found.items[one].type in _ANSWERS for one in left):
            threads.append(Thread(key, path))
            key = str(item.line)
        path = [one for one in path if one < start]
    return [*threads, Thread(key, path)]
