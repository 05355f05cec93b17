"""Definitions: the Markdown files of agents, commands and skills in the user's settings folder or in that of a project."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from opencode_tui.client.user_files import write_new
from opencode_tui.schema.api.project import Places

Kind = Literal["agent", "command", "skill"]
Where = Literal["user", "project"]

KINDS: tuple[Kind, ...] = ("agent", "command", "skill")

MODES = ("all", "primary", "subagent")

PROJECT_FOLDER = ".opencode"

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ,.()/_-]*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


class Definition(Struct, frozen=True):
    """A definition; `text` is the prompt, the template or the instructions, `model` is `provider/model` or empty."""

    kind: Kind
    name: str
    description: str = ""
    text: str = ""
    model: str = ""
    mode: str = "all"
    where: Where = "user"

    def problem(self) -> str:
        """Return why the file cannot be written, in a sentence; empty if it can."""
        if not _NAME.fullmatch(self.name):
            return "The name needs lower-case letters, digits, - and _, such as `reviewer`"
        if self.kind == "skill" and not self.description.strip():
            return "A skill needs a description: the model chooses it by that"
        if self.kind == "command" and not self.text.strip():
            return "A command needs a prompt"
        if self.model and "/" not in self.model:
            return "The model is written as provider/model"
        return ""

    def top(self, places: Places) -> Path:
        """Return the folder below which the file is: that of the user's settings, or the project's."""
        return Path(places.config if self.where == "user" else places.worktree)

    def path(self, places: Places) -> Path:
        """Return the file."""
        folder = self.top(places) if self.where == "user" else self.top(places) / PROJECT_FOLDER
        name = self.name or "NAME"
        if self.kind == "skill":
            return folder / "skills" / name / "SKILL.md"
        return folder / f"{self.kind}s" / f"{name}.md"

    def content(self) -> str:
        """Return the text of the file."""
        matter = [f"{key}: {_yaml(value)}" for key, value in self._matter() if value]
        head = ["---", *matter, "---", ""] if matter else []
        return "\n".join([*head, self.text.strip(), ""])

    def _matter(self) -> Iterator[tuple[str, str]]:
        if self.kind == "skill":
            yield "name", self.name
        yield "description", " ".join(self.description.split())
        if self.kind == "agent":
            yield "mode", self.mode
        if self.kind != "skill":
            yield "model", self.model.strip()


def _yaml(value: str) -> str:
    """Return a value of front matter; what YAML would read as something else than a text is quoted."""
    is_plain = _PLAIN.fullmatch(value) and value.casefold() not in _WORDS and not value[0].isdigit()
    return value if is_plain and value == value.strip() else json.dumps(value, ensure_ascii=False)


def write_definition(one: Definition, places: Places) -> Path:
    """Write the file of a definition, and return it. Raises OpencodeError where it exists or cannot be written. Blocks."""
    path = one.path(places)
    write_new(path, [one.content()], below=one.top(places))
    return path


def find_definition(kind: Kind, name: str, places: Places) -> Path | None:
    """Return the file of an agent or a command, None where another source defines it. Blocks."""
    folders = (Path(places.worktree) / PROJECT_FOLDER, Path(places.config), Path(places.home) / PROJECT_FOLDER)
    found = (folder / top / f"{name}.md" for folder in folders for top in (f"{kind}s", kind))
    return next((path for path in found if path.is_file()), None)
