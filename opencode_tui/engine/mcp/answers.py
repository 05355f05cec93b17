"""Pure: the answers of MCP servers in the form that the protocol demands, so that one wrong part costs that part only.

The SDK checks an answer as a whole: one tool with an odd schema would cost all tools of its server. So each answer passes
`repair_answer` first, which keeps of a part only the fields that are used, and those only where they are what they must be.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from msgspec import Struct

from opencode_tui.engine.mcp.schema import repair_schema
from opencode_tui.schema.record import JsonObject

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of the protocol in which a connection begins with `initialize`, oldest first."""

_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""The names of the lists by the methods that ask for them."""

NOTHING_ANNOUNCED: JsonObject = {"tools": {}, "prompts": {}, "resources": {}}
"""What a server is asked for that does not say what it has."""

TASK_KEY = "opencode-tui/task"
"""Where the answer to a call that continues as a task of the server has its identifier, in `_meta`."""

_SHOWN_FAULTS = 3
"""Faults of one schema that are named."""


class Answer(Struct, frozen=True):
    """An answer in the form of the protocol, and a line for each part that is left out or changed."""

    result: JsonObject
    faults: tuple[str, ...] = ()


def repair_answer(method: str, result: JsonObject) -> Answer:
    """Return the answer to a request; one of another kind than `complete`, or to a method that is not known here, as it is."""
    if result.get("resultType") not in (None, "complete"):
        return Answer(result)
    if method in _LISTS:
        return _list(method, result)
    repair = _REPAIRS.get(method)
    return Answer(result) if repair is None else repair(result)


def _list(method: str, result: JsonObject) -> Answer:
    key = _LISTS[method]
    given = result.get(key)
    faults: list[str] = []
    if isinstance(given, dict):  # by name
        members = [
            {"name": name, **cast("JsonObject", one)} if isinstance(one, dict) else one
            for name, one in cast("JsonObject", given).items()
        ]
    elif isinstance(given, list):
        members = cast("list[Any]", given)
    else:
        members = []
        if given is not None:
            faults.append(f"its answer to {method} has no list `{key}`")
    kept: list[JsonObject] = []
    for number, member in enumerate(members, 1):
        if not isinstance(member, dict):
            faults.append(f"{_WORDS[key]} {number} of its list is no object, so it is left out")
            continue
        one = _MEMBERS[key](cast("JsonObject", member), number, faults)
        if one is not None:
            kept.append(one)
    cursor = result.get("nextCursor")
    following = {"nextCursor": cursor} if isinstance(cursor, str) and cursor else {}
    return Answer({**_frame(result), key: kept, **following}, tuple(faults))


def _frame(result: JsonObject) -> JsonObject:
    """Return what the newest protocol demands of each answer."""
    ttl, scope = result.get("ttlMs"), result.get("cacheScope")
    return {
        "resultType": "complete",
        "ttlMs": ttl if isinstance(ttl, int) and not isinstance(ttl, bool) and ttl >= 0 else 0,
        "cacheScope": scope if scope in ("public", "private") else "private",
    }


def _tool(given: JsonObject, number: int, faults: list[str]) -> JsonObject | None:
    name = given.get("name")
    if not isinstance(name, str):
        faults.append(f"tool {number} of its list has no name, so it is left out")
        return None
    repaired = repair_schema(given.get("inputSchema", given.get("input_schema", given.get("parameters"))))
    if repaired.faults:
        shown = ", ".join(repaired.faults[:_SHOWN_FAULTS])
        more = f" and {len(repaired.faults) - _SHOWN_FAULTS} more" if len(repaired.faults) > _SHOWN_FAULTS else ""
        is_whole = repaired.faults[0].startswith("its ")
        faults.append(f"tool {name}: {shown}" if is_whole else f"tool {name}: its schema is used without {shown}{more}")
    execution = given.get("execution")
    support: Any = cast("JsonObject", execution).get("taskSupport") if isinstance(execution, dict) else None
    about = {"execution": {"taskSupport": support}} if support in ("optional", "required", "forbidden") else {}
    title = given.get("title")
    if not isinstance(title, str) and isinstance(annotations := given.get("annotations"), dict):
        title = cast("JsonObject", annotations).get("title")
    return {
        "name": name,
        **_texts({**given, "title": title}, "title", "description"),
        "inputSchema": repaired.schema,
        **about,
    }


def _prompt(given: JsonObject, number: int, faults: list[str]) -> JsonObject | None:
    name = given.get("name")
    if not isinstance(name, str):
        faults.append(f"prompt {number} of its list has no name, so it is left out")
        return None
    written = given.get("arguments")
    arguments: list[JsonObject] = []
    for one in cast("list[Any]", written) if isinstance(written, list) else []:
        argument = cast("JsonObject", one) if isinstance(one, dict) else {}
        if isinstance(argument.get("name"), str):
            needed = argument.get("required") is True
            arguments.append({"name": argument["name"], **_texts(argument, "description"), "required": needed})
        else:
            faults.append(f"prompt {name}: an argument has no name, so it is left out")
    return {"name": name, **_texts(given, "title", "description"), "arguments": arguments}


def _resource(given: JsonObject, number: int, faults: list[str]) -> JsonObject | None:
    return _addressed(given, number, faults, "uri", "resource")


def _template(given: JsonObject, number: int, faults: list[str]) -> JsonObject | None:
    return _addressed(given, number, faults, "uriTemplate", "resource template")


def _addressed(given: JsonObject, number: int, faults: list[str], key: str, noun: str) -> JsonObject | None:
    address = given.get(key)
    if not isinstance(address, str) or not address:
        faults.append(f"{noun} {number} of its list has no `{key}`, so it is left out")
        return None
    name = given.get("name")
    return {
        key: address,
        "name": name if isinstance(name, str) and name else address,
        **_texts(given, "title", "description", "mimeType"),
    }


def _texts(given: JsonObject, *names: str) -> JsonObject:
    return {name: given[name] for name in names if isinstance(given.get(name), str)}


_MEMBERS: Mapping[str, Callable[[JsonObject, int, list[str]], JsonObject | None]] = {
    "tools": _tool,
    "prompts": _prompt,
    "resources": _resource,
    "resourceTemplates": _template,
}
_WORDS = {"tools": "tool", "prompts": "prompt", "resources": "resource", "resourceTemplates": "resource template"}


def _initialize(result: JsonObject) -> Answer:
    faults: list[str] = []
    version = result.get("protocolVersion")
    if version not in VERSIONS:
        used = _nearest(version)
        named = f"names the protocol {version!r}" if isinstance(version, str) else "names no version of the protocol"
        faults.append(f"it {named}; {used} is used")
        version = used
    info = result.get("serverInfo")
    about = cast("JsonObject", info) if isinstance(info, dict) else {}
    return Answer(
        {
            "protocolVersion": version,
            "capabilities": _capabilities(result.get("capabilities")),
            "serverInfo": {"name": "unknown", "version": "unknown", **_texts(about, "name", "title", "version")},
            **_instructions(result),
        },
        tuple(faults),
    )


def _discover(result: JsonObject) -> Answer:
    versions = result.get("supportedVersions")
    if not isinstance(versions, list):
        return Answer(result)  # no server of the newest protocol: it is asked as an older one
    known = [one for one in cast("list[Any]", versions) if isinstance(one, str)]
    meta = {"_meta": result["_meta"]} if isinstance(result.get("_meta"), dict) else {}
    return Answer(
        {
            **_frame(result),
            **meta,
            "supportedVersions": known,
            "capabilities": _capabilities(result.get("capabilities")),
            **_instructions(result),
        }
    )


def _instructions(result: JsonObject) -> JsonObject:
    given = result.get("instructions")
    if isinstance(given, list):
        given = "\n".join(one for one in cast("list[Any]", given) if isinstance(one, str))
    return {"instructions": given} if isinstance(given, str) else {}


def _nearest(version: Any) -> str:
    """Return the newest version that is not newer than another one; dates are written so that texts compare as they do."""
    older = [one for one in VERSIONS if isinstance(version, str) and version[:1] == "2" and one <= version]
    if older:
        return older[-1]
    return VERSIONS[0] if isinstance(version, str) and version[:1] in ("1", "2") else VERSIONS[-1]


def _capabilities(given: Any) -> JsonObject:
    """Return what a server has of what is used here; one that says nothing about it is asked for all of it."""
    named = cast("JsonObject", given) if isinstance(given, dict) else {}
    found: JsonObject = {}
    for name in NOTHING_ANNOUNCED:
        about = named.get(name)
        if isinstance(about, dict):
            options = cast("JsonObject", about)
            found[name] = {
                key: options[key] for key in ("listChanged", "subscribe") if isinstance(options.get(key), bool)
            }
        elif about:
            found[name] = {}
    return found or {name: {} for name in NOTHING_ANNOUNCED}


def _call(result: JsonObject) -> Answer:
    task = result.get("task")
    if "content" not in result and isinstance(task, dict):
        number: Any = cast("JsonObject", task).get("taskId")
        if isinstance(number, str):
            return Answer({**_frame(result), "_meta": {TASK_KEY: number}, "content": []})
    data = result.get("structuredContent")
    more: JsonObject = {"structuredContent": data} if isinstance(data, dict) else {}
    content = _blocks(result.get("content"))
    if data is not None and not more:
        content.append(_said(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)))
    if "content" not in result and data is None:
        content += [_said(one) for one in _older(result)]
    return Answer({**_frame(result), "content": content, **more, "isError": _is_true(result.get("isError"))})


def _older(result: JsonObject) -> Iterable[str]:
    """Yield the result of the first version of the protocol, and of servers that write one of their own."""
    for key in ("toolResult", "result", "text", "output", "error"):
        if key in result:
            value = result[key]
            yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_true(value: Any) -> bool:
    return value is True or value == "true"


def _get_prompt(result: JsonObject) -> Answer:
    messages: list[JsonObject] = []
    given = result.get("messages")
    for one in cast("list[Any]", given) if isinstance(given, list) else []:
        message = cast("JsonObject", one) if isinstance(one, dict) else {"content": one}
        role = message.get("role")
        messages += [
            {"role": role if role in ("user", "assistant") else "user", "content": block}
            for block in _blocks(message.get("content"))
        ]
    return Answer({**_frame(result), **_texts(result, "description"), "messages": messages})


def _read(result: JsonObject) -> Answer:
    given = result.get("contents")
    members = cast("list[Any]", given) if isinstance(given, list) else [given]
    found = [one for member in members if (one := _contents(member)) is not None]
    return Answer({**_frame(result), "contents": found})


_REPAIRS: Mapping[str, Callable[[JsonObject], Answer]] = {
    "initialize": _initialize,
    "server/discover": _discover,
    "tools/call": _call,
    "tasks/result": _call,
    "prompts/get": _get_prompt,
    "resources/read": _read,
}


def _blocks(given: Any) -> list[JsonObject]:
    """Return the blocks of a content, which must be a list of them; one that is of no known kind as a text that says so."""
    members = cast("list[Any]", given) if isinstance(given, list) else [] if given is None else [given]
    return [_block(one) for one in members]


def _block(given: Any) -> JsonObject:
    if not isinstance(given, dict):
        return _said(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))
    block = cast("JsonObject", given)
    kind = block.get("type")
    if isinstance(block.get("text"), str) and kind in ("text", None):
        return _said(block["text"])
    if kind in ("image", "audio") and isinstance(block.get("data"), str):
        mime = block.get("mimeType")
        kinds = {"image": "image/png", "audio": "audio/wav"}
        return {"type": kind, "data": block["data"], "mimeType": mime if isinstance(mime, str) else kinds[str(kind)]}
    if kind == "resource" and (contents := _contents(block.get("resource"))) is not None:
        return {"type": "resource", "resource": contents}
    if kind == "resource_link" and isinstance(block.get("uri"), str):
        name = block.get("name")
        return {
            "type": "resource_link",
            "uri": block["uri"],
            "name": name if isinstance(name, str) else block["uri"],
            **_texts(block, "title", "description", "mimeType"),
        }
    if kind == "text":
        return _said(json.dumps(block.get("text"), ensure_ascii=False))
    return _said(f"(content of the kind {kind} is not supported)" if isinstance(kind, str) else json.dumps(block))


def _said(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _contents(given: Any) -> JsonObject | None:
    """Return the contents of a resource, None where there are none."""
    if isinstance(given, str):
        return {"uri": "", "text": given}
    if not isinstance(given, dict):
        return None
    contents = cast("JsonObject", given)
    uri = contents.get("uri")
    about = {"uri": uri if isinstance(uri, str) else "", **_texts(contents, "mimeType")}
    if isinstance(contents.get("blob"), str) and not isinstance(contents.get("text"), str):
        return {**about, "blob": contents["blob"]}
    text = contents.get("text")
    if text is None:
        return None
    return {**about, "text": text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)}
