"""A strict reader of OpenAI Responses requests, from the types of its SDK and the errors of the API; returns every violation."""

import json
import re
from typing import Any

from tests.support.provider import reasoning_efforts

NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
FIELDS = {
    *("model", "input", "instructions", "stream", "store", "include", "tools", "tool_choice", "reasoning", "text"),
    *("max_output_tokens", "parallel_tool_calls", "prompt_cache_key", "temperature", "top_p", "service_tier", "user"),
}
LONGEST_ID = 64
LEAST_OUTPUT = 16


def violations(body: dict[str, Any]) -> list[str]:
    found = [f"field {name!r}" for name in body if name not in FIELDS]
    if not body.get("model"):
        found.append("model is missing")
    if body.get("store") is not False:
        found.append("the response would be stored")
    if body.get("max_output_tokens", LEAST_OUTPUT) < LEAST_OUTPUT:
        found.append(f"max_output_tokens {body['max_output_tokens']}")
    if (effort := body.get("reasoning", {}).get("effort")) is not None:
        found += reasoning_efforts.violations(body["model"], effort)
    if "instructions" in body and not body["instructions"].strip():
        found.append("instructions are empty")
    items = body.get("input")
    if not isinstance(items, list) or not items:
        return [*found, "input is empty"]
    for index, item in enumerate(items):
        found += [f"input[{index}]: {problem}" for problem in _item(item)]
    return found + _pairs(items) + _reasoning(items) + _tools(body)


def _tools(body: dict[str, Any]) -> list[str]:
    found: list[str] = []
    searches = {"type": "web_search"} in body.get("tools", [])
    if any(item.get("type") == "web_search_call" for item in body["input"]) and not searches:
        found.append("a search in the history, and none among the tools")
    for tool in body.get("tools", []):
        if tool == {"type": "web_search"}:
            continue
        if tool.get("type") != "function" or not NAME.match(tool.get("name", "")):
            found.append(f"tool {tool}: no valid function")
        if tool.get("parameters", {}).get("type") != "object" or tool.get("strict") is not False:
            found.append(f"tool {tool.get('name')}: parameters are no object schema, or strict")
    if "tools" in body and not body["tools"]:
        found.append("tools is empty")
    if body.get("tool_choice") not in (None, "auto") and not body.get("tools"):
        found.append("tool_choice without tools")
    return found


def _item(item: dict[str, Any]) -> list[str]:
    match item.get("type"):
        case "message" if item.get("role") == "user":
            return _content(item.get("content"), allowed={"input_text", "input_image", "input_file"})
        case "message" if item.get("role") == "assistant":
            good = isinstance(item.get("content"), str) and item["content"].strip() and "id" not in item
            return [] if good else [f"message {item}"]
        case "reasoning":
            good = item.get("encrypted_content") and isinstance(item.get("summary"), list)
            empty = any(part.get("type") != "summary_text" or not part.get("text") for part in item.get("summary", []))
            return [] if good and not empty else ["reasoning that cannot be read again"]
        case "function_call":
            return _call(item)
        case "web_search_call":
            kinds = {"search", "open_page", "find_in_page"}
            good = item.get("id", "").startswith("ws_") and item.get("action", {}).get("type") in kinds
            return [] if good and item.get("status") in ("completed", "failed") else [f"search {item}"]
        case "function_call_output":
            if isinstance(item.get("output"), str):
                return []
            return _content(item.get("output"), allowed={"input_text", "input_image", "input_file"})
        case other:
            return [f"an item {other!r} of {item.get('role')}"]


def _call(item: dict[str, Any]) -> list[str]:
    found = []
    if not item.get("call_id") or len(item["call_id"]) > LONGEST_ID:
        found.append(f"call_id {item.get('call_id')!r}")
    if not NAME.match(item.get("name", "")):
        found.append(f"call name {item.get('name')!r}")
    try:
        if not isinstance(json.loads(item.get("arguments", "")), dict):
            found.append("arguments are no object")
    except (ValueError, TypeError):
        found.append("arguments are no JSON")
    return found


def _content(content: object, *, allowed: set[str]) -> list[str]:
    if not isinstance(content, list) or not content:
        return ["content is empty"]
    found: list[str] = []
    for part in content:
        kind = part.get("type")
        if kind not in allowed:
            found.append(f"a part {kind!r}")
        elif kind == "input_text" and not part.get("text"):
            found.append("an empty text part")
        elif kind == "input_image" and not (part.get("image_url", "").startswith("data:image/") and part.get("detail")):
            found.append("an image without data")
        elif kind == "input_file" and not (part.get("file_data", "").startswith("data:") and part.get("filename")):
            found.append("a file without data")
    return found


def _pairs(items: list[dict[str, Any]]) -> list[str]:
    """Check that every call has one output after it, before the next message of the user, and every output its call."""
    found: list[str] = []
    seen: set[str] = set()
    open_calls: list[str] = []
    for index, item in enumerate(items):
        match item.get("type"):
            case "function_call":
                if item.get("call_id") in seen:
                    found.append(f"input[{index}]: call_id {item.get('call_id')!r} is used twice")
                seen.add(item.get("call_id", ""))
                open_calls.append(item.get("call_id", ""))
            case "function_call_output":
                if item.get("call_id") in open_calls:
                    open_calls.remove(item["call_id"])
                else:
                    found.append(f"input[{index}]: no tool call found for this output")
            case "message" if item.get("role") == "user" and open_calls:
                found.append(f"input[{index}]: calls {open_calls} are not answered before it")
                open_calls = []
            case _:
                pass
    return [*found, f"calls {open_calls} are never answered"] if open_calls else found


def _reasoning(items: list[dict[str, Any]]) -> list[str]:
    """Check that reasoning is followed by more of it or by what it led to, and that its IDs are unique."""
    found: list[str] = []
    seen: set[str] = set()
    for index, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        after = items[index + 1] if index + 1 < len(items) else {}
        leads = (
            after.get("type") in ("reasoning", "function_call", "web_search_call") or after.get("role") == "assistant"
        )
        if not leads:
            found.append(f"input[{index}]: reasoning without its required following item")
        if item.get("id") in seen:
            found.append(f"input[{index}]: duplicate item {item.get('id')!r}")
        if item.get("id"):
            seen.add(item["id"])
    return found
