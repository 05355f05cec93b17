"""The tasks of a file, and the results file of a batch."""

import asyncio
import json
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from opencode_tui.batch.journal import open_journal
from opencode_tui.batch.task import TaskResult, prompt_tasks, read_tasks
from opencode_tui.schema.error import ConfigError
from tests.support.rows import each


@each(
    ("line", "said"),
    [
        ('{"id": "a"}', "t.jsonl:2: prompt is missing"),
        ('{"id": "a", "prompt": " "}', "t.jsonl:2: prompt: it is empty"),
        ('{"id": "../a", "prompt": "x"}', "t.jsonl:2: id: '../a' is not an id"),
        ('{"id": "a", "prompt": "x", "timeout": "soon"}', "t.jsonl:2: timeout: "),
        ('{"id": "a", "prompt": "x", "timeout": 0}', "t.jsonl:2: timeout: 0 is not"),
        ('{"id": "a", "prompt": "x", "model": "gpt"}', "t.jsonl:2: model 'gpt'"),
        ('{"id": "first", "prompt": "x"}', "t.jsonl:2: id 'first' is also that of line 1"),
        ("[1]", "t.jsonl:2: not an object"),
        ("{", "t.jsonl:2: not valid JSON"),
        ("\xff", "t.jsonl:2: not UTF-8"),
    ],
)
def test_a_wrong_line_is_one_error_with_its_place(line: str, said: str) -> None:
    data = b'{"id": "first", "prompt": "x"}\n' + line.encode("latin-1")
    with pytest.raises(ConfigError) as caught:
        read_tasks(data, "t.jsonl")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_file_is_an_error_and_unknown_keys_survive() -> None:
    with pytest.raises(ConfigError, match="has no tasks"):
        read_tasks(b"\n \n", "t.jsonl")
    task = read_tasks(b'{"id": "a", "prompt": "x", "owner": {"name": null}}', "t.jsonl")[0]
    assert task.to_dict() == {"id": "a", "prompt": "x", "owner": {"name": None}}


def test_folders_of_the_same_name_get_different_ids() -> None:
    assert [task.id for task in prompt_tasks("x", ["/a/lib", "/b/lib", "/c/.lib"])] == ["lib", "lib-2", "lib-3"]


async def test_a_torn_last_line_is_cut_and_the_results_before_it_stay(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with open_journal(path, is_resumed=False) as journal:
        await journal.append(TaskResult(id="a", status="done", answer="half \ud800"))
    with path.open("ab") as file:
        file.write(b'{"id": "b", "stat')
    with open_journal(path, is_resumed=True) as journal:
        assert list(journal.results) == ["a"]
        await journal.append(TaskResult(id="c", status="failed", error="no"))
    assert [json.loads(line)["id"] for line in path.read_bytes().splitlines()] == ["a", "c"]


@pytest.mark.parametrize(
    "text", ["a key without a line's end", "[1", " {", "x\n{", '{"id": "a", "status": "done"}\nkey']
)
def test_a_file_that_is_not_of_a_batch_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigError, match="not a result of a batch"), open_journal(path, is_resumed=True):
        pass
    assert path.read_text() == text


@pytest.mark.parametrize("target", ["key", "missing", "loop"])
def test_a_link_in_the_place_of_the_results_is_not_followed(tmp_path: Path, target: str) -> None:
    (tmp_path / "key").write_text('{"half')
    (tmp_path / "loop").symlink_to("loop")
    path = tmp_path / "out.jsonl"
    path.symlink_to(target)
    with pytest.raises(ConfigError, match="is a link"), open_journal(path, is_resumed=True):
        pass
    assert (tmp_path / "key").read_text() == '{"half'
    assert not (tmp_path / "missing").exists()


def test_results_are_never_overwritten_and_one_batch_at_a_time_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(TaskResult(id="a", status="done").to_line())
    with pytest.raises(ConfigError, match="add --resume"), open_journal(path, is_resumed=False):
        pass
    first = open_journal(path, is_resumed=True)
    with first, pytest.raises(ConfigError, match="another batch writes"), open_journal(path, is_resumed=True):
        pass
    path.write_text("hello\n")
    with pytest.raises(ConfigError, match="not a result of a batch"), open_journal(path, is_resumed=True):
        pass
    assert path.read_text() == "hello\n"


def test_an_empty_results_file_goes_only_when_the_batch_made_it(tmp_path: Path) -> None:
    made, given = tmp_path / "made.jsonl", tmp_path / "given.jsonl"
    given.touch()
    for path in (made, given):
        with open_journal(path, is_resumed=False):
            assert path.exists()
    assert (made.exists(), given.exists()) == (False, True)


@pytest.mark.slow
def test_a_batch_that_removes_its_empty_file_never_removes_the_results_of_the_next(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    ended = threading.Event()

    def open_without_results() -> None:
        while not ended.is_set():
            with suppress(ConfigError), open_journal(path, is_resumed=True):
                pass

    other = threading.Thread(target=open_without_results)
    other.start()
    written = 0
    try:
        while written < 40:
            with suppress(ConfigError), open_journal(path, is_resumed=True) as journal:
                asyncio.run(journal.append(TaskResult(id="a", status="done")))
                assert path.exists(), f"the results of round {written} are lost"
                written += 1
                path.unlink()
    finally:
        ended.set()
        other.join()
