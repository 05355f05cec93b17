"""Redaction of the records of a session: settings, texts, calls, files; with the counts of what was replaced.

Plain JSON data in, plain JSON data out, so that it serves a file, a page and a request. A text that still grows is cut at its last
line, since a secret that is half written cannot be recognized.
"""

import base64
import binascii
import getpass
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, cast

from msgspec import Struct

from opencode_tui.redaction.cover import cover
from opencode_tui.redaction.detectors import KEY, PASSWORD, redact, redact_cut
from opencode_tui.redaction.names import is_secret_field
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.tool_state import ErrorDetails

HOME = "home"
USER = "user-name"
ENV_FILE = "env-file"
OUTPUT = "tool-output"

_MIN_NAME = 3
_COMMON_NAMES = frozenset(
    (
        "root", "user", "admin", "administrator", "ubuntu", "debian", "fedora", "guest", "test", "tester", "runner", "build",
        "builder", "node", "docker", "vagrant", "app", "dev", "developer", "git", "ci", "jenkins", "nobody", "home", "main",
        "default", "agent", "assistant", "code", "work",
    )
)  # fmt: skip
"""User names that say nothing about anyone and occur as ordinary words."""

_ENV_FILE = re.compile(
    r"\.(?:env(?:rc)?|flaskenv|dev\.vars|npmrc|pypirc|my\.cnf)(?![A-Za-z])(?P<rest>[\w.\-*?~]*)", re.IGNORECASE
)
"""The end of a name such as `.env`, `.env.production.local`, `.envrc`, `prod.env` or `.dev.vars`."""

_EXAMPLE = re.compile(r".*[._-](?:example|sample|template|dist|defaults?|schema)\.?", re.IGNORECASE)
_OBJECT = re.compile(r"(?:(?<![\w-])(?:process|meta|deno|bun|os|self|this|ctx|context|std)|[)\]])\Z", re.IGNORECASE)
"""What has an `env` in code."""

_LOGIN_FILE = re.compile(
    r"(?:^|[\\/\s\"'=:@<>(),;])(?:(?:\.(?:netrc|pgpass|git-credentials|htpasswd)|_netrc|\.docker[\\/]config\.json|\.kube[\\/]config|"
    r"\.aws[\\/]credentials|etc[\\/]g?shadow)(?![\w.-])|\.envs[\\/]|run[\\/]secrets[\\/])"
)
"""A file that may be secret as a whole."""

_ASSIGNMENT = re.compile(
    r"(?m)^(?P<head>(?:\d+:\s|[+\- ]|[ \t]*\d+\|)?[ \t]*(?:export[ \t]+)?[A-Za-z_][A-Za-z0-9_.]*[ \t]*=[ \t]*)"
    r"(?P<value>(?:\"[^\"]{0,5000}\"|'[^']{0,5000}'|\S).*)$"
)
_DATA_ADDRESS = re.compile(r"data:(?P<mime>[\w.+\-/]*)(?P<rest>(?:;[\w=\-]+)*),(?P<data>.*)", re.DOTALL)
_TEXT_KINDS = (
    "text/",
    "application/json",
    "application/xml",
    "application/x-sh",
    "application/toml",
    "application/yaml",
)
_KEPT_FIELDS = frozenset(
    {
        "id",
        "sessionID",
        "messageID",
        "parentID",
        "projectID",
        "callID",
        "type",
        "tool",
        "mime",
        "status",
        "modelID",
        "providerID",
        "role",
        "hash",
        "snapshot",
        "after_tree",
    }
)
"""Fields with values that the program made, where a user name is a part of an ID; arguments of a tool can have these names too."""

_ABOUT_DIFF = frozenset({"file", "status", "note"})
"""The texts of a change that are not the content of its file."""

Known = Callable[[str], str]


class Person(Struct, frozen=True):
    """The user's home folder and name, as texts; empty ones are not looked for."""

    home: str = ""
    name: str = ""

    @classmethod
    def of(cls, environ: Mapping[str, str], home: str) -> "Person":
        """Return the user of an environment; a name that is an ordinary word is left out."""
        name = environ.get("USER") or environ.get("LOGNAME") or environ.get("USERNAME") or ""
        if not name:
            try:
                name = getpass.getuser()
            except (OSError, KeyError, ImportError):  # no name for this user
                name = ""
        folder = PurePath(home).name
        name = name if is_personal(name) else folder if is_personal(folder) else ""
        return cls("" if len(home) <= 1 else home.rstrip("/\\"), name)


