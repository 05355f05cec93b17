from hypothesis import example, given
from hypothesis import strategies as st

from opencode_tui.schema.ids import Identifier, is_identifier, spans_wrap, time_field

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
    make.observe(client)
    assert make.ascending("msg") > client


def test_an_id_from_a_clock_far_ahead_moves_nothing():
    client = Identifier(lambda: 1_795_142_494_440 + 120_000).ascending("msg")
    make = Identifier(lambda: 1_795_142_494_440)
    make.observe(client)
    assert make.ascending("msg") < client


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
