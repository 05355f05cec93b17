"""Numbers and paths as people read them. Source: docs/internals/screen.md#numbers-and-words."""

from datetime import datetime
from decimal import Decimal


def duration(seconds: float) -> str:
    """Return a time as `12 s`, `1 m 12 s`, `4 m` or `2 h 3 m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    large, small = divmod(whole, 60) if whole < 3_600 else divmod(whole // 60, 60)
    units = ("m", "s") if whole < 3_600 else ("h", "m")
    return f"{large} {units[0]}" + (f" {small} {units[1]}" if small else "")


_LONG_AGO_MS = 300 * 86_400_000
"""From then on a month names no year."""

QUARTER_MS = 900_000
"""A quarter of an hour: midnight is never within one, as all time zones differ by whole ones from UTC."""


def age(then: int, now: int) -> str:
    """Return how long ago a moment (ms since 1970) was, as `12 s`, `4 m`, `2 h` or `5 d`."""
    seconds = max(0, (now - then) // 1000)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def clock(moment: int) -> str:
    """Return the time of day of a moment in ms since 1970, as `12:04`; `?` beyond the calendar."""
    try:
        return f"{datetime.fromtimestamp(moment / 1000):%H:%M}"
    except (OverflowError, ValueError, OSError):  # a foreign or damaged record
        return "?"


def when(moment: int, now: int) -> str:
    """Return a moment as is clear at `now`: `12:04` today, `Nov 21 12:04` earlier, `2025-11-21` long ago. In ms since 1970."""
    return _dated(moment, now, today="%H:%M", time=" %H:%M")


def day_words(moment: int, now: int) -> str:
    """Return the local day of a moment as `Today`, `Nov 21`, or `2025-11-21` long ago. In ms since 1970."""
    return _dated(moment, now, today="Today", time="")


def _dated(moment: int, now: int, *, today: str, time: str) -> str:
    """Return a moment by the format `today` if it is of the same day as `now`, else its day, followed by `time` if not long ago."""
    try:
        then, present = datetime.fromtimestamp(moment / 1000), datetime.fromtimestamp(now / 1000)
    except (OverflowError, ValueError, OSError):  # a foreign or damaged record
        return "?"
    if then.date() == present.date():
        return f"{then:{today}}"
    return f"{then:%b} {then.day}{then.strftime(time)}" if abs(now - moment) < _LONG_AGO_MS else f"{then:%Y-%m-%d}"


def at_when(moment: int, now: int) -> str:
    """Return what `when` does behind its word: `at 12:04`, `on Nov 21 12:04`."""
    text = when(moment, now)
    return f"{'on' if ' ' in text or '-' in text else 'at'} {text}"


def period(first: int, last: int, now: int) -> str:
    """Return two moments: `12:04 to 12:06`, `Nov 21 12:04 to 13:10`, `Nov 21 12:04 to today 09:30`; one if they look alike."""
    begin, end = when(first, now), when(last, now)
    if begin == end:
        return begin
    days = day_words(first, now), day_words(last, now)
    if days[0] == days[1]:
        return f"{begin} to {clock(last)}"
    return f"{begin} to {'today ' if days[1] == 'Today' else ''}{end}"


def moment(time_ms: int) -> str:
    """Return a time in ms since 1970 with its day, as `2026-11-21 12:04`; `?` beyond the calendar."""
    try:
        return f"{datetime.fromtimestamp(time_ms / 1000):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):  # a foreign or damaged record
        return "?"


def amount(number: int) -> str:
    """Return a number as `812`, `3.1 k`, `104 k` or `1.2 M`."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.0f} {unit}" if scaled >= 100 else f"{scaled:.1f}".removesuffix(".0") + f" {unit}"
    return str(number)


def byte_words(number: int) -> str:
    """Return a number of bytes as `812 B`, `3.1 KiB` or `1.2 MiB`."""
    for size, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number} B"


def token_words(number: int) -> str:
    """Return `1 token` or `3.1 k tokens`; empty for 0."""
    return f"{amount(number)} token{'s' if number > 1 else ''}" if number else ""


def plural(number: int, noun: str) -> str:
    """Return `1 tool` or `9 tools`."""
    many = (
        noun[:-1] + "ies" if noun.endswith("ry") else noun + ("es" if noun.endswith(("ch", "sh", "ss", "x")) else "s")
    )
    return f"{number} {noun if number == 1 else many}"


def money(usd: Decimal | float) -> str:
    """Return `$0.42`, with four digits below a cent; `$0` for nothing."""
    value = Decimal(str(usd))
    if not value:
        return "$0"
    return f"${value:.2f}" if value >= Decimal("0.01") else f"${value:.4f}"


def brief_duration(seconds: float) -> str:
    """Return a time as `1.4 s` below ten seconds, as `duration` does above."""
    return f"{seconds:.1f}".removesuffix(".0") + " s" if seconds < 9.95 else duration(seconds)


def short_path(folder: str, home: str) -> str:
    """Return a folder with `~` for the home folder."""
    home = home.rstrip("/")
    return f"~{folder[len(home) :]}" if home and (folder == home or folder.startswith(f"{home}/")) else folder
