"""Reads the errors of providers: the message, the codes and the requested wait in every known shape of a body.

Nothing here raises, whatever the body is. Sources of the shapes: tests/engine/provider/data/errors.jsonl, one per line.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from opencode_tui.engine.provider.decode.response import as_list, describe_text, is_web_page, read_json
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject


class Reported(Struct, frozen=True):
    """The data of a failure. `status` is 0 without one; `code` contains every reported type, code and class name.

    `headers` have lower-case names; `secrets` are values that must not appear in any text.
    """

    provider_id: str
    status: int = 0
    body: str = ""
    message: str = ""
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: tuple[str, ...] = ()
    key_setting: str = ""
    """The setting that the key is from; empty for a stored one or that of a variable."""
    model_id: str = ""
    """The model that was asked, empty where it is not known."""
    has_media: bool = True
    """Whether the request may have had an image or a document, which an error can be about."""
    tools: tuple[str, ...] = ()
    """The names of the tools in the order in which they were sent."""


class ErrorBody(Struct, frozen=True):
    """What an error says: its message, every type and code in lower case, and the wait that it requests, in ms."""

    message: str = ""
    code: str = ""
    wait_ms: int | None = None
    is_page: bool = False


_MAX_DEPTH = 6
"""Levels of errors inside errors; gateways put the error of the provider as JSON into a text of theirs."""

_MAX_LITERAL = 64 * 1024
_MESSAGES = ("message", "error_msg", "msg", "detail", "error_description", "errorMessage", "Message", "title")
_CODES = (
    "type",
    "code",
    "status",
    "error_code",
    "errorCode",
    "error_type",
    "__type",
    "reason",
    "quotaId",
    "param",
    "limit_source",
)
_GENERIC = re.compile(
    r"(?:provider returned (?:an )?error|error|unknown error|bad request|internal server error|service unavailable|"
    r"request failed|forbidden|unauthorized|not found|too many requests|upstream error)[.!]?",
    re.IGNORECASE,
)
"""Messages that say less than the status; the message inside them, or our words, replace them."""


def read_body(text: str) -> ErrorBody:
    """Return what a body says; the description of a web page, and the beginning of any other text."""
    value = _json_object(text)
    if value:
        return read_object(value)
    if not text.strip():
        return ErrorBody()
    return ErrorBody(describe_text(text), is_page=is_web_page(text))


def read_object(body: JsonObject) -> ErrorBody:
    """Return what an error object says, in any known shape."""
    codes: list[str] = []
    message = _message(body, codes, 0)
    waits = [wait for wait in _delays(body, 0) if wait is not None]
    return ErrorBody(message, " ".join(codes).lower(), waits[0] if waits else None)


def is_generic(message: str) -> bool:
    """Return whether a message says no more than a status does."""
    return not message.strip() or _GENERIC.fullmatch(message.strip()) is not None


def status_in(body: JsonObject) -> int:
    """Return the HTTP status that an error object contains; 0 without one."""
    error = as_object(body.get("error"))
    for key in ("status_code", "statusCode", "code", "status"):
        number = error.get(key, body.get(key))
        if isinstance(number, str) and number.isdecimal() and len(number) == 3:
            number = int(number)
        if isinstance(number, int) and not isinstance(number, bool) and 400 <= number < 600:
            return number
    return 0


def _message(body: JsonObject, codes: list[str], depth: int) -> str:
    """Return the message of an error object, and add its codes."""
    if depth > _MAX_DEPTH:
        return ""
    codes += (str(body[key]) for key in _CODES if isinstance(body.get(key), str | int) and body.get(key))
    for key in ("innererror", "response"):
        if inner := as_object(body.get(key)):
            _message(inner, codes, depth + 1)
    for detail in [*as_list(body.get("details")), as_object(body.get("details"))]:
        _add_detail(as_object(detail), codes)
    message = ""
    for value in (body.get("error"), *(body.get(key) for key in _MESSAGES), body.get("errors"), body.get("response")):
        found = _text_of(value, codes, depth)
        if found and (not message or is_generic(message)):
            message = found
    return _with_upstream(message, as_object(body.get("metadata")), codes, depth)


def _text_of(value: object, codes: list[str], depth: int) -> str:
    """Return the message in a value of an error object: a text, an object, JSON in a text, or a list of problems."""
    if isinstance(value, str):
        inner = _json_object(value) if value.lstrip().startswith(("{", "[")) else {}
        return (_message(inner, codes, depth + 1) or value) if inner else value
    if found := as_object(value):
        return _message(found, codes, depth + 1)
    problems = [_problem(as_object(one), codes, depth) for one in as_list(value)[:3]]
    return "; ".join(text for text in problems if text)


def _problem(problem: JsonObject, codes: list[str], depth: int) -> str:
    """Return one problem of a list, as pydantic's services report them: `body.max_completion_tokens: not permitted`."""
    text = _message(problem, codes, depth + 1)
    place = ".".join(str(one) for one in as_list(problem.get("loc")))
    return f"{place}: {text}" if place and text else text


