"""A strict reader of OpenAI chat-completion requests, from the rules that the API publishes; returns every violation."""

import json
import re
from typing import Any

ROLES = {"system", "developer", "user", "assistant", "tool"}
NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
NEEDS_RESPONSES = re.compile(r"^gpt-(?:5\.[6-9]|[6-9])")
"""Models whose tools chat completions reject with an effort: onyx-dot-app/onyx#15008, langflow-ai/langflow#14361."""


def violations(body: dict[str, Any]) -> list[str]:
    found: list[str] = []
    if not body.get("model"):
        found.append("model is missing")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*found, "messages is empty"]
    found += _order(messages)
    for index, message in enumerate(messages):
        found += [f"messages[{index}]: {problem}" for problem in _message(message)]
    for tool in body.get("tools", []):
        function = tool.get("function", {})
        if tool.get("type") != "function" or not NAME.match(function.get("name", "")):
            found.append(f"tool {tool}: no valid function")
        if function.get("parameters", {}).get("type") != "object":
            found.append(f"tool {function.get('name')}: parameters are no object schema")
    if body.get("tools") and body.get("reasoning_effort", "none") != "none" and NEEDS_RESPONSES.search(body["model"]):
        found.append("Function tools with reasoning_effort are not supported in /v1/chat/completions")
    if "tools" in body and not body["tools"]:
        found.append("tools is empty")
    if body.get("tool_choice") not in (None, "auto") and not body.get("tools"):
        found.append("tool_choice without tools")
    return found


def _order(messages: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    waiting: list[str] = []
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                found.append(f"messages[{index}]: answers no open call")
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            found.append(f"messages[{index}]: calls {waiting} are not answered before it")
            waiting = []
        if role in ("system", "developer") and any(
            other.get("role") not in ("system", "developer") for other in messages[:index]
        ):
            found.append(f"messages[{index}]: a system message in the middle")
        for call in message.get("tool_calls") or []:
            if call.get("id") in seen:
                found.append(f"messages[{index}]: call id {call.get('id')!r} is used twice")
            seen.add(call.get("id", ""))
            waiting.append(call.get("id", ""))
    if waiting:
        found.append(f"calls {waiting} are never answered")
    return found


def _message(message: dict[str, Any]) -> list[str]:
    role = message.get("role")
    found: list[str] = [] if role in ROLES else [f"role {role!r}"]
    content = message.get("content")
    if role == "assistant":
        if not content and not message.get("tool_calls"):
            found.append("neither content nor calls")
        if "tool_calls" in message and not message["tool_calls"]:
            found.append("tool_calls is empty")
        for call in message.get("tool_calls") or []:
            found += _call(call)
    elif not content:
        found.append("content is empty")
    if isinstance(content, list):
        for part in content:
            found += _part(part, role)
    elif content is not None and not isinstance(content, str):
        found.append("content is neither text nor parts")
    if role == "tool" and not message.get("tool_call_id"):
        found.append("tool_call_id is missing")
    return found


def _call(call: dict[str, Any]) -> list[str]:
    function = call.get("function", {})
    found = []
    if call.get("type") != "function":
        found.append("a call that is no function")
    if not call.get("id") or len(call["id"]) > 40:
        found.append(f"call id {call.get('id')!r}")
    if not NAME.match(function.get("name", "")):
        found.append(f"call name {function.get('name')!r}")
    try:
        if not isinstance(json.loads(function.get("arguments", "")), dict):
            found.append("arguments are no object")
    except (ValueError, TypeError):
        found.append("arguments are no JSON")
    return found


def _part(part: dict[str, Any], role: str | None) -> list[str]:
    match part.get("type"):
        case "text":
            return [] if part.get("text") else ["an empty text part"]
        case "image_url" | "file" if role == "user":
            return []
        case other:
            return [f"a part {other!r} in a message of {role}"]
