from hypothesis import example, given
from hypothesis import strategies as st

from opencode_tui.schema.ids import Identifier, is_identifier, moment, spans_wrap, time_field
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
        make.observe([*stored, "msg_foreign"])
        names = [*stored[:2], make.ascending("msg"), make.ascending("msg")]
        assert sorted(reversed(names), key=lambda name: moment(name, now)) == [stored[0], *names[1:]]


@each("days", [-1, -30, -365, -390, 400, 700])
def test_an_id_that_is_behind_by_the_shorter_way_moves_nothing(days: int):
    stored = Identifier(lambda: 1_795_142_494_440 + days * DAY).ascending("msg")
    make = Identifier(lambda: 1_795_142_494_440)
    make.observe([stored])
    assert make.ascending("msg").startswith("msg_1f6d4a8e8001")


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


@example("a\n")
@example("a/../b")
@given(st.text())
def test_no_text_with_a_path_in_it_passes_as_an_id(text: str):
    if is_identifier("ses_" + text, "ses"):
        assert text.isalnum() and text.isascii()
