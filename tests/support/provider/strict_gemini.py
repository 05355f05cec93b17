"""A strict reader of Gemini requests, from the types of Google's SDK and the errors of the API; returns every violation."""

import re
from typing import Any

NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$")
FIELDS = {
    *("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent"),
    *("labels", "serviceTier"),
}
KINDS = ("text", "inlineData", "functionCall", "functionResponse", "toolCall", "toolResponse")
SCHEMA = {
    *(
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "items",
        "minItems",
        "maxItems",
        "properties",
        "required",
    ),
    *("minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern", "example", "anyOf"),
    *("propertyOrdering", "default"),
}
TYPES = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}
MODES = {"AUTO", "ANY", "NONE", "VALIDATED"}


def violations(body: dict[str, Any], *, needs_signature: bool = False) -> list[str]:
    """Return what the API rejects; `needs_signature` for Gemini 3, of whose turns the first call is signed."""
    found = [f"field {name!r}" for name in body if name not in FIELDS]
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        return [*found, "contents is empty"]
    if contents[0].get("role") != "user":
        found.append("the first content is not the user's")
    for index, content in enumerate(contents):
        if content.get("role") not in ("user", "model"):
            found.append(f"contents[{index}]: role {content.get('role')!r}")
        if index and content.get("role") == contents[index - 1].get("role"):
            found.append(f"contents[{index}]: two of {content.get('role')} in a row")
        found += [f"contents[{index}]: {problem}" for problem in _content(content, needs_signature)]
    system = body.get("systemInstruction", {"parts": [{"text": "x"}]}).get("parts", [])
    if not system or not all(part.get("text", "").strip() for part in system):
        found.append("systemInstruction is empty")
    return found + _turns(contents) + _tools(body)


def _content(content: dict[str, Any], needs_signature: bool) -> list[str]:
    parts = content.get("parts")
    if not isinstance(parts, list) or not parts:
        return ["no parts"]
    found = [problem for part in parts for problem in _part(part, content.get("role"))]
    kinds = ["functionResponse" in part for part in parts]
    if kinds != sorted(kinds, reverse=True):
        found.append("a functionResponse after other parts")
    calls = [part for part in parts if "functionCall" in part]
    if needs_signature and calls and not calls[0].get("thoughtSignature"):
        found.append("the first function call is missing a thought_signature")
    return found


def _part(part: dict[str, Any], role: str | None) -> list[str]:
    kinds = [kind for kind in KINDS if kind in part]
    if len(kinds) != 1 or set(part) - {*KINDS, "thought", "thoughtSignature"}:
        return [f"a part with {sorted(part)}"]
    if "thoughtSignature" in part and (role != "model" or not part["thoughtSignature"]):
        return ["a signature that is empty, or of the user"]
    value = part[kinds[0]]
    match kinds[0]:
        case "text":
            is_thought = part.get("thought") is True
            good = bool(value.strip()) or (is_thought and bool(value))
            return [] if good and (not is_thought or role == "model") else ["an empty text, or a thought of the user"]
        case "inlineData":
            return [] if value.get("mimeType") and value.get("data") else ["media without data"]
        case "toolCall" | "toolResponse":
            good = role == "model" and value.get("toolType") == "GOOGLE_SEARCH_WEB" and part.get("thoughtSignature")
            return [] if good and value.get("id") else [f"search {value}"]
        case "functionCall":
            good = role == "model" and NAME.match(value.get("name", "")) and isinstance(value.get("args"), dict)
            return [] if good and value.get("id") else [f"call {value}"]
        case _:
            answered = value.get("response")
            good = role == "user" and NAME.match(value.get("name", "")) and isinstance(answered, dict) and answered
            media = all(set(one) == {"inlineData"} for one in value.get("parts", []))
            return [] if good and media and value.get("id") else [f"response {value}"]


def _turns(contents: list[dict[str, Any]]) -> list[str]:
    """Check that the calls of a content are answered by the next one, as many, of the same names, in the same order."""
    found: list[str] = []
    for index, content in enumerate(contents):
        searched = [part["toolCall"].get("id") for part in content.get("parts", []) if "toolCall" in part]
        found_by = [part["toolResponse"].get("id") for part in content.get("parts", []) if "toolResponse" in part]
        if searched != found_by:
            found.append(f"contents[{index}]: searches {searched} are answered by {found_by}")
        calls = [part["functionCall"] for part in content.get("parts", []) if "functionCall" in part]
        after = contents[index + 1].get("parts", []) if index + 1 < len(contents) else []
        answers = [part["functionResponse"] for part in after if "functionResponse" in part]
        if [(one.get("name"), one.get("id")) for one in calls] != [(one.get("name"), one.get("id")) for one in answers]:
            found.append(
                f"contents[{index}]: {len(calls)} function calls are followed by {len(answers)} function responses"
            )
    own = [part for part in contents[0].get("parts", []) if "functionResponse" in part]
    return [*found, "a function response without a call"] if own else found


def _tools(body: dict[str, Any]) -> list[str]:
    found: list[str] = []
    searches = {"googleSearch": {}} in body.get("tools", [])
    if searches != body.get("toolConfig", {}).get("includeServerSideToolInvocations", False):
        found.append("google search beside functions needs includeServerSideToolInvocations")
    for tool in body.get("tools", []):
        if tool == {"googleSearch": {}}:
            continue
        if not tool.get("functionDeclarations"):
            found.append("a tool without functionDeclarations")
        for declared in tool.get("functionDeclarations", []):
            if not NAME.match(declared.get("name", "")):
                found.append(f"tool {declared.get('name')!r}")
            if "parameters" in declared and "parametersJsonSchema" in declared:
                found.append(f"tool {declared['name']}: two schemas")
            if "parameters" in declared:
                found += [
                    f"tool {declared['name']}: {problem}" for problem in schema_violations(declared["parameters"])
                ]
    mode = body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode", "AUTO")
    if mode not in MODES or ("toolConfig" in body and not body.get("tools")):
        found.append(f"toolConfig {mode!r}")
    return found


def schema_violations(schema: dict[str, Any], *, is_root: bool = True) -> list[str]:
    """Return what the API rejects of a `Schema`."""
    found = [f"unknown name {name!r}" for name in schema if name not in SCHEMA]
    kind = schema.get("type")
    if is_root and kind != "OBJECT":
        found.append("the root is no object")
    if "anyOf" in schema:
        if set(schema) - {"anyOf", "description", "nullable"} or not schema["anyOf"]:
            found.append("fields beside anyOf")
        return found + [problem for one in schema["anyOf"] for problem in schema_violations(one, is_root=False)]
    if kind not in TYPES:
        found.append(f"type {kind!r}")
    if kind == "ARRAY" and "items" not in schema:
        found.append("items: missing field")
    if kind != "ARRAY" and "items" in schema:
        found.append("items of what is no array")
    values = schema.get("enum", ["x"])
    if not values or not all(isinstance(value, str) and value for value in values):
        found.append(f"enum {values}")
    if "enum" in schema and kind != "STRING" and schema.get("format") != "enum":
        found.append("enum of what is no string")
    if kind == "STRING" and schema.get("format", "date-time") not in ("date-time", "enum"):
        found.append(f"format {schema['format']!r}")
    properties = schema.get("properties", {})
    if "properties" in schema and (kind != "OBJECT" or not properties):
        found.append("properties should be non-empty for OBJECT type")
    found += [f"required: {name!r} is not defined" for name in schema.get("required", []) if name not in properties]
    parts = [*properties.values(), *([schema["items"]] if "items" in schema else [])]
    return found + [problem for part in parts for problem in schema_violations(part, is_root=False)]
