"""A missing, damaged, locked or older index costs time only; hits equal a pass over the texts."""

import random
import shutil
import sqlite3
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.search import build, refresh
from opencode_tui.engine.search import index as index_module
from opencode_tui.engine.search.index import Index, IndexFiles
from opencode_tui.engine.search.query import parse_query
from opencode_tui.engine.search.store_view import StoreView
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.paths import Paths
from tests.support.hostile.strings import HOSTILE
from tests.support.search.oracle import Oracle, count_lines, write_lines
from tests.support.search.stored_text import read_store, write_store
from tests.support.sessions.records import assistant, user
from tests.support.sessions.searched import SearchStore

SYNTAX = (
    *(
        '"',
        "'",
        "(",
        ")",
        "*",
        "^",
        "+",
        "-",
        ":",
        "{",
        "}",
        " ",
        "  ",
        "\\",
        "\0",
        "\n",
        "a",
        "NEAR(",
        "AND ",
        " OR ",
        "NOT ",
    ),
    *(
        "body:",
        "path : ",
        "extra:",
        "tool:",
        "file:",
        "role:",
        "project:",
        "since:",
        "since:99999y ",
        "since:0001-01-01",
        "-",
    ),
    *(
        "rank ",
        "fts ",
        "\ue000",
        "\ud800",
        "\U0010fffd",
        "重",
        "é" * 30,
        "x" * 500,
        "%",
        "_",
        ";--",
        "project:. ",
        '-"',
    ),
)
"""Pieces of the syntax of FTS5 and of the query language, and texts that are hard for both."""


def fill(store: SearchStore) -> None:
    for number in range(5):
        store.write(f"ses_{number}", user(f"apple {number}"), assistant(f"pear {number}"))


def database(store: SearchStore) -> Path:
    path = IndexFiles(store.paths.cache, str(store.paths.storage)).current()
    assert path is not None
    return path


def fresh(store: SearchStore) -> SearchStore:
    """Return the store with another searcher, as a new process has it."""
    store.searcher.close()
    store.searcher = store.open()
    return store


