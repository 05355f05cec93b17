"""Earlier prompts."""

import stat
from pathlib import Path

from opencode_tui.tui.prompt.history import KEPT, History, append_history, read_history


def test_up_goes_back_and_down_brings_back_what_was_being_written() -> None:
    history = History(["one", "two"])
    assert history.earlier("draft") == "two"
    assert history.earlier("two") == "one"
    assert history.earlier("one") is None
    assert [history.later(), history.later(), history.later()] == ["two", "draft", None]


def test_the_same_prompt_twice_is_kept_once() -> None:
    history = History()
    for text in ("a", "a", " ", "b"):
        history.add(text)
    assert history.entries == ["a", "b"]


def test_a_prompt_that_was_begun_is_found_again_when_an_earlier_one_was_sent_instead() -> None:
    history = History(["one"])
    assert history.earlier("begun") == "one"
    history.add("one")
    assert history.entries == ["one", "begun", "one"]


def test_what_was_cleared_is_the_first_that_up_brings_back() -> None:
    history = History(["one", "two"])
    history.set_aside("cleared")
    assert history.earlier("") == "cleared"
    assert history.earlier("cleared") == "two"
    history.set_aside("two")
    assert history.entries == ["one", "two", "cleared"], "what was only looked up is there already"


def test_it_is_kept_across_runs_in_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "state" / "prompt-history.jsonl"
    assert append_history(path, "first\nline")
    append_history(path, "ünï")
    assert read_history(path) == ["first\nline", "ünï"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_damaged_line_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_text('"good"\n{"half\n42\n"fine"\n')
    assert read_history(path) == ["good", "fine"]


def test_the_file_does_not_grow_without_end(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    for number in range(2 * KEPT + 5):
        append_history(path, f"p{number}")
    assert len(path.read_text().splitlines()) <= 2 * KEPT
    assert read_history(path)[-1] == f"p{2 * KEPT + 4}"


def test_a_disk_that_refuses_costs_the_history_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not append_history(tmp_path / "file" / "h.jsonl", "x")
    assert read_history(tmp_path / "file" / "h.jsonl") == []
