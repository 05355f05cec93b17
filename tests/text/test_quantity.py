from datetime import datetime, timedelta

import pytest

from opencode_tui.text.quantity import age, amount, at_when, day_words, duration, money, period, plural, when

NOW = datetime(2026, 1, 14, 9, 30)


def ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def test_times_are_read_as_people_say_them():
    assert [duration(seconds) for seconds in (0.4, 12, 72.9, 240, 7380, 7200)] == [
        "0 s",
        "12 s",
        "1 m 12 s",
        "4 m",
        "2 h 3 m",
        "2 h",
    ]
    assert [age(0, seconds * 1000) for seconds in (12, 250, 8_000, 450_000)] == ["12 s", "4 m", "2 h", "5 d"]
    assert age(5_000, 0) == "0 s"


@pytest.mark.parametrize(
    ("moment", "text", "said", "day"),
    [
        (NOW.replace(hour=0, minute=5), "00:05", "at 00:05", "Today"),
        (NOW - timedelta(hours=10), "Jan 13 23:30", "on Jan 13 23:30", "Jan 13"),
        (datetime(2025, 12, 3, 12, 4), "Dec 3 12:04", "on Dec 3 12:04", "Dec 3"),
        (datetime(2025, 2, 3, 12, 4), "2025-02-03", "on 2025-02-03", "2025-02-03"),
    ],
)
def test_a_moment_names_its_day_unless_that_is_today(moment: datetime, text: str, said: str, day: str):
    assert (when(ms(moment), ms(NOW)), at_when(ms(moment), ms(NOW))) == (text, said)
    assert day_words(ms(moment), ms(NOW)) == day


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        (NOW, NOW + timedelta(seconds=59), "09:30"),
        (NOW - timedelta(hours=1), NOW, "08:30 to 09:30"),
        (NOW - timedelta(hours=11), NOW - timedelta(hours=10), "Jan 13 22:30 to 23:30"),
        (NOW - timedelta(hours=10), NOW, "Jan 13 23:30 to today 09:30"),
        (NOW - timedelta(hours=60), NOW - timedelta(hours=10), "Jan 11 21:30 to Jan 13 23:30"),
        (datetime(2025, 2, 3, 12), datetime(2025, 2, 3, 13), "2025-02-03"),
        (datetime(2025, 2, 3, 12), NOW, "2025-02-03 to today 09:30"),
    ],
)
def test_a_period_names_the_days_that_are_not_clear(first: datetime, last: datetime, text: str):
    assert period(ms(first), ms(last), ms(NOW)) == text


def test_a_moment_beyond_the_calendar_is_a_question_mark():
    assert when(10**20, ms(NOW)) == day_words(10**20, ms(NOW)) == "?"


@pytest.mark.parametrize(
    ("number", "text"), [(812, "812"), (3_100, "3.1 k"), (4_000, "4 k"), (104_200, "104 k"), (1_200_000, "1.2 M")]
)
def test_amounts_have_two_or_three_digits(number, text):
    assert amount(number) == text


def test_money_shows_parts_of_a_cent_only_below_one():
    assert [money(usd) for usd in (0, 0.0004, 0.42, 12.345)] == ["$0", "$0.0004", "$0.42", "$12.34"]


def test_an_hour_is_an_hour():
    assert [duration(seconds) for seconds in (59.9, 60, 3_599, 3_600)] == ["59 s", "1 m", "59 m 59 s", "1 h"]


def test_one_of_a_thing_has_no_plural():
    assert [plural(1, "tool"), plural(2, "tool"), plural(2, "match"), plural(0, "entry"), plural(2, "address")] == [
        "1 tool",
        "2 tools",
        "2 matches",
        "0 entries",
        "2 addresses",
    ]
