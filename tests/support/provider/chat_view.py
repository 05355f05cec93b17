"""What a request of any wire format says, as a body of chat completions: for those who read requests, not their format."""

from collections.abc import Iterator
from typing import Any


def as_chat(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body with `messages`, `system` and `tools`, as read from Responses or Gemini; any other as it is."""
    if "input" in body:
        return {
            "model": body.get("model"),
            "system": body.get("instructions"),
            "messages": list(_of_items(body["input"])),
            "tools": body.get("tools"),
            "max_tokens": body.get("max_output_tokens", 0),
        }
    if "contents" in body:
        declared = [one for tool in body.get("tools", []) for one in _either(tool, "functionDeclarations") or []]
        system = _either(body, "systemInstruction") or {}
        return {
            "system": [_text(part["text"]) for part in system.get("parts", [])],
            "messages": [message for content in body["contents"] for message in _of_content(content)],
            "tools": declared or None,
            "max_tokens": body.get("generationConfig", {}).get("maxOutputTokens", 0),
        }
    return body


def _either(value: dict[str, Any], name: str) -> Any:
    """Return a field by its name, also as litellm writes it: with underscores."""
    other = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return value.get(name) or value.get(other)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _call(identifier: str, name: str, arguments: object) -> dict[str, Any]:
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


def _of_items(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield messages; all items of the model between two others are one."""
    answer: dict[str, Any] = {}
    for item in items:
        kind = item["type"]
        if kind in ("reasoning", "web_search_call"):
            continue
        if kind == "function_call" or (kind == "message" and item["role"] == "assistant"):
            answer = answer or {"role": "assistant", "content": ""}
            if kind == "function_call":
                answer.setdefault("tool_calls", []).append(_call(item["call_id"], item["name"], item["arguments"]))
            else:
                answer["content"] += item["content"]
            continue
        if answer:
            yield answer
            answer = {}
        if kind == "function_call_output":
            yield {"role": "tool", "tool_call_id": item["call_id"], "content": _parts(item["output"])}
        else:
            yield {"role": item["role"], "content": _parts(item["content"])}
    if answer:
        yield answer


def _parts(content: object) -> object:
    if not isinstance(content, list):
        return content
    pictures = {"input_image": lambda part: {"type": "image_url", "image_url": {"url": part["image_url"]}}}
    return [_text(part["text"]) if "text" in part else pictures.get(part["type"], dict)(part) for part in content]


def _of_content(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the results of a content as messages, then all else of it."""
    shown: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for part in content["parts"]:
        if answered := _either(part, "functionResponse"):
            response = answered["response"]
            said = next((response[key] for key in ("output", "error", "content") if key in response), "")
            yield {"role": "tool", "tool_call_id": answered.get("id"), "content": said}
        elif called := _either(part, "functionCall"):
            calls.append(_call(called.get("id"), called["name"], str(called["args"])))
        elif "text" in part and not part.get("thought"):
            shown.append(_text(part["text"]))
        elif media := part.get("inlineData"):
            url = f"data:{media['mimeType']};base64,{media['data']}"
            shown.append({"type": "image_url", "image_url": {"url": url}})
    if shown or calls:
        role = "assistant" if content["role"] == "model" else "user"
        yield {"role": role, "content": shown, **({"tool_calls": calls} if calls else {})}
