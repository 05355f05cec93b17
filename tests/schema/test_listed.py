"""Sessions as lists show them, and as they are sent."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.schema.session.listed import ListedSession, listed
from opencode_tui.schema.session.session import SessionInfo

SOURCE = "ses_e08a11110000AAAAAAAAAAAAAA"
ANYTHING: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=5), st.just({})
)
SCOPE = {"messageID": "msg_1", "requests": 3}


def record(**fields: object) -> dict[str, Any]:
    base = {"id": "ses_1", "version": "1", "projectID": "p", "directory": "/p", "title": "t"}
    return {**base, "time": {"created": 1, "updated": 2}, **fields}


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """A record as this or another program may have written it."""
    metadata = {
        "pinned": draw(ANYTHING),
        "cost": 0.5,
        "forkedFrom": draw(
            st.one_of(
                ANYTHING,
                st.fixed_dictionaries(
                    {"sessionID": st.sampled_from([SOURCE, "../x", 7])}, optional={"messageID": ANYTHING}
                ),
            )
        ),
        "undo": draw(st.one_of(ANYTHING, st.just({"report": {"scope": SCOPE}}), st.just({"report": {"scope": 4}}))),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(metadata))))
    optional: dict[str, object] = {
        "parentID": draw(st.text(max_size=5)),
        "summary": {"additions": 4, "deletions": 2, "files": 1, "diffs": []},
        "share": {"url": "https://share.example/1"},
        "revert": {"messageID": "msg_1", "diff": "x"},
        "metadata": {key: metadata[key] for key in sorted(chosen)},
        "slug": "calm-river",
        "ofAnotherProgram": draw(ANYTHING),
    }
    times: dict[str, int] = {"created": draw(st.integers(-5, 10**13)), "updated": draw(st.integers(0, 10**13))}
    if draw(st.booleans()):
        times["archived"] = 5
    given_ones = draw(st.sets(st.sampled_from(sorted(optional))))
    return record(title=draw(st.text(max_size=20)), time=times, **{key: optional[key] for key in sorted(given_ones)})


@given(st.lists(records(), max_size=5))
def test_they_travel_as_json(found: list[dict[str, Any]]) -> None:
    rows = [listed(SessionInfo.model_validate(one)) for one in found]
    assert msgspec.json.decode(msgspec.json.encode(rows), type=list[ListedSession]) == rows


def test_what_lists_choose_and_draw_by_is_there() -> None:
    given_one = record(
        parentID="ses_0",
        time={"created": 1, "updated": 2, "archived": 3},
        summary={"additions": 4, "deletions": 2},
        share={"url": "https://share.example/1"},
        revert={"messageID": "msg_1"},
        metadata={
            "pinned": True,
            "forkedFrom": {"sessionID": SOURCE, "messageID": "msg_9"},
            "undo": {"report": {"scope": SCOPE}},
        },
    )
    one = listed(SessionInfo.model_validate(given_one))
    assert (one.created, one.updated, one.is_archived, one.parent_id) == (1, 2, True, "ses_0")
    assert (one.fork_of, one.fork_before, one.origin) == (SOURCE, "msg_9", "ses_0")
    assert (one.is_pinned, one.is_shared, one.is_undone, one.undone_requests) == (True, True, True, 3)
    assert (one.has_changes, one.additions, one.deletions) == (True, 4, 2)


def test_a_plain_session_has_none_of_that() -> None:
    one = listed(SessionInfo.model_validate(record()))
    assert one == ListedSession("ses_1", "t", "/p", 1, 2)
