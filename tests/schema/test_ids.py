import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opencode_tui.schema.ids import (
    Identifier,
    is_identifier,
    is_made_after,
    moment,
    session_field,
    spans_wrap,
    time_field,
)
from tests.support.rows import each

BEFORE_WRAP = 1_786_706_394_000
AFTER_WRAP = 1_786_706_396_000


def test_id_has_prefix_time_counter_and_random_tail():
    name = Identifier(lambda: 1_795_142_494_440).ascending("msg")
    assert name.startswith("msg_1f6d4a8e8001")
    assert len(name) == 30


def test_ascending_ids_strictly_increase_while_the_clock_stands_still():
    make = Identifier(lambda: 1_795_142_494_440)
    names = [make.ascending("prt") for _ in range(10_000)]
    assert names == sorted(set(names))


def test_ascending_ids_increase_when_the_clock_goes_back():
    times = iter([2_000, 1_000, 500])
    make = Identifier(lambda: next(times))
    names = [make.ascending("prt") for _ in range(3)]
    assert names == sorted(names)


def test_descending_ids_put_the_newest_session_first():
    make = Identifier(lambda: 1_795_142_494_440)
    names = [make.descending("ses") for _ in range(100)]
    assert names == sorted(names, reverse=True)


def test_an_observed_client_id_moves_the_generator_past_it():
    client = Identifier(lambda: 1_795_142_494_440 + 30_000).ascending("msg")
    make = Identifier(lambda: 1_795_142_494_440)
    make.observe([client])
    assert make.ascending("msg") > client


DAY = 86_400_000


@each("days", [0.001, 1, 30, 365, 390])
def test_the_generator_goes_on_behind_ids_of_a_clock_that_was_ahead(days: float):
    for now in (1_795_142_494_440, BEFORE_WRAP, AFTER_WRAP, BEFORE_WRAP - 200 * DAY):
        ahead = int(days * DAY)
        stored = [Identifier(lambda at=at: at).ascending("msg") for at in (now - DAY, now + ahead, now)]
        make = Identifier(lambda now=now: now)
        make.observe_made(zip([*stored, "msg_foreign"], (now - DAY, now + ahead, now, now), strict=True))
        names = [*stored[:2], make.ascending("msg"), make.ascending("msg")]
        assert sorted(reversed(names), key=lambda name: moment(name, now)) == [stored[0], *names[1:]]


@each("days", [-1, -30, -365, -390, -397, -398, -400, -500, -700, -790])
def test_an_old_session_moves_nothing(days: int):
    now = 1_795_142_494_440
    stored = Identifier(lambda: now + days * DAY).ascending("msg")
    for make in (Identifier(lambda: now), Identifier(lambda: now)):
        make.observe_made([(stored, now + days * DAY)])
        assert make.ascending("msg").startswith("msg_1f6d4a8e8001")
    make.observe([stored])
    assert make.ascending("msg").startswith("msg_1f6d4a8e8")


@each("created", [-(10**18), 0, 10**15, 10**18])
def test_a_record_with_an_absurd_time_does_not_move_the_ids_of_others(created: int):
    make = Identifier(lambda: 1_795_142_494_440)
    make.observe_made([(Identifier(lambda: 1_795_142_494_440 - DAY).ascending("msg"), created)])
    assert make.ascending("msg").startswith("msg_1f6d4a8e8")


def test_the_messages_of_a_fork_are_made_after_its_id_although_the_clock_went_back():
    now = 1_795_142_494_440
    copied = Identifier(lambda: now).ascending("msg")
    make = Identifier(lambda: now - 10)
    make.observe([copied])
    fork = make.descending("ses")
    later = Identifier(lambda: now - 7_200_000)
    later.observe_session(fork)
    field = session_field(fork) or 0
    assert is_made_after(later.ascending("msg"), field) and not is_made_after(copied, field)


@each(
    ("name", "created", "later_name", "later_created"),
    [
        ("msg_fffffffff001", BEFORE_WRAP, "msg_000000001001", AFTER_WRAP),
        ("msg_000000360001", AFTER_WRAP, "msg_000000360002", BEFORE_WRAP),
        ("msg_zzz", BEFORE_WRAP, "msg_000000001001", AFTER_WRAP),
        ("msg_fffffffff001", BEFORE_WRAP, "msg_zzz", AFTER_WRAP),
        ("msg_fffffffff001", -5, "msg_fffffffff001", 10**18),
    ],
)
def test_records_on_both_sides_of_a_wrap_have_keys_in_their_order(
    name: str, created: int, later_name: str, later_created: int
):
    assert moment(name, created) < moment(later_name, later_created)


def test_names_on_both_sides_of_the_wrap_are_noticed():
    old = Identifier(lambda: BEFORE_WRAP).ascending("msg")
    new = Identifier(lambda: AFTER_WRAP).ascending("msg")
    assert new < old
    assert spans_wrap([new, old])
    assert not spans_wrap([old]) and not spans_wrap([])


def test_names_without_a_time_field_have_no_order_of_their_own():
    assert time_field("msg_old1") is None
    assert spans_wrap(["msg_old1"])


@pytest.mark.slow
@example("a\n")
@example("a/../b")
@given(st.text())
def test_no_text_with_a_path_in_it_passes_as_an_id(text: str):
    if is_identifier("ses_" + text, "ses"):
        assert text.isalnum() and text.isascii()