def _with_upstream(message: str, metadata: JsonObject, codes: list[str], depth: int) -> str:
    """Return the message with that of the provider behind a gateway (OpenRouter's `metadata`)."""
    if not metadata:
        return message
    raw = metadata.get("raw")
    inner = _text_of(raw, codes, depth)
    if reasons := ", ".join(str(one) for one in as_list(metadata.get("reasons"))):
        codes.append("moderation")
        inner = inner or f"flagged for {reasons}"
    name = str(metadata.get("provider_name") or "")
    if not inner:
        return message
    described = f"{name}: {inner}" if name and name.lower() not in inner[:40].lower() else inner
    return described if is_generic(message) or inner in message else f"{message} ({described})"


def _add_detail(detail: JsonObject, codes: list[str]) -> None:
    """Add the reasons in a detail of Google's or Anthropic's errors."""
    codes += (str(detail[key]) for key in _CODES if isinstance(detail.get(key), str))
    if "retryDelay" in detail:
        codes.append("retryDelay")
    for violation in as_list(detail.get("violations")):
        codes += (str(as_object(violation)[key]) for key in _CODES if isinstance(as_object(violation).get(key), str))


def _delays(body: JsonObject, depth: int) -> Iterator[int | None]:
    """Yield the waits that an error object requests: `retryDelay`, `retry_after`, headers of the provider behind a gateway."""
    if depth > _MAX_DEPTH:
        return
    for detail in as_list(body.get("details")):
        yield seconds_of(as_object(detail).get("retryDelay"))
    for key in ("retry_after", "retryAfter", "resets_in_seconds", "retry_after_seconds"):
        yield seconds_of(body.get(key))
    for key in ("error", "metadata", "message", "raw", "response"):
        inner = body.get(key)
        if isinstance(inner, str) and inner.lstrip().startswith("{"):
            inner = _json_object(inner)
        if nested := as_object(inner):
            yield from _delays(nested, depth + 1)


def seconds_of(value: object) -> int | None:
    """Return a number of seconds, or a text such as `36.5s`, in ms; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    number = as_number(str(value).strip().removesuffix("s"))
    return None if number is None else math.ceil(number * 1000)


def as_number(text: str | None) -> float | None:
    """Return a number that is not negative; None for any other text."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 <= number < 1e9 else None


# What the exceptions of libraries put around a body.

_CHILD_PREFIX = re.compile(
    r"^\s*(?:(?:[\w.]*(?:Error|Exception|Timeout)\s+)?[\w.]*(?:Error|Exception|Timeout)(?: Invalid Authentication)?\s*(?::|-)\s*"
    r"|Rate Limit Error - )+"
)
"""litellm's prefix of a provider's message, as in `litellm.RateLimitError: RateLimitError: OpenAIException - slow down`."""

_TRACEBACK = "\nTraceback (most recent call last):\n"
_STATUS_PREFIX = re.compile(r"^(?:Error code: (\d{3}) - |Error code: (\d{3})$)")
_OPERATION = re.compile(r"^An error occurred \((\w+)\) when calling the \w+ operation(?: \([^)]*\))?: ")
"""botocore's prefix of a message, with the code of the error."""

_CHILD_SUFFIX = re.compile(
    r"(?:\.? Handle with `litellm\.\w+`\.?|\n\s*(?:Received Model Group=|Available Model Group Fallbacks=|LiteLLM Retries|"
    r"Model: |API Base: |Messages: |Enable 'litellm).*)+$",
    re.DOTALL,
)
_CLIENT_ERROR = re.compile(r"^(?:Client|Server) error '(\d{3}) ([^']*)' for url '[^']*'.*", re.DOTALL)
"""httpx's text of an error status."""


