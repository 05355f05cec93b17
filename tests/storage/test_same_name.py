"""Which names are the same: the key of a name, and what ordinary disks answer."""

import os
from pathlib import Path

import pytest

from opencode_tui.storage.same_name import SameNames, canonical, key


@pytest.mark.parametrize(
    "spellings",
    [
        (".env", ".ENV", ".Env", ".eNv"),
        (".git/config", ".GIT/CONFIG", ".git/con\N{LATIN SMALL LIGATURE FI}g"),
        (".husky", ".hu\N{LATIN SMALL LETTER LONG S}ky", ".hus\N{KELVIN SIGN}y"),
        ("café", "cafe\N{COMBINING ACUTE ACCENT}", "CAFÉ", "CAFE\N{COMBINING ACUTE ACCENT}"),
        ("straße", "STRASSE", "stra\N{LATIN CAPITAL LETTER SHARP S}e"),
    ],
)
def test_all_spellings_of_a_name_have_one_key(spellings: tuple[str, ...]) -> None:
    assert len({key(one) for one in spellings}) == 1


@pytest.mark.parametrize(("one", "other"), [(".env", ".envs"), ("a", "á"), ("dotless ı", "dotless i"), ("a/b", "a:b")])
def test_other_names_have_other_keys(one: str, other: str) -> None:
    assert key(one) != key(other)


def test_an_ordinary_disk_ignores_nothing(tmp_path: Path) -> None:
    names = SameNames()
    (tmp_path / "Folder").mkdir()
    (tmp_path / "Folder/.env").write_text("")
    assert not names.is_ignoring(tmp_path)
    assert names.other_paths(tmp_path / "Folder/.env", tmp_path, 10) == []
    assert canonical(tmp_path / "folder/.ENV") == tmp_path / "folder/.ENV"


def test_a_hard_link_with_another_spelling_makes_no_disk_ignore_case(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("")
    os.link(tmp_path / ".env", tmp_path / ".ENV")
    names = SameNames()
    assert not names.ignores_spelling(str(tmp_path), ".env") and not names.ignores_spelling(str(tmp_path), ".ENV")
    assert names.stored(tmp_path / ".ENV", tmp_path) == tmp_path / ".ENV"


def test_a_folder_without_names_that_have_two_spellings_is_judged_by_its_own(tmp_path: Path) -> None:
    (tmp_path / "123").write_text("")
    assert not SameNames().is_ignoring(tmp_path)


def test_a_path_outside_or_missing_stays_as_it_is_written(tmp_path: Path) -> None:
    assert SameNames().stored(Path("/nowhere/X"), tmp_path) == Path("/nowhere/X")
    assert SameNames().stored(tmp_path / "Missing/X", tmp_path) == tmp_path / "Missing/X"
