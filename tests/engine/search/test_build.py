"""The child process that builds the index looks at a store once, reads each record once, and continues what was killed."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.search import build
from opencode_tui.engine.search.fields import MessageFields, SessionFields, as_ms, message_fields, parse, session_fields
from opencode_tui.engine.search.index import Index, IndexFiles
from opencode_tui.engine.search.store_view import Found, SessionDraft, StoreView
from opencode_tui.schema.json_text import as_object
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.process_lock import ProcessLock
from tests.support.sessions.records import assistant, user
from tests.support.sessions.searched import SearchStore

YOUNG_S = 0.15
"""Seconds after which what was written may not change again with the same time."""


class Killed(Exception):
    """The build ends here, as after a kill."""


class Watched(StoreView):
    """Counts looks at the store, keeps the names of the records that were read, and ends a build after some sessions."""

    def __init__(self, store: SearchStore, *, ends_after: int = 1_000) -> None:
        super().__init__(FileSystem(), str(store.paths.storage))
        self.looks = 0
        self.records: list[str] = []
        self.drafts: list[str] = []
        self._ends_after = ends_after

    def scan(self) -> dict[str, Found]:
        self.looks += 1
        return super().scan()

    def record(self, name: str, found: Found) -> SessionFields | None:
        self.records.append(name)
        return super().record(name, found)

    def draft(self, name: str, found: Found, *arguments: object, **options: object) -> SessionDraft:
        if len(self.drafts) == self._ends_after:
            raise Killed
        self.drafts.append(name)
        return super().draft(name, found, *arguments, **options)  # pyright: ignore[reportArgumentType] - as they were given


def fill(store: SearchStore, count: int = 4) -> list[str]:
    """Write sessions; return their names, the newest first."""
    names = [f"ses_{number}" for number in range(count)]
    for name in names:
        store.write(name, user(f"apple {name}"), assistant(f"pear {name}"), title=f"title {name}")
        time.sleep(0.01)  # the newest one is known by the time of its files
    time.sleep(YOUNG_S)
    return names[::-1]


def files(store: SearchStore) -> IndexFiles:
    return IndexFiles(store.paths.cache, str(store.paths.storage))


def titles(store: SearchStore) -> dict[str, str]:
    path = files(store).current()
    assert path is not None
    index = Index(path)
    try:
        return {name: row.title for name, row in index.sessions().items()}
    finally:
        index.close()


def test_a_store_that_nobody_changes_is_looked_at_once_and_each_record_is_read_once(store: SearchStore):
    names = fill(store)
    view = Watched(store)
    build.build(view, files(store))
    assert (view.looks, view.records) == (1, names)
    assert store.search("pear").matches == 4


def test_a_session_that_is_written_meanwhile_is_indexed_too(store: SearchStore):
    fill(store)

    class Growing(Watched):
        def draft(self, name: str, found: Found, *arguments: object, **options: object) -> SessionDraft:
            if not self.drafts:
                store.write("ses_new", user("apple new"), title="title new")
                time.sleep(YOUNG_S)
            return super().draft(name, found, *arguments, **options)

    build.build(Growing(store), files(store))
    assert titles(store)["ses_new"] == "title new" and len(titles(store)) == 5


def test_a_build_that_was_killed_has_all_titles_and_continues_without_reading_those_records_again(
    store: SearchStore, monkeypatch: pytest.MonkeyPatch
):
    names = fill(store)
    monkeypatch.setattr(build, "TITLES_S", 0.0)
    with pytest.raises(Killed):
        build.build(Watched(store, ends_after=2), files(store))
    assert titles(store) == {name: f"title {name}" for name in names}
    view = Watched(store)
    build.build(view, files(store))
    assert view.drafts == names[1:] and view.records == []
    assert store.search("apple").matches == store.search("pear").matches == 4


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_record_that_changed_after_its_title_was_read_is_read_again(
    store: SearchStore, monkeypatch: pytest.MonkeyPatch, is_moved: bool
):
    names = fill(store)
    monkeypatch.setattr(build, "TITLES_S", 0.0)
    with pytest.raises(Killed):
        build.build(Watched(store, ends_after=1), files(store))
    record = store.paths.storage / "session" / "global" / f"{names[-1]}.json"
    if is_moved:  # the state of its files is as before
        (record.parents[1] / "other").mkdir()
        record.rename(record.parents[1] / "other" / record.name)
    else:
        record.write_text(json.dumps({**json.loads(record.read_text()), "title": "title changed"}))
    time.sleep(YOUNG_S)
    view = Watched(store)
    build.build(view, files(store))
    assert view.records == [names[-1]]
    assert titles(store)[names[-1]] == ("title ses_0" if is_moved else "title changed")
    assert [group.project_id for group in store.search('"pear ses_0"').groups] == ["other" if is_moved else "global"]


def test_a_session_that_another_process_wrote_meanwhile_is_left_out(store: SearchStore):
    name = fill(store)[0]
    view, path = Watched(store), files(store).new()
    one, other = Index(path, create=True), Index(path)
    found = view.scan()
    assert one.known([name]) == {}
    draft = view.draft(name, found[name], {}, None)
    assert other.write([draft]) == {name: True}
    assert one.write([draft]) == {} and one.counts() == other.counts() == (2, 0)
    row = one.known([name])[name]
    again = view.draft(name, found[name], one.messages(row, row.project), row.version)
    assert one.write([again]) == {name: True} and one.write([again]) == {}
    one.close()
    other.close()


def test_a_second_child_for_the_same_store_ends_at_once(store: SearchStore):
    fill(store)
    lock = store.paths.lock / "search"
    with ProcessLock(str(lock)):
        assert build.start_build(str(store.paths.storage), store.paths.cache, lock).wait() == 0
        assert files(store).current() is None
    assert build.start_build(str(store.paths.storage), store.paths.cache, lock).wait() == 0
    assert len(titles(store)) == 4


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([0, -1, 1 << 80, "\ud800", 12.5]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["created", "completed"]), inner),
    max_leaves=4,
)
NUMBERS = st.integers(0, 1 << 46) | st.floats(0, 1e14)
TIMES = st.dictionaries(st.sampled_from(["created", "updated", "archived", "completed"]), NUMBERS | VALUES)
ROLES = st.sampled_from(["user", "assistant"])
TEXTS = st.text() | st.sampled_from(["  a \n b ", "x" * 5_000, "\ud800"])
RECORDS = st.fixed_dictionaries(
    {},
    optional={
        "role": ROLES | VALUES,
        "time": TIMES | VALUES,
        "title": TEXTS | VALUES,
        "directory": TEXTS | VALUES,
        "parentID": TEXTS | VALUES,
        "other": VALUES,
    },
)


@given(RECORDS, st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=2), st.integers(0, 3)), max_size=2))
def test_damaged_and_odd_records_give_what_the_whole_object_gives(
    record: dict[str, object], damages: list[tuple[float, bytes, int]]
):
    data = json.dumps(record).encode()
    for where, inserted, removed in damages:
        at = int(where * len(data))
        data = data[:at] + inserted + data[at + removed :]
    whole = parse(data)
    if whole is None:
        assert session_fields(data) is None and message_fields(data) is None
        return
    times = as_object(whole.get("time"))
    shown = [
        text.encode("utf-8", "replace").decode()[:4_000] if isinstance(text := whole.get(key), str) else ""
        for key in ("directory", "title", "parentID")
    ]
    assert session_fields(data) == SessionFields(
        shown[0],
        " ".join(shown[1].split()),
        shown[2] or None,
        as_ms(times.get("updated")) or as_ms(times.get("created")),
        as_ms(times.get("archived")) or None,
    )
    is_open = whole.get("role") == "assistant" and times.get("completed") is None
    assert message_fields(data) == MessageFields(as_ms(times.get("created")), whole.get("role") == "user", is_open)


def test_a_record_that_is_nested_too_deeply_is_damaged():
    data = b'{"other":' + b"[" * 100_000
    assert session_fields(data) is None and message_fields(data) is None
