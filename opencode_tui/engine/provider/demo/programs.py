"""Small programs and first contents that the demo model can write: no more than a handful of purposes, each really working."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import PurePosixPath

_PRINTING = re.compile(
    r"(?:\bto\s+)?\b(?:prints?|printing|says?|saying|outputs?|echo(?:es)?|displays?|shows?|greets?(?:\s+with)?)\s+(?:out\s+)?(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_TIMES = re.compile(
    r"(?P<what>.+?)[\s,]+(?P<count>(?:\d{1,4}|three|five|ten)(?=\s+times)|once|twice)(?:\s+times)?\Z", re.I | re.S
)
_COUNTS = {"once": 1, "twice": 2, "three": 3, "five": 5, "ten": 10}
_DESCRIBED = re.compile(r"(?:the|a|an|all|its|each|every|my|some|how|what|numbers?)\s", re.IGNORECASE)
_LITERAL_LEAD = re.compile(r"(?:the\s+)?(?:text|words?|message|string|line)s?\s+", re.IGNORECASE)
_DESTINATION = re.compile(
    r"\s+(?:to|on)\s+(?:the\s+)?(?:screen|console|terminal|stdout|standard output)\Z", re.IGNORECASE
)

_PYTHON_PURPOSES: tuple[tuple[str, str, str], ...] = (
    (
        r"(?:first\s+)?(?P<count>\d{1,3})?\s*(?:\w+\s+)?fibonacci",
        "fibonacci.py",
        "previous, current = 0, 1\nfor _ in range({count}):\n"
        "    print(previous)\n    previous, current = current, previous + current\n",
    ),
    (
        r"fizz\s?-?buzz",
        "fizzbuzz.py",
        "for number in range(1, 101):\n"
        '    word = "Fizz" * (number % 3 == 0) + "Buzz" * (number % 5 == 0)\n    print(word or number)\n',
    ),
    (
        r"(?:first\s+)?(?P<count>\d{1,3})?\s*prime",
        "primes.py",
        "primes: list[int] = []\nnumber = 2\nwhile len(primes) < {count}:\n    if all(number % prime for prime in primes):\n"
        "        primes.append(number)\n        print(number)\n    number += 1\n",
    ),
    (
        r"factorial(?:\s+of)?(?:\s+(?P<count>\d{1,3}))?",
        "factorial.py",
        "import math\n\nprint(math.factorial({count}))\n",
    ),
    (
        r"(?:numbers?\s+)?(?:from\s+)?(?P<first>\d{1,6})\s*(?:to|through|until|-|–)\s*(?P<last>\d{1,6})",
        "count.py",
        "for number in range({first}, {last} + 1):\n    print(number)\n",
    ),
    (
        r"\b(?:current|today'?s?|the)\s+(?:date|time)|\bdate and time",
        "now.py",
        'from datetime import datetime\n\nprint(datetime.now().strftime("%Y-%m-%d %H:%M"))\n',
    ),
)


def _python(text: str, count: int) -> str:
    line = f"print({json.dumps(text, ensure_ascii=False)})\n"
    return line if count == 1 else f"for _ in range({count}):\n    {line}"


def _shell(text: str, count: int) -> str:
    line = f"printf '%s\\n' {shlex.quote(text)}\n"
    body = line if count == 1 else f"i=0\nwhile [ $i -lt {count} ]; do\n    {line}    i=$((i + 1))\ndone\n"
    return f"#!/bin/sh\n{body}"


def _javascript(text: str, count: int) -> str:
    line = f"console.log({json.dumps(text, ensure_ascii=False)});\n"
    return line if count == 1 else f"for (let i = 0; i < {count}; i += 1) {{\n  {line}}}\n"


_PRINTERS: dict[str, Callable[[str, int], str]] = {
    ".py": _python,
    ".sh": _shell,
    ".js": _javascript,
    ".mjs": _javascript,
}
INTERPRETERS = {
    ".py": "python3",
    ".sh": "sh",
    ".bash": "bash",
    ".js": "node",
    ".mjs": "node",
    ".rb": "ruby",
    ".pl": "perl",
}
"""Which command runs a file of this ending."""


def is_program(path: str) -> bool:
    """Tell whether the demo model can write a program into a file of this name."""
    return PurePosixPath(path).suffix in _PRINTERS


def write_program(path: str, purpose: str, *, quoted: bool) -> str | None:
    """Return a program that does what `purpose` says (“prints hello”), or None when it is beyond this module.

    With `quoted` the purpose ends in words that the person quoted: they are printed as they stand.
    """
    suffix = PurePosixPath(path).suffix
    if suffix not in _PRINTERS:
        return None
    if suffix == ".py" and not quoted and (known := _known_purpose(purpose)):
        return known[1]
    printing = _PRINTING.search(purpose)
    if printing is None:
        return _PRINTERS[suffix]("Hello, world!", 1) if re.search(r"hello,? world", purpose, re.IGNORECASE) else None
    what = _DESTINATION.sub("", printing["what"].strip())
    count = 1
    if times := _TIMES.fullmatch(what):
        what, count = times["what"], _COUNTS.get(times["count"].lower()) or int(times["count"])
    what = _LITERAL_LEAD.sub("", what, count=1)
    if not what or (not quoted and _DESCRIBED.match(what)):
        return None
    return _PRINTERS[suffix](what, count)


def suggest_name(purpose: str) -> str | None:
    """Return a file name for a Python program of which only the purpose was told, None when the purpose is unknown."""
    if known := _known_purpose(purpose):
        return known[0]
    return "hello.py" if re.search(r"hello", purpose, re.IGNORECASE) else None


def first_content(path: str) -> str:
    """Return what a new file begins with when nothing was said about its content."""
    name = PurePosixPath(path)
    if is_program(path):
        return _PRINTERS[name.suffix](f"Hello from {name.name}", 1)
    match name.suffix:
        case ".md":
            return f"# {name.stem}\n"
        case ".json":
            return "{}\n"
        case _:
            return ""


def _known_purpose(purpose: str) -> tuple[str, str] | None:
    for pattern, name, program in _PYTHON_PURPOSES:
        if match := re.search(pattern, purpose, re.IGNORECASE):
            numbers = {key: str(int(value)) if value else "10" for key, value in match.groupdict().items()}
            return name, program.format(**numbers) if numbers else program
    return None