def read_child(text: str) -> ErrorBody:
    """Return what the text of an exception says: the error in it, without the words of libraries around it."""
    reason, _, _ = text[:_MAX_LITERAL].partition(_TRACEBACK)  # litellm adds that of an error of its own
    text = _CHILD_SUFFIX.sub("", reason if reason.strip() else text[:_MAX_LITERAL])
    text = _CHILD_PREFIX.sub("", text).strip()
    text = _STATUS_PREFIX.sub("", text)
    code = ""
    if found := _OPERATION.match(text):
        code, text = found.group(1).lower(), text[found.end() :]
    if found := _CLIENT_ERROR.match(text):
        text = found.group(2)
    if text.startswith(("b'", 'b"')):
        text = _bytes_of(text) or text
    found_in = _object_in(text)
    if found_in:
        read = read_object(found_in)
        if read.message:
            return ErrorBody(read.message, f"{code} {read.code}".strip(), read.wait_ms)
        return ErrorBody(text, f"{code} {read.code}".strip(), read.wait_ms)
    page = is_web_page(text)
    return ErrorBody(describe_text(text) if page else text, code, is_page=page)


def _object_in(text: str) -> JsonObject:
    """Return the object in a text, written as JSON or as Python writes it."""
    start, end = text.find("{"), text.rfind("}") + 1
    if start < 0 or end <= start:
        return {}
    inner = text[start:end]
    return _json_object(inner) or as_object(_literal(inner))


def _bytes_of(text: str) -> str:
    """Return the text in a Python literal of bytes at the beginning; empty when it is not whole."""
    end = text.rfind(text[1])
    value = _literal(text[: end + 1]) if end > 1 else None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _literal(text: str) -> Any:
    import ast  # only for errors that Python wrote

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _json_object(text: str) -> JsonObject:
    """Return the object of a JSON text, or the first one of its list; empty for anything else."""
    if len(text) > _MAX_LITERAL * 4:
        return {}
    try:
        value = read_json(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return as_object(next(iter(as_list(value)), value))


# The wait that a response requests.

_TRY_AGAIN = re.compile(
    r"(?:try again|retry)(?: your request)?(?: in| after)\s+"
    r"((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|h|days?|d)\b[\s,]*)+)",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)
_UNIT_MS = {
    "ms": 1,
    "millisecond": 1,
    "s": 1000,
    "sec": 1000,
    "second": 1000,
    "m": 60_000,
    "min": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
}
_GLUED = re.compile(r"(\d)(ms|s|m|h|d)(?=\d)", re.IGNORECASE)


def retry_after_ms(headers: Mapping[str, str], *, now_ms: int) -> int | None:
    """Return the requested retry delay in ms: `retry-after-ms`, else `retry-after` in seconds or as a future date."""
    precise = as_number(headers.get("retry-after-ms"))
    if precise is not None:
        return math.ceil(precise)
    asked = headers.get("retry-after", "").strip()
    seconds = as_number(asked)
    if seconds is not None:
        return math.ceil(seconds * 1000)
    from email.utils import parsedate_to_datetime  # imported only for a provider that asks to wait

    try:
        wait = int(parsedate_to_datetime(asked).timestamp() * 1000) - now_ms
    except (ValueError, OverflowError, TypeError):
        return None
    return wait if wait > 0 else None


def wait_in_text(message: str) -> int | None:
    """Return the wait in a message such as `Please try again in 1m2.5s`, in ms; None without one."""
    found = _TRY_AGAIN.search(_GLUED.sub(r"\1\2 ", message))
    if found is None:
        return None
    total = 0.0
    for number, unit in _SPAN.findall(found.group(1)):
        name = unit.lower()
        total += float(number) * _UNIT_MS.get(name if name in _UNIT_MS else name.removesuffix("s"), 0)
    return math.ceil(total) if 0 < total < 1e12 else None


def as_json(body: JsonObject) -> str:
    """Return an error object as JSON text."""
    return json.dumps(body, ensure_ascii=False, default=str)
