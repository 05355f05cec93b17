"""Questions of MCP servers to the user: a server's form as our questions, and their answers as the form's values."""

from collections.abc import Sequence
from typing import Any, cast

from opencode_tui.engine.mcp.lists import clean
from opencode_tui.engine.tool.tool import AskUser
from opencode_tui.schema.api.question import Question, QuestionOption
from opencode_tui.schema.error import QuestionDismissedError, ToolError
from opencode_tui.schema.record import JsonObject

_YES, _NO = "Yes", "No"
_SEND, _DECLINE = "Continue", "Decline"
_LEFT_OUT = "Leave it out"


async def ask_user(
    server: str, params: JsonObject, ask: AskUser | None, *, calls: int = 1, use_defaults: bool = False
) -> JsonObject:
    """Return the protocol's result of a request for the user's input, which may belong to one of several calls.

    Where no user can be asked it is declined, with `use_defaults` only if it is not a form whose required fields all have one.
    """
    if ask is None:
        return _answer_unattended(params, use_defaults=use_defaults)
    message = str(clean(str(params.get("message", ""))))
    if calls > 1:
        message += f" (it works on {calls} calls, and does not say for which of them it asks)"
    try:
        if params.get("mode") == "url":
            return await _ask_address(server, message, str(clean(str(params.get("url")))), ask)
        return await _ask_form(server, message, params.get("requestedSchema") or {}, ask)
    except QuestionDismissedError:
        return {"action": "cancel"}
    except ToolError:  # no user is present
        return _answer_unattended(params, use_defaults=use_defaults)


def _answer_unattended(params: JsonObject, *, use_defaults: bool) -> JsonObject:
    schema: JsonObject = params.get("requestedSchema") or {}
    fields = _fields(schema)
    content = {name: field["default"] for name, field in fields.items() if field.get("default") is not None}
    if (
        not use_defaults
        or params.get("mode") == "url"
        or not content
        or set(schema.get("required") or []) - set(content)
    ):
        return {"action": "decline"}
    return {"action": "accept", "content": content}


def _fields(schema: JsonObject) -> dict[str, JsonObject]:
    properties: Any = schema.get("properties")
    members = cast("JsonObject", properties).items() if isinstance(properties, dict) else ()
    return {name: field for name, field in members if isinstance(field, dict)}


async def _ask_address(server: str, message: str, url: str, ask: AskUser) -> JsonObject:
    options = [
        QuestionOption(label=_SEND, description="I have opened the address"),
        QuestionOption(label=_DECLINE, description="Do not open it"),
    ]
    text = f"The MCP server {server} asks you to open {url} yourself: {message}"
    answers = await ask([Question(question=text, header=server, options=options)])
    return {"action": "accept" if answers[0] == [_SEND] else "decline"}


async def _ask_form(server: str, message: str, schema: JsonObject, ask: AskUser) -> JsonObject:
    fields = _fields(schema)
    required: Sequence[str] = schema.get("required") or []
    head = f"The MCP server {server} asks: {message}"
    if not fields:
        options = [QuestionOption(label=_SEND), QuestionOption(label=_DECLINE)]
        answers = await ask([Question(question=head, header=server, options=options)])
        return {"action": "accept", "content": {}} if answers[0] == [_SEND] else {"action": "decline"}
    questions = [_question(name, field, head, server, name in required) for name, field in fields.items()]
    answers = await ask(questions)
    content: JsonObject = {}
    for (name, field), labels in zip(fields.items(), answers, strict=True):
        value = _value(field, labels)
        if value is not None:
            content[name] = value
        elif name in required:
            return {"action": "decline"}
    return {"action": "accept", "content": content}


def _question(name: str, field: JsonObject, head: str, server: str, is_required: bool) -> Question:
    title = str(clean(str(field.get("title") or name)))
    about = str(clean(str(field.get("description") or "")))
    choices = _choices(field)
    default: Any = field.get("default")
    defaults = cast("list[Any]", default) if isinstance(default, list) else [default]
    options = [
        QuestionOption(label=label, description="default" if value in defaults else "")
        for label, value in sorted(choices.items(), key=lambda one: one[1] not in defaults)
    ]
    if not choices and default is not None and defaults:
        options = [QuestionOption(label=f"{defaults[0]}", description="default")]
    if not is_required:
        options.append(QuestionOption(label=_LEFT_OUT))
    text = f"{head}\n\n{title}{f': {about}' if about else ''}"
    return Question(question=text, header=title[:30], options=options, multiple=field.get("type") == "array" or None)


def _choices(field: JsonObject) -> dict[str, Any]:
    """Return the values of a field that has a fixed set, by the label that the user sees."""
    if field.get("type") == "boolean":
        return {_YES: True, _NO: False}
    if field.get("type") == "array":
        return _choices(field.get("items") or {})
    titled: list[JsonObject] = field.get("oneOf") or field.get("anyOf") or []
    if titled:
        return {str(clean(str(one.get("title") or one.get("const")))): one.get("const") for one in titled}
    values: list[Any] = field.get("enum") or []
    names: list[Any] = field.get("enumNames") or values
    return {str(clean(str(name))): value for name, value in zip(names, values, strict=False)}


def _value(field: JsonObject, labels: Sequence[str]) -> Any:
    """Return the value of a field for the chosen labels or the user's own text; None where that is no value of it."""
    if not labels or list(labels) == [_LEFT_OUT]:
        return None
    choices = _choices(field)
    if field.get("type") == "array":
        return [choices[label] for label in labels if label in choices]
    text = labels[0]
    if choices:
        return choices.get(text)
    try:
        match field.get("type"):
            case "integer":
                return int(text)
            case "number":
                return float(text)
            case _:
                return text
    except ValueError:
        return None
