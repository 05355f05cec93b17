"""A strict reader of Anthropic messages requests, from the rules that the API publishes; returns every violation."""

import re
from typing import Any

from tests.support.provider import reasoning_efforts

NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
MAX_CACHE_MARKS = 4
MIN_BUDGET = 1_024


def violations(body: dict[str, Any]) -> list[str]:
    found: list[str] = []
    if not body.get("model"):
        found.append("model is missing")
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        found.append("max_tokens is missing")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*found, "messages is empty"]
    if messages[0].get("role") != "user":
        found.append("the first message is not the user's")
    for index, message in enumerate(messages):
        if message.get("role") not in ("user", "assistant"):
            found.append(f"messages[{index}]: role {message.get('role')!r}")
        if index and message.get("role") == messages[index - 1].get("role"):
            found.append(f"messages[{index}]: two of {message.get('role')} in a row")
        found += [f"messages[{index}]: {problem}" for problem in _content(message, is_last=index == len(messages) - 1)]
    found += _pairs(messages)
    marks = sum("cache_control" in block for block in _blocks(body))
    if marks > MAX_CACHE_MARKS:
        found.append(f"{marks} cache marks")
    has_calls = any(block.get("type") in ("tool_use", "tool_result") for block in _blocks(body))
    if has_calls and not body.get("tools"):
        found.append("calls in the history and no tools")
    for tool in body.get("tools", []):
        if tool.get("type") == "web_search_20250305" and tool.get("name") == "web_search":
            continue
        if not NAME.match(tool.get("name", "")) or tool.get("input_schema", {}).get("type") != "object":
            found.append(f"tool {tool.get('name')!r}")
    return found + _thinking(body)


def _thinking(body: dict[str, Any]) -> list[str]:
    """Return what is wrong with the thinking: platform.claude.com, extended-thinking, adaptive-thinking and effort."""
    thinking = body.get("thinking", {})
    kind, budget, effort = (
        thinking.get("type"),
        thinking.get("budget_tokens"),
        body.get("output_config", {}).get("effort"),
    )
    found: list[str] = (
        [] if effort is None else reasoning_efforts.violations(body.get("model", ""), effort, "anthropic")
    )
    if kind not in (None, "enabled", "adaptive", "disabled") or (kind == "enabled") != (budget is not None):
        found.append(f"thinking {thinking}")
    if budget is not None and not MIN_BUDGET <= budget < body.get("max_tokens", 0):
        found.append(f"a budget of {budget} for max_tokens {body.get('max_tokens')}")
    if kind in ("enabled", "adaptive") and (
        {"temperature", "top_k"} & body.keys() or body.get("tool_choice", {}).get("type") == "any"
    ):
        found.append("thinking with a temperature or a forced tool")
    return found


def _blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    blocks = list(body.get("system") or [])
    for message in body.get("messages", []):
        if isinstance(message.get("content"), list):
            blocks += message["content"]
    return blocks


def _content(message: dict[str, Any], *, is_last: bool) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not content:
        return ["content is empty"]
    found: list[str] = []
    for position, block in enumerate(content):
        found += _block(block, message.get("role"))
        earlier = [one.get("type") for one in content[:position]]
        if block.get("type") == "tool_result" and set(earlier) - {"tool_result"}:
            found.append("a tool_result after other blocks")
    last = content[-1]
    if message.get("role") == "assistant":
        if last.get("type") in ("thinking", "redacted_thinking"):
            found.append("ends with a thought")
        if is_last and last.get("type") == "text" and last["text"] != last["text"].rstrip():
            found.append("a final answer that ends in white space")
    return found


def _block(block: dict[str, Any], role: str | None) -> list[str]:
    match block.get("type"):
        case "text":
            return [] if block.get("text", "").strip() else ["an empty text block"]
        case "thinking" if role == "assistant":
            return [] if block.get("signature") else ["a thought without its signature"]
        case "redacted_thinking" if role == "assistant":
            return [] if block.get("data") else ["a hidden thought without its data"]
        case "tool_use" if role == "assistant":
            good = (
                NAME.match(block.get("id", ""))
                and NAME.match(block.get("name", ""))
                and isinstance(block.get("input"), dict)
            )
            return [] if good else [f"call {block}"]
        case "server_tool_use" if role == "assistant":
            good = (
                block["id"].startswith("srvtoolu_")
                and block["name"] == "web_search"
                and isinstance(block["input"], dict)
            )
            return [] if good else [f"search {block}"]
        case "web_search_tool_result" if role == "assistant":
            return [] if isinstance(block.get("content"), list | dict) else ["a search without results"]
        case "tool_result" if role == "user":
            content = block.get("content")
            empty = isinstance(content, list) and any(one.get("type") == "text" and not one["text"] for one in content)
            return ["an empty text in a result"] if empty else []
        case "image" | "document" if role == "user":
            return [] if block.get("source", {}).get("data") else ["media without data"]
        case other:
            return [f"a block {other!r} in a message of {role}"]


def _pairs(messages: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        searches = [block["id"] for block in message["content"] if block.get("type") == "server_tool_use"]
        answered = [
            block["tool_use_id"] for block in message["content"] if block.get("type") == "web_search_tool_result"
        ]
        if searches != answered:
            found.append(f"messages[{index}]: searches {searches} are answered by {answered}")
        calls = [block["id"] for block in message["content"] if block.get("type") == "tool_use"]
        after = messages[index + 1]["content"] if index + 1 < len(messages) else []
        results = [block["tool_use_id"] for block in after if block.get("type") == "tool_result"]
        if sorted(calls) != sorted(results):
            found.append(f"messages[{index}]: calls {calls} are answered by {results}")
        for call in calls:
            if call in seen:
                found.append(f"call id {call!r} is used twice")
            seen.add(call)
    return found