def is_personal(name: str) -> bool:
    """Return whether a user name says something about its user."""
    return len(name) >= _MIN_NAME and name.lower() not in _COMMON_NAMES


class Redactor:
    """Redacts records and counts what it replaced, by kind."""

    def __init__(
        self, person: Person, *, tools: Sequence[str] = (), known: Known | None = None, is_full: bool = True
    ) -> None:
        """`tools`: their outputs are left out, and nothing else unless `is_full`. `known` replaces known secrets."""
        self.counts: Counter[str] = Counter()
        self._is_full = is_full
        self._person = person
        self._tools = frozenset(tools)
        self._known = known
        self._home = re.compile(re.escape(person.home) + r"(?![A-Za-z0-9_\-])") if person.home else None
        self._name = re.compile(rf"(?<![A-Za-z0-9]){re.escape(person.name)}(?![A-Za-z0-9])") if person.name else None

    def text(self, text: str) -> str:
        """Return a text without what must not be seen."""
        if self._known is not None:
            changed = self._known(text)
            self.counts[KEY] += changed != text
            text = changed
        if self._home is not None and self._person.home in text:
            text, found = self._home.subn("~", text)
            self.counts[HOME] += found
        text = redact(text, self.counts)
        if self._name is not None and self._person.name in text:
            text, found = self._name.subn("user", text)
            self.counts[USER] += found
        return text

    def value(self, value: Any, name: str = "") -> Any:
        """Return JSON data without what must not be seen; `name` is that of the field."""
        if not self._is_full:
            return value
        if isinstance(value, str):
            return self._string(value, name)
        if isinstance(value, dict):
            items = cast("JsonObject", value).items()
            return {self.text(key): self.value(inner, key) for key, inner in items}
        if isinstance(value, list):
            return [self.value(inner, name) for inner in cast("list[Any]", value)]
        return value

    def session(self, info: JsonObject) -> JsonObject:
        """Return the record of a session; the text of an undo is left out, it repeats changes of files."""
        if not self._is_full:
            return info
        kept = {key: inner for key, inner in info.items() if key not in ("revert", "permission", "metadata")}
        summary = kept.get("summary")
        if isinstance(summary, dict) and "diffs" in summary:
            kept["summary"] = {**cast("JsonObject", summary), "diffs": self.diffs(cast("JsonObject", summary)["diffs"])}
        if isinstance(share := kept.get("share"), dict):
            kept["share"] = {"url": cast("JsonObject", share).get("url")}
        if isinstance(title := kept.get("title"), str):
            kept["title"] = redact_cut(title, self.counts)
        return self.value(kept)

    def message(self, info: JsonObject) -> JsonObject:
        """Return the record of a message."""
        summary = info.get("summary")
        if self._is_full and isinstance(summary, dict) and "diffs" in summary:
            info = {
                **info,
                "summary": {**cast("JsonObject", summary), "diffs": self.diffs(cast("JsonObject", summary)["diffs"])},
            }
        return self.value(info)

    def diffs(self, diffs: Any) -> Any:
        """Return the changes of files; those of `.env` files without their content."""
        if not isinstance(diffs, list):
            return self.value(diffs)
        return [self._diff(one) for one in cast("list[Any]", diffs)]

    def part(self, part: JsonObject) -> JsonObject:
        """Return a part; the end of one that still grows waits for its line to end."""
        kind = part.get("type")
        if not self._is_full and kind != "tool":
            return part
        if kind in ("text", "reasoning"):
            time = part.get("time")
            is_open = isinstance(time, dict) and "end" not in time
            text = str(part.get("text", ""))
            if is_open:
                part = {**part, "text": _whole_lines(text)}
            if part.get("synthetic") and _names_secret_file(text[:400]):
                part = {**part, "text": self._env_text(text)}
        elif kind == "file":
            part = self._file(part)
        elif kind == "tool":
            part = {**part, "state": self._state(str(part.get("tool")), part.get("state"))}
        return self.value(part)

    def _string(self, text: str, name: str) -> str:
        if name in _KEPT_FIELDS:
            return redact(text, self.counts)
        if text.startswith("data:") and (match := _DATA_ADDRESS.fullmatch(text)):
            return self._data(match)
        if len(text) >= 4 and is_secret_field(name):
            self.counts[PASSWORD] += 1
            return cover(PASSWORD)
        return self.text(text)

    def _data(self, match: re.Match[str]) -> str:
        """Return a data address; texts in it are redacted, pictures stay as they are."""
        mime, rest = match["mime"], match["rest"]
        if mime and not mime.startswith(_TEXT_KINDS):
            return match[0]
        if ";base64" not in rest:
            return f"data:{mime}{rest},{self.text(match['data'])}"
        try:
            content = base64.b64decode(match["data"]).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            return match[0]
        return f"data:{mime}{rest},{base64.b64encode(self.text(content).encode()).decode()}"

    def _diff(self, diff: Any) -> Any:
        if not isinstance(diff, dict) or not _names_secret_file(str(cast("JsonObject", diff).get("file", ""))):
            return self.value(diff)
        self.counts[ENV_FILE] += 1
        fields = cast("JsonObject", diff)
        return {key: one if key in _ABOUT_DIFF or not isinstance(one, str) else "" for key, one in fields.items()}

    def _file(self, part: JsonObject) -> JsonObject:
        if not _names_secret_file(str(part.get("filename") or part.get("url", "")[:400])):
            return part
        self.counts[ENV_FILE] += 1
        source = part.get("source")
        kept = {**part, "url": "data:text/plain,"}
        if isinstance(source, dict):
            kept["source"] = {**cast("JsonObject", source), "text": {"value": "", "start": 0, "end": 0}}
        return kept

    def _state(self, tool: str, state: Any) -> Any:
        """Return the state of a call; what it says about `.env` files and of chosen tools is left out."""
        if not isinstance(state, dict):
            return state
        state = dict(cast("JsonObject", state))
        if tool in self._tools:
            state = self._without_output(state, OUTPUT)
        if not self._is_full:
            return state
        if state.get("status") == "pending":
            state["raw"] = ""
        given = state.get("input")
        metadata = state.get("metadata")
        if state.get("status") == "running" and isinstance(metadata, dict):
            state["metadata"] = {
                key: _whole_lines(one) if key == "output" and isinstance(one, str) else one
                for key, one in cast("JsonObject", metadata).items()
            }
        if _names_secret_file(_head(given)):
            return self._without_env(tool, state, cast("JsonObject", given))
        return state

    def _without_output(self, state: JsonObject, kind: str) -> JsonObject:
        kept = {
            key: one for key, one in state.items() if key not in ("metadata", "attachments", *ErrorDetails.model_fields)
        }
        if state.get("metadata") is not None:
            kept["metadata"] = {}
        for field in ("output", "error"):
            if field in kept:
                kept[field] = cover(kind)
                self.counts[kind] += 1
        return kept

    def _without_env(self, tool: str, state: JsonObject, given: JsonObject) -> JsonObject:
        """Return the state of a call about an `.env` file: of commands the values in the output, of others all content."""
        if tool in ("bash", "grep", "glob", "list", "task"):
            if _LOGIN_FILE.search(_head(given)):
                state = self._without_output(state, ENV_FILE)
            output = state.get("output")
            kept = {key: one for key, one in state.items() if key != "metadata"}
            if state.get("metadata") is not None:
                kept["metadata"] = {
                    key: self._env_text(one) if isinstance(one, str) else one
                    for key, one in cast("JsonObject", state["metadata"]).items()
                }
            if isinstance(output, str):
                kept["output"] = self._env_text(output)
            kept["input"] = {key: self._env_text(one) if isinstance(one, str) else one for key, one in given.items()}
            return kept
        kept = self._without_output(state, ENV_FILE)
        kept["input"] = {
            key: one if key in ("filePath", "path", "url", "replaceAll", "offset", "limit") else cover(ENV_FILE)
            for key, one in given.items()
        }
        return kept

    def _env_text(self, text: str) -> str:
        changed, found = _ASSIGNMENT.subn(rf"\g<head>{cover(ENV_FILE)}", text)
        self.counts[ENV_FILE] += found
        return changed


def _names_secret_file(text: str) -> bool:
    """Return whether a path, or the text of a command, names a file with secrets; an example of one is none."""
    for found in _ENV_FILE.finditer(text):
        if not _EXAMPLE.fullmatch(found["rest"]) and not _OBJECT.search(
            text[max(0, found.start() - 20) : found.start()]
        ):
            return True
    return _LOGIN_FILE.search(text) is not None


def _whole_lines(text: str) -> str:
    return text[: text.rfind("\n") + 1]


def _head(given: Any) -> str:
    """Return the texts of a call's input that can name a file, in one."""
    if not isinstance(given, dict):
        return ""
    named = ("filePath", "path", "command", "patchText", "pattern", "include", "url")
    texts = (cast("JsonObject", given).get(key) for key in named)
    return "\n".join(text for text in texts if isinstance(text, str))
