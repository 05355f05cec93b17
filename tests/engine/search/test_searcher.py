"""What is found, in which order, and that it is as the records are at this moment."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from opencode_tui.engine.search.index import Index, IndexFiles
from opencode_tui.engine.search.store_view import StoreView
from opencode_tui.schema.session.part import PatchPart
from tests.support.faults.file_system import FaultyFiles
from tests.support.sessions.records import assistant, call, owner, reasoning, text, user
from tests.support.sessions.searched import DAY, SearchStore, now_ms


def write_two(store: SearchStore) -> None:
    store.write("ses_a", user("wait with retryBackoff"), assistant("use jitter"), title="Survive 429s")
    store.write("ses_b", user("another retry"), title="Backoff")


def test_words_are_searched_in_prompts_answers_reasoning_calls_and_files(store: SearchStore):
    store.write(
        "ses_a",
        user("ask about apples"),
        assistant(
            reasoning("think of pears"),
            call("1", "bash", given={"command": "ls plums"}, output="cherries", title="list figs"),
            call("2", "read", status="error", given={"filePath": "/p/lemons.txt"}, output="no limes"),
            PatchPart(**owner(), hash="a" * 40, files=["/p/src/melons.py"]),
            "answer with grapes",
        ),
    )
    kinds = {
        word: [(hit.kind, hit.tool) for group in store.search(word).groups for hit in group.hits]
        for word in ("apples", "pears", "plums", "cherries", "figs", "lemons", "limes", "melons", "grapes")
    }
    assert kinds == {
        "apples": [("prompt", None)],
        "pears": [("reasoning", None)],
        "plums": [("tool", "bash")],
        "cherries": [("tool", "bash")],
        "figs": [("tool", "bash")],
        "lemons": [("tool", "read")],
        "limes": [("tool", "read")],
        "melons": [("files", None)],
        "grapes": [("answer", None)],
    }


def test_only_the_beginning_of_an_output_is_searched_and_all_of_an_error(store: SearchStore):
    long = "x " * 3_000
    store.write("ses_a", assistant(call("1", "bash", output=f"early {long} late")))
    store.write("ses_b", assistant(call("1", "bash", status="error", output=f"{long} reason")))
    assert (store.sessions("early"), store.sessions("late"), store.sessions("reason")) == (["ses_a"], [], ["ses_b"])


def test_what_the_program_wrote_for_the_model_is_not_found(store: SearchStore):
    store.write("ses_a", user(text("hidden", synthetic=True), "shown"))
    assert (store.sessions("hidden"), store.sessions("shown")) == ([], ["ses_a"])


def test_titles_come_first_then_the_newest(store: SearchStore):
    write_two(store)
    store.write("ses_c", user("the newest retry"))
    result = store.search("backoff")
    assert [(one.session_id, one.count) for one in result.groups] == [("ses_b", 0), ("ses_a", 1)]
    assert [result.groups[0].title[start:end] for start, end in result.groups[0].marks] == ["Backoff"]
    assert store.sessions("retry") == ["ses_c", "ses_b", "ses_a"]


def test_by_relevance_the_session_that_says_it_most_often_is_first(store: SearchStore):
    store.write("ses_a", user("needle needle needle"))
    store.write("ses_b", user(f"needle {'hay ' * 200}"))
    assert store.sessions("needle") == ["ses_b", "ses_a"]
    assert store.sessions("needle", order="relevance") == ["ses_a", "ses_b"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("retry jitter", []),
        ("wait retry", ["ses_a"]),
        ('"another retry"', ["ses_b"]),
        ('"retry another"', []),
        ("retr*", ["ses_b", "ses_a"]),
        ("ret", []),
        ("retry -another", ["ses_a"]),
        ("-another retry", ["ses_a"]),
        ("RETRY", ["ses_b", "ses_a"]),
        ("retryBackoff", ["ses_a"]),
        ("retrybackoff", ["ses_a"]),
        ("role:user retry", ["ses_b", "ses_a"]),
        ("role:assistant jitter", ["ses_a"]),
        ("role:assistant retry", []),
        ("-role:user jitter", ["ses_a"]),
        ("tool:bash", []),
        ("since:yesterday retry", []),
        ("since:1y retry", ["ses_b", "ses_a"]),
        ("project:. retry", ["ses_b", "ses_a"]),
        ("project:nowhere retry", []),
    ],
)
def test_the_query_language(store: SearchStore, query: str, found: list[str]):
    write_two(store)
    assert store.sessions(query) == found


def test_filters_for_tools_files_and_projects(store: SearchStore):
    store.write(
        "ses_a",
        assistant(call("1", "bash", given={"command": "cat src/app.py"}), call("2", "my-mcp_tool", given={"q": "x"})),
        assistant(call("3", "edit", given={"filePath": "/home/me/shop/src/app.py", "newString": "y"})),
        directory="/home/me/shop",
        project_id="one",
    )
    store.write("ses_b", assistant(call("4", "bash", given={"command": "pwd"})), directory="/x/csv", project_id="two")
    assert store.sessions("tool:bash") == ["ses_b", "ses_a"]
    assert store.texts("tool:my-mcp_tool") == ["x out"]
    assert store.texts("file:src/app.py") == ["/home/me/shop/src/app.py"]
    assert store.sessions("tool:bash project:shop") == ["ses_a"]
    assert store.sessions("tool:bash project:.", project="two") == ["ses_b"]
    assert store.sessions("tool:bash", project="two", is_here=True) == ["ses_b"]
    assert store.search("tool:edit project:csv").unknown_project is None
    assert store.search("tool:edit project:nowhere").unknown_project == "nowhere"


@pytest.mark.parametrize("query", ["退避", "略", "重", "重试退避策略", "café", "cafe", "CAFÉ", "naïve 退避"])
def test_scripts_without_spaces_and_diacritics(store: SearchStore, query: str):
    store.write("ses_a", user("the naïve Café uses 重试退避策略 and more"))
    store.write("ses_b", user("退 and 避, cat 重复"))
    assert "ses_a" in store.sessions(query)
    assert store.sessions("避退") == []


def test_a_word_that_is_being_typed_finds_longer_words(store: SearchStore):
    write_two(store)
    assert store.sessions("jit", is_typing=True) == ["ses_a"]
    assert store.sessions("ji", is_typing=True) == []
    assert store.sessions("jit ", is_typing=True) == []


def test_a_query_without_a_result_finds_similar_words(store: SearchStore):
    write_two(store)
    result = store.search("jittr")
    assert (result.corrected, [one.session_id for one in result.groups]) == ("jitter", ["ses_a"])
    assert store.search("zzzzzzzz").groups == []


def test_marks_are_where_the_words_are(store: SearchStore):
    store.write("ses_a", user(f"{'before ' * 50} wait for the Needle and the haystack {'after ' * 50}"))
    [hit] = store.search('needle "the haystack"').groups[0].hits
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["Needle", "the haystack"]
    assert hit.snippet.startswith("…") and hit.snippet.endswith("…") and len(hit.snippet) < 200


def test_a_deleted_session_has_no_hit_at_once_and_has_them_again_when_it_is_back(store: SearchStore, tmp_path: Path):
    write_two(store)
    assert store.sessions("retry") == ["ses_b", "ses_a"]
    record = store.paths.storage / "session" / "global" / "ses_b.json"
    shutil.move(record, tmp_path / "trash.json")
    assert (store.sessions("retry"), store.sessions("backoff")) == (["ses_a"], ["ses_a"])
    shutil.move(tmp_path / "trash.json", record)
    assert (store.sessions("retry"), store.sessions("backoff")) == (["ses_b", "ses_a"], ["ses_b", "ses_a"])


def test_what_another_process_writes_is_found_by_the_next_query(store: SearchStore):
    write_two(store)
    other = store.open()
    assert store.sessions("fresh") == []
    store.write("ses_c", user("something fresh"))
    assert store.sessions("fresh") == ["ses_c"]
    store.write("ses_a", user("also fresh"), title="Renamed")
    assert store.sessions("fresh") == ["ses_a", "ses_c"] and store.sessions("renamed") == ["ses_a"]
    assert len(other.search(_request("fresh"), "global").groups) == 2
    other.close()


def _request(query: str):
    from opencode_tui.schema.api.search import SearchRequest

    return SearchRequest(query=query)


def test_a_part_that_changed_or_is_gone_is_never_shown_as_it_was(store: SearchStore):
    write_two(store)
    time.sleep(0.15)  # else the files are young, and are read again anyway
    assert store.sessions("jitter") == ["ses_a"]
    [part] = [one for one in store.paths.storage.glob("part/*/*.json") if "jitter" in one.read_text()]
    fields = json.loads(part.read_text())
    part.write_text(json.dumps({**fields, "text": "use luck"}))  # in place: no folder shows it
    assert store.sessions("jitter") == []
    assert store.texts("luck") == ["use luck"]
    part.unlink()
    assert store.sessions("luck") == []


def test_changes_of_a_session_are_indexed_without_a_look_at_the_others(store: SearchStore):
    write_two(store)
    files = FaultyFiles()
    view = StoreView(files, str(store.paths.storage))
    everything = view.scan()
    assert len(everything) == 2
    files.log.clear()
    assert view.look(["ses_a", "ses_none", "../ses_a"]) == {"ses_a": everything["ses_a"]}
    assert any("ses_a" in str(target) for _, target in files.log)
    assert not any("ses_b" in str(target) for _, target in files.log)
    assert store.sessions("fresh") == []
    store.write("ses_c", user("something fresh"))
    store.searcher.update(["ses_c", "ses_none"])
    path = IndexFiles(store.paths.cache, str(store.paths.storage)).current()
    assert path is not None
    index = Index(path)
    assert sorted(index.sessions()) == ["ses_a", "ses_b", "ses_c"]
    index.close()


def test_a_removed_message_is_not_found(store: SearchStore):
    write_two(store)
    assert store.sessions("jitter") == ["ses_a"]
    [message] = [one.parent.name for one in store.paths.storage.glob("part/*/*.json") if "jitter" in one.read_text()]
    (store.paths.storage / "message" / "ses_a" / f"{message}.json").unlink()
    shutil.rmtree(store.paths.storage / "part" / message)
    assert store.sessions("jitter") == []


def test_damaged_records_affect_only_themselves(store: SearchStore):
    write_two(store)
    storage = store.paths.storage
    (storage / "session" / "global" / "ses_x.json").write_text("{")
    (storage / "session" / "global" / "ses_y.json").write_text("[1]")
    part = next(iter(storage.glob("part/*/*.json")))
    (part.parent / "prt_broken.json").write_bytes(b"\x00\xff")
    (part.parent / "prt_odd.json").write_text('{"type": "tool", "state": 5}')
    (part.parent / "prt_nested.json").write_text("[" * 100_000 + "]" * 100_000)
    result = store.search("retry")
    assert [one.session_id for one in result.groups] == ["ses_b", "ses_a"] and result.is_complete


@pytest.mark.slow
def test_many_parts_of_one_message_and_many_messages_of_one_second(store: SearchStore):
    store.write("ses_a", assistant(*[f"word{number} shared" for number in range(200)]))
    began = store.began
    for number in range(30):
        store.began = began
        store.write(f"ses_b{number}", user(f"same second {number}"))
    assert [store.sessions(f"word{number}") for number in (0, 63, 64, 199)] == [["ses_a"]] * 4
    assert store.search("shared").matches == 200
    assert len(store.sessions('"same second"')) == 30


def test_times_of_hits_and_the_last_weeks(store: SearchStore):
    store.began = now_ms() - 20 * DAY
    store.write("ses_a", user("old apple"))
    store.began = now_ms() - 3 * DAY
    store.write("ses_b", user("new apple"))
    assert store.sessions("apple since:2w") == ["ses_b"]
    assert store.sessions("apple since:4w") == ["ses_b", "ses_a"]
    assert store.search("apple since:soon").ignored == ["since:soon"]
    [group] = store.search("apple since:2w").groups
    assert abs(group.hits[0].time - (now_ms() - 3 * DAY)) < 120_000


def test_a_store_without_anything(store: SearchStore):
    result = store.search("anything")
    assert (result.groups, result.sessions, result.is_complete, result.problem) == ([], 0, True, None)


def test_a_cache_folder_that_cannot_be_used_is_reported(store: SearchStore):
    write_two(store)
    shutil.rmtree(store.paths.cache)
    store.paths.cache.write_text("a file")
    result = store.search("retry")
    assert result.groups == [] and not result.is_complete
    assert result.problem is not None and str(store.paths.cache) in result.problem
    os.unlink(store.paths.cache)
    assert store.sessions("retry") == ["ses_b", "ses_a"]
