"""Texts that steer a terminal, for every name, answer and output."""

import random
import re
from collections.abc import Callable, Sequence

HOSTILE = [
    "\x1b]52;c;c2VjcmV0\x07",
    "\x1b[2J\x1b[1;1Hgone",
    "\x1b]0;title\x1b\\",
    "\x9b31mC1",
    "\x1bP+q\x1b\\",
    "over\rwritten",
    "bell\x07",
    "back\x08\x08space",
    "right\u202eleft",
    "line\u2028end",
    "del\x7f",
]

_STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_OURS = re.compile(r"\x1b\[[0-9;]*m")


def steering(text: str) -> list[str]:
    """Return what of a text would steer a terminal, except our own colors."""
    return _STEERS.findall(_OURS.sub("", text))


def hostile_strings(count: int) -> list[str]:
    """Return so many different texts, always the same; their numbers are larger than any that the screen writes itself."""
    dice = random.Random(2)
    found = [*HOSTILE]
    while len(found) < count:
        pieces = [dice.choice(_KINDS)(dice) for _ in range(dice.randint(1, 3))]
        words = [f"w{len(found)}", *pieces]
        dice.shuffle(words)
        found.append("".join(words))
    return found[:count]


def foreign(written: bytes, *, size: tuple[int, int]) -> Sequence[str]:
    """Return what a program's screen wrote to a terminal of that size except letters and what its driver needs."""
    text = written.decode("utf-8", "backslashreplace")
    columns, rows = size
    left: list[str] = []

    def judge(match: re.Match[str]) -> str:
        sequence = match.group()
        numbers = [int(number) for number in re.findall(r"\d+", sequence)]
        if sequence.endswith("m"):
            is_own = all(number <= 255 for number in numbers)
        else:
            limits = [columns] if sequence[-1] in "XGC" else [rows, rows if sequence.endswith("r") else columns]
            is_own = all(number <= limit for number, limit in zip(numbers, limits, strict=False))
        left.extend([] if is_own else [sequence])
        return ""

    rest = _PLACED.sub(judge, _DRIVER.sub("", text))
    return [*left, *(rest[max(0, one.start() - 20) : one.end() + 30] for one in _UNWANTED.finditer(rest))]


_PLACED = re.compile(r"\x1b\[[0-9;]*m|\x1b\[[0-9]+;[0-9]+[Hr]|\x1b\[[0-9]+[HX]|\x1b\[[0-9]*[ABCG]")
_MODES = "1000|1002|1003|1004|1006|1015|1049|2004|2026|2048|25|7"
_DRIVER = re.compile(
    rf"\x1b\[\?(?:{_MODES})[hl]|\x1b\[\?(?:2026|2048)\$p|\x1b\[>\d+u|\x1b\[<u|\x1b\]22;[a-z]+\x07|\r\n|\x1b\[[rK]|\x1bM"
    r"|\x1b\]8;id=[0-9a-f]{8};(?:(?:https?|file)://|mailto:)[!-~]{1,2000}\x1b\\|\x1b\]8;;\x1b\\"
    r"|\x1b\]11;\?\x1b\\|\x1b\[2[23];2t|\x1b\]2;[^\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e]{1,80}\x07"
)
_UNWANTED = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufe0e\ufe0f\ufeff\U000e0000-\U000e0fff]"
)

_FINALS = "ABCDEFGHJKLMPSTXZ`abcdefghilmnpqrstu@"


def _csi(dice: random.Random) -> str:
    start = dice.choice(["\x1b[", "\x9b"])
    mark = dice.choice(["", "?", ">", "="])
    numbers = f"{dice.randint(1001, 9999)};{dice.randint(2100, 9999)}"
    return f"{start}{mark}{numbers}{dice.choice(['', ' ', '$', '!'])}{dice.choice(_FINALS)}"


def _string(dice: random.Random) -> str:
    start = dice.choice(["\x1b]", "\x9d", "\x1bP", "\x90", "\x1b_", "\x9f", "\x1b^", "\x9e", "\x1bX", "\x98"])
    number = dice.choice(["0", "2", "4", "7", "8", "9", "10", "52", "104", "133", "777", "1337"])
    end = dice.choice(["\x07", "\x1b\\", "\x9c", ""])  # without an end it would swallow what follows
    return f"{start}{number};{dice.choice(['c', 'file://x', 'id=1', '?'])};payload{end}"


def _escape(dice: random.Random) -> str:
    return "\x1b" + dice.choice(
        ["c", "7", "8", "D", "E", "H", "M", "N", "O", "Z", "=", ">", "(0", ")B", "#8", "%G", "n", "o", ""]
    )


def _control(dice: random.Random) -> str:
    return chr(dice.choice([*range(1, 10), *range(11, 32), *range(0x7F, 0xA0)]))


def _invisible(dice: random.Random) -> str:
    names = "\u061c\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e"
    names += "\u2060\u2066\u2067\u2068\u2069\ufeff\ufe0f"
    return dice.choice(names) + dice.choice(["", "abc", "\U000e0041\U000e007f"])


def _wide(dice: random.Random) -> str:
    letters = [
        "\u6f22\u5b57",
        "\ud55c\uae00",
        "\uff21\uff22",
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "\U0001f44d\U0001f3fd",
    ]
    more = [
        "e" + "\u0301" * 30,
        "\u0e01\u0e33",
        "\u05e9\u05dc\u05d5\u05dd",
        "\u0645\u0631\u062d\u0628\u0627",
        "\u1100\u1161\u11a8",
    ]
    return dice.choice([*letters, *more])


def _cut(dice: random.Random) -> str:
    return dice.choice(["\x1b", "\x1b[", "\x1b[?", "\x1b]", "\x9b", "\x1b[38;2;", "\x1b]8;;", "\x1bP1$r", "\xc2"])


def _markup(dice: random.Random) -> str:
    return dice.choice(
        [
            "[bold red]",
            "[/]",
            "[@click=app.exit]x[/]",
            "[link=file:///x]y[/link]",
            ":skull:",
            "$text",
            "{x}",
            "%s",
            "\\x1b[2J",
        ]
    )


_KINDS: Sequence[Callable[[random.Random], str]] = (
    _csi,
    _csi,
    _string,
    _escape,
    _control,
    _invisible,
    _wide,
    _cut,
    _markup,
)