def test_more_sessions_than_are_asked_for_at_once_are_found_and_followed(
    store: SearchStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(refresh, "_AHEAD", 3)
    monkeypatch.setattr(index_module, "_ASKED", 2)
    fill(store)
    assert sorted(store.sessions("apple")) == [f"ses_{number}" for number in range(5)]
    store.write("ses_3", user("plum"))
    store.write("ses_5", user("plum"))
    assert sorted(store.sessions("plum")) == ["ses_3", "ses_5"]
    assert sorted(fresh(store).sessions("pear")) == [f"ses_{number}" for number in range(5)]


@pytest.mark.slow
def test_random_words_are_found_where_a_pass_over_the_texts_finds_them(store: SearchStore, tmp_path: Path):
    oracle = Oracle()
    for part in write_store(store.paths.storage, 8):
        oracle.add(part)
    again = Oracle()
    write_lines(tmp_path / "lines", again.following(read_store(store.paths.storage)))
    assert Counter(again.sessions) == Counter(oracle.sessions) and len(oracle.sessions) == 800
    while not store.search("x").is_complete:
        time.sleep(0.05)
    words = random.Random(1).sample(sorted(oracle.parts), 400)
    index = Index(database(store))
    names = {row.id: row.name for row in index.sessions().values()}
    for word in words:
        expression = parse_query(word, now=_now()).expression(None)
        rows = index.newest(expression, since=0, before=None, limit=100_000)
        assert Counter(names[row.session] for row in rows if row is not None) == oracle.count(word), word
    index.close()
    some = [word for word in words if word.isalpha()][:5]
    assert [count_lines(tmp_path / "lines", word) for word in some] == [len(oracle.parts[word]) for word in some]


def _now():
    from datetime import UTC, datetime

    return datetime.now(UTC)


@pytest.mark.parametrize("damage", ["missing", "empty", "garbage", "truncated", "older", "pointer"])
def test_an_index_that_cannot_be_used_is_made_again(store: SearchStore, damage: str):
    fill(store)
    assert len(store.sessions("apple")) == 5
    path = database(store)
    store.searcher.close()
    match damage:
        case "missing":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "garbage":
            path.write_bytes(b"\x00garbage" * 5_000)
        case "truncated":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        case "older":
            base = sqlite3.connect(path)
            base.execute("DROP TABLE message")
            base.commit()
            base.close()
        case _:
            IndexFiles(store.paths.cache, str(store.paths.storage)).pointer.write_bytes(b"\xff/../..")
    store.searcher = store.open()
    result = store.search("apple")
    assert ([one.session_id for one in result.groups], result.problem) == ([f"ses_{n}" for n in (4, 3, 2, 1, 0)], None)


def test_an_index_damaged_while_it_is_open_is_made_again(store: SearchStore):
    fill(store)
    assert len(store.sessions("apple")) == 5
    path = database(store)
    base = sqlite3.connect(path)
    base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    base.execute("DELETE FROM fts_data WHERE id > 10")
    base.commit()
    base.close()
    assert len(fresh(store).sessions("pear")) == 5
    assert database(store) != path


def test_a_locked_index_answers_with_what_it_has_and_says_that_it_is_not_all(store: SearchStore):
    fill(store)
    assert len(store.sessions("apple")) == 5
    time.sleep(0.15)
    assert len(store.sessions("apple")) == 5  # the files are no longer young: they need not be read again
    holder = sqlite3.connect(database(store), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    store.write("ses_new", user("apple new"))
    result = store.search("apple")
    assert (len(result.groups), result.indexed, result.sessions) == (5, 5, 6)
    holder.execute("ROLLBACK")
    holder.close()
    assert store.sessions("apple")[0] == "ses_new"


def test_a_full_disk_is_reported_and_what_is_indexed_is_found(store: SearchStore):
    fill(store)
    assert len(store.sessions("apple")) == 5
    index = store.searcher._index
    assert index is not None
    pages = index._db.execute("PRAGMA page_count").fetchone()[0]
    index._db.execute(f"PRAGMA max_page_count = {pages}")
    store.write("ses_new", user(" ".join(f"apple{number}" for number in range(20_000))))
    result = store.search("apple")
    assert len(result.groups) == 5 and not result.is_complete
    assert result.problem is not None and "disk is full" in result.problem
    index._db.execute("PRAGMA max_page_count = 100000")
    assert store.sessions("apple777") == ["ses_new"]


@pytest.mark.slow
def test_when_a_fifth_of_the_parts_are_dead_the_index_is_made_anew(store: SearchStore):
    store.write("ses_kept", *[assistant(*[f"apple {number} {at}" for at in range(50)]) for number in range(40)])
    store.write("ses_old", *[assistant(*[f"plum {number} {at}" for at in range(50)]) for number in range(15)])
    files = IndexFiles(store.paths.cache, str(store.paths.storage))
    view = StoreView(FileSystem(), str(store.paths.storage))
    build.build(view, files)
    before = database(store)
    assert store.search("plum").matches == 750
    shutil.rmtree(store.paths.storage / "message" / "ses_old")
    build.build(view, files)
    assert database(store) == before
    build.build(view, files)  # this one finds that they are dead
    assert database(store) != before and not before.exists()
    index = Index(database(store))
    assert index.counts() == (2_000, 0)
    index.close()
    assert (store.search("plum").matches, store.search("apple").matches) == (0, 2_000)


def test_the_words_for_similar_words_stay_beside_the_database(store: SearchStore):
    fill(store)
    files = IndexFiles(store.paths.cache, str(store.paths.storage))
    view = StoreView(FileSystem(), str(store.paths.storage))
    build.build(view, files)
    first = database(store)
    assert {"apple", "pear"} <= set(build.words_file(first).read_text().split("\n"))
    files.discard(first)
    build.build(view, files)
    assert build.words_file(database(store)).exists()
    assert not first.exists() and not build.words_file(first).exists()


def test_a_second_store_in_the_same_cache_folder_has_an_index_of_its_own(store: SearchStore, tmp_path: Path):
    fill(store)
    assert len(store.sessions("apple")) == 5
    other = Paths(
        home=tmp_path, data=tmp_path / "other", config=tmp_path, state=tmp_path / "state", cache=store.paths.cache
    )
    second = SearchStore(other)
    second.write("ses_z", user("apple there"))
    assert second.sessions("apple") == ["ses_z"] and len(store.sessions("apple")) == 5
    second.searcher.close()


@pytest.mark.slow
def test_hostile_queries_never_raise(store: SearchStore):
    store.write("ses_bad", *[user(text) for text in HOSTILE if text.strip()])
    pieces = [*HOSTILE, *SYNTAX]
    chance = random.Random(4)
    queries = {"".join(chance.choices(pieces, k=chance.randint(1, 7)))[:4_000] for _ in range(700)}
    assert len(queries) >= 500
    for query in queries:
        result = store.search(query, is_typing=chance.random() < 0.5, order=chance.choice(["newest", "relevance"]))
        assert result.problem is None and result.is_complete, query


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_text_is_a_query_that_sqlite_accepts(text: str):
    base = sqlite3.connect(":memory:")
    base.execute("CREATE VIRTUAL TABLE fts USING fts5(body, extra, path, content='')")
    for typed in (True, False):
        expression = parse_query(text, now=_now(), is_typing=typed).expression(None)
        assert base.execute("SELECT rowid FROM fts WHERE fts MATCH ?", (expression,)).fetchall() == []
    base.close()


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(["alpha", "betaGamma", "delta_x", "文字列", "é", "NOT", "AND", '"', "-", "*"]), min_size=1)
)
def test_a_text_is_found_by_itself_as_a_phrase(picked: list[str]):
    from opencode_tui.engine.search import words

    text = " ".join(picked).replace('"', " ")
    if not words.has_words(text):
        return
    base = sqlite3.connect(":memory:")
    base.execute("CREATE VIRTUAL TABLE fts USING fts5(body, extra, path, content='', tokenize='unicode61')")
    base.execute("INSERT INTO fts(rowid, body) VALUES(1, ?)", (words.indexed(f"before {text} after"),))
    expression = parse_query(f'"{text}"', now=_now()).expression(None)
    assert base.execute("SELECT rowid FROM fts WHERE fts MATCH ?", (expression,)).fetchall() == [(1,)]
    base.close()
