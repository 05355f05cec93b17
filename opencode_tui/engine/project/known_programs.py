"""Programs that help with a project and are known by name, such as its language servers and formatters: their tables.

A row of the section `[programs]` has the columns id, extensions, command, markers, marks and advice. A mark is the name of
another field, alone or with `=` and a value. `@NAME` stands for a list of the section `[lists]`.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar, get_origin

from msgspec import Struct, convert
from msgspec.structs import fields

from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.table import read_sections, split_columns


class KnownProgram(Struct, frozen=True, forbid_unknown_fields=True):
    """A program for files with some extensions; `markers` are the files that say that a project uses it.

    `runs_project_code`: it may run programs of the project, so it starts only in trusted folders, inside the sandbox if any.
    `advice` says how to get it, or what to use in its place. `is_configured`: the command is one of the settings.
    """

    id: str
    extensions: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    advice: str = ""
    runs_project_code: bool = False
    environ: Mapping[str, str] = {}
    is_configured: bool = False


P = TypeVar("P", bound=KnownProgram)


def read_programs(file: Path, kind: type[P]) -> tuple[P, ...]:
    """Return the programs of a table in its order. Blocks. Raises ValueError for a row that does not fit."""
    sections = {section.title: section.rows for section in read_sections(file)}
    lists: dict[str, list[str]] = {}
    for name, words in (split_columns(row, 2) for row in sections["lists"]):
        lists[name] = _expand(words.split(), lists)
    types = {one.name: one.type for one in fields(kind)}
    programs: list[P] = []
    for row in sections["programs"]:
        name, extensions, command, markers, marks, advice = split_columns(row, 6)
        given: dict[str, object] = {"id": name, "command": command.split(), "advice": advice}
        given |= {"extensions": _expand(extensions.split(), lists), "markers": _expand(markers.split(), lists)}
        for mark, is_valued, value in (word.partition("=") for word in marks.split()):
            given[mark] = _value(types.get(mark), value, lists) if is_valued else True
        programs.append(convert(given, kind, strict=False))
    return tuple(programs)


def _value(kind: object, text: str, lists: Mapping[str, Sequence[str]]) -> object:
    """Return the value of a mark: words where its field is a tuple, JSON where it is an object."""
    if get_origin(kind) is tuple:
        return _expand(text.split(","), lists)
    return load_json(text) if get_origin(kind) is dict else text


def _expand(words: Iterable[str], lists: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the words with the names of lists replaced by these. Raises KeyError for a list that is not above."""
    return [one for word in words for one in (lists[word] if word.startswith("@") else (word,))]


def names_of_project_code(programs: Iterable[KnownProgram]) -> frozenset[str]:
    """Return the names of the programs that may run programs of the project."""
    return frozenset(one.command[0] for one in programs if one.runs_project_code and one.command)


def has_program(command: Iterable[str], names: Collection[str]) -> bool:
    """Return whether a word of a command is one of these programs: by a path, with a version, or started by another (`npx`)."""
    return any(os.path.basename(word).partition("@")[0] in names for word in command)


def dotted(extensions: Iterable[str] | None) -> tuple[str, ...]:
    """Return the extensions of settings, which may lack their dot."""
    return tuple(one if one.startswith(".") else f".{one}" for one in extensions or ())
