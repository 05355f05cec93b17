"""The base of all sections of the settings: strict types, OpenCode's key names, unknown keys kept so that they can be reported.

The sentence under each field is its description in the JSON schema for editors (`config/check/json_schema.py`).
"""

import re
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from opencode_tui.config.settings.marks import Trust
from opencode_tui.schema.field import After, Before, Expected, Field, SchemaForm
from opencode_tui.schema.record import Record

MODEL_PATTERN = r"^[^/\s]+/[^\r\n]*[^\s]$"
LINE_PATTERN = r"^[^\r\n]*$"
TEXT_PATTERN = r"\S"
URL_PATTERN = r"^https?://[^\s/]+\S*$"
COLOR_PATTERN = r"^#[0-9a-fA-F]{6}$|^[a-z]+$"
ORIGIN_PATTERN = r"^[A-Za-z][A-Za-z0-9+.-]*://[^\s/*?#@]+$"
HOST_PATTERN = r"^[A-Za-z0-9._:%\[\]-]+$"
HOST_RULE_PATTERN = (
    r"^(?:(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*(?::[0-9]{1,5})?|[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*"
    r"|\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?)$"
)
KEY_PATTERN = r"^[!-~]*$"
HEADER_NAME_PATTERN = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
VARIABLE_PATTERN = r"^[^=\s]+$"
PROVIDER_PATTERN = r"^[^/\s]+$"
SIZE_PATTERN = r"^none$|^[0-9]{1,6}(\.[0-9]+)? ?[KMGT]B$"
PROMPT_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


def _check_url(value: str) -> str:
    try:
        parts = urlsplit(value)
        is_right = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_right = False
    if not is_right:
        raise Expected("an address with a host and, if any, a port from 1 to 65535")
    return value


_EDITORS = ("vscode", "vscode-insiders", "vscodium", "cursor", "windsurf", "zed", "idea", "pycharm", "textmate")


def _check_editor(value: str) -> str:
    scheme, mark, _ = value.partition("://")
    is_form = bool(mark) and "{path}" in value and value.isascii() and value.isprintable() and " " not in value
    if value not in _EDITORS and not (is_form and scheme not in ("javascript", "data", "http", "https")):
        raise Expected("the name of an editor, or an address with {path} and {line} (such as zed://file{path}:{line})")
    return value


def _check_host(value: str) -> str:
    if value.count(":") == 1:
        raise Expected("a host name or address without a port")
    return value


def _check_name(value: str) -> str:
    if "\\" in value or any(part.strip() in ("", ".", "..") for part in value.split("/")):
        raise Expected("a name without empty parts, `.` or `..`")
    return value


def _check_off(value: object) -> object:
    if value is not False:
        raise Expected("false")
    return value


def _check_long(value: int) -> int:
    if value < 1_000:
        raise Expected(f"at least 1000, as it is in milliseconds: write {value}000 for {value} s")
    return value


def _check_program(words: list[str]) -> list[str]:
    if not words[0].strip():
        raise Expected("a program as the first member")
    return words


def _check_pattern(value: str) -> str:
    try:
        re.compile("" if value == "*" else value)
    except re.error:
        raise Expected("a regular expression, or *") from None
    return value


Action = Literal["allow", "deny", "ask"]
"""The action of a permission rule; stated here once more, because loading the records of `schema/permission.py` costs 2 ms."""
ModelName = Annotated[str, Field(pattern=MODEL_PATTERN)]
Line = Annotated[str, Field(pattern=LINE_PATTERN)]
Text = Annotated[str, Field(pattern=TEXT_PATTERN)]
"""A string that is not empty."""
Name = Annotated[str, After(_check_name)]
"""The key of an agent, a command and the like; a slash separates folders."""
ProviderName = Annotated[str, Field(pattern=PROVIDER_PATTERN)]
"""The key of a provider: the part before the slash of a model's name."""
PromptName = Annotated[str, Field(pattern=PROMPT_PATTERN)]
"""The name of a system prompt, which is the name of a file without its ending."""
Url = Annotated[str, Field(pattern=URL_PATTERN), After(_check_url)]
EditorLinks = Annotated[str, Field(pattern=TEXT_PATTERN), After(_check_editor)]
"""An editor by its name, or the form of its addresses."""
Host = Annotated[str, Field(pattern=HOST_PATTERN), After(_check_host)]
WebOrigin = Annotated[str, Field(pattern=ORIGIN_PATTERN)]
ApiKey = Annotated[str, Field(pattern=KEY_PATTERN)]
Headers = dict[Annotated[str, Field(pattern=HEADER_NAME_PATTERN)], Line]
Variables = dict[Annotated[str, Field(pattern=VARIABLE_PATTERN)], str]
"""Environment variables of a program."""
Words = Annotated[list[str], Field(min_length=1), After(_check_program)]
"""A command: the program and its arguments."""
VariableName = Annotated[str, Field(pattern=VARIABLE_PATTERN)]
HostRule = Annotated[str, Field(pattern=HOST_RULE_PATTERN)]
"""A host that confined commands may reach."""
Pattern = Annotated[str, After(_check_pattern)]
"""A regular expression, or `*` for everything."""
Size = Annotated[str, Field(pattern=SIZE_PATTERN)]
"""A number of bytes, as `8 GB`, or `none`."""
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
Bytes = Annotated[int, Field(ge=0, le=1_000_000_000_000_000)]
Tokens = Annotated[int, Field(ge=0, le=1_000_000_000)]
Milliseconds = Annotated[int, Field(gt=0, le=2_147_483_647)]
LongMilliseconds = Annotated[Milliseconds, After(_check_long)]
"""Milliseconds of a time of at least a second; a smaller number was meant in seconds."""
Off = Annotated[bool, Before(_check_off), SchemaForm({"type": "boolean", "const": False})]
"""Only `false`; pydantic's Literal[False] would accept 0."""
Price = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
"""USD per million tokens."""


class Section(Record):
    """An object of the settings. With `is_open`, unknown keys are passed on and are not an error.

    A field whose value is a secret, or a map with secrets, has `repr=False`: it is covered wherever settings are shown.

    `untrusted` is for fields without a mark of their own, and for unknown keys: where it has an effect, they need trust.
    """

    is_strict = True
    by_name = False
    wire_name = staticmethod(str)

    is_open: ClassVar[bool] = False
    untrusted: ClassVar[Trust | None] = None
