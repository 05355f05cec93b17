"""The tables of known programs: a row becomes a program, and a row that does not fit is an error."""

from pathlib import Path

import pytest
from msgspec import ValidationError

from opencode_tui.engine.lsp.known_servers import KnownServer
from opencode_tui.engine.project.known_programs import dotted, read_programs

HEAD = "[lists]\n@c | .c .h\n@all | @c .go\n[programs]\n"


def read(tmp_path: Path, row: str) -> KnownServer:
    (tmp_path / "table.txt").write_text(f"{HEAD}{row}\n")
    [program] = read_programs(tmp_path / "table.txt", KnownServer)
    return program


def test_marks_are_fields_and_lists_have_names(tmp_path: Path) -> None:
    row = 'x | @all .s | x --stdio | go.mod | least_version=7 navigates=false needs_marker initialization={"a":[1]} | get x'
    assert read(tmp_path, row) == KnownServer(
        "x",
        (".c", ".h", ".go", ".s"),
        ("x", "--stdio"),
        ("go.mod",),
        "get x",
        least_version=7,
        navigates=False,
        needs_marker=True,
        initialization={"a": [1]},
    )


def test_a_mark_without_a_field_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="runs_code"):
        read(tmp_path, "x | .c | x | | runs_code |")


def test_a_list_without_a_name_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="@d"):
        read(tmp_path, "x | @d | x | | |")


def test_extensions_of_settings_get_their_dot() -> None:
    assert dotted(["py", ".pyi"]) == (".py", ".pyi")
    assert dotted(None) == ()
