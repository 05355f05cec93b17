"""Small working programs that the demo model can write. Pure."""

import json
import re
import shlex
from pathlib import PurePosixPath

INTERPRETERS = {".py": "python3", ".sh": "sh", ".js": "node", ".rb": "ruby", ".pl": "perl"}
"""The command that runs a file with this suffix."""

_PRINTING = re.compile(
    r"\b(?:prints?|printing|says?|saying|outputs?|echo(?:es)?|displays?|shows?)\s+(?:out\s+)?(?P<what>.+)", re.I | re.S
)
_TIMES = re.compile(
    r"(?P<what>.+?)[\s,]+(?P<count>(?:\d{1,4}|three|five|ten)(?=\s+times)|twice)(?:\s+times)?\Z", re.I | re.S
)
_COUNTS = {"twice": 2, "three": 3, "five": 5, "ten": 10}
_DESCRIBED = re.compile(r"(?:the|an?|all|its|each|every|my|some|how|what|numbers?)\s", re.IGNORECASE)
_PURPOSES = (
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
        r"(?:from\s+)?(?P<first>\d{1,6})\s*(?:to|through|until|-|–)\s*(?P<last>\d{1,6})",
        "count.py",
        "for number in range({first}, {last} + 1):\n    print(number)\n",
    ),
    (
        r"\b(?:current|today'?s?|the)\s+(?:date|time)",
        "now.py",
        'from datetime import datetime\n\nprint(datetime.now().strftime("%Y-%m-%d %H:%M"))\n',
    ),
)
"""A pattern for the purpose, a file name for it, the Python program; the default number is 10."""


def is_program(path: str) -> bool:
    """Return whether the demo model can write a program into a file of this name."""
    return PurePosixPath(path).suffix in (".py", ".sh", ".js")


def write_program(path: str, purpose: str, *, is_quoted: bool) -> str | None:
    """Return a program for `purpose` (“prints hello”), None when this module has none.

    With `is_quoted` the purpose ends in quoted words, which are printed unchanged.
    """
    if not is_program(path):
        return None
    suffix = PurePosixPath(path).suffix
    if suffix == ".py" and not is_quoted and (known := _known_purpose(purpose)):
        return known[1]
    printing = _PRINTING.search(purpose)
    if printing is None:
        return _print_text(suffix, "Hello, world!", 1) if re.search(r"hello,? world", purpose, re.IGNORECASE) else None
    what = re.sub(r"(?i)\s+(?:to|on)\s+the\s+(?:screen|console|terminal)\Z", "", printing["what"].strip())
    count = 1
    if times := _TIMES.fullmatch(what):
        what, count = times["what"], _COUNTS.get(times["count"].lower()) or int(times["count"])
    what = re.sub(r"\A(?i:(?:the\s+)?(?:text|words?|message|string|line)s?\s+)", "", what)
    if not what or (not is_quoted and _DESCRIBED.match(what)):
        return None
    return _print_text(suffix, what, count)


def suggest_name(purpose: str) -> str | None:
    """Return a file name for a Python program with this purpose, None when the purpose is unknown."""
    if known := _known_purpose(purpose):
        return known[0]
    return "hello.py" if re.search(r"hello", purpose, re.IGNORECASE) else None


def first_content(path: str) -> str:
    """Return the default content of a new file."""
    name = PurePosixPath(path)
    if is_program(path):
        return _print_text(name.suffix, f"Hello from {name.name}", 1)
    return {".md": f"# {name.stem}\n", ".json": "{}\n"}.get(name.suffix, "")


def _print_text(suffix: str, text: str, count: int) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    if suffix == ".py":
        return f"print({quoted})\n" if count == 1 else f"for _ in range({count}):\n    print({quoted})\n"
    if suffix == ".js":
        return f"console.log({quoted});\n" * count
    return "#!/bin/sh\n" + f"printf '%s\\n' {shlex.quote(text)}\n" * count


def _known_purpose(purpose: str) -> tuple[str, str] | None:
    for pattern, name, program in _PURPOSES:
        if match := re.search(pattern, purpose, re.IGNORECASE):
            numbers = {key: str(int(value)) if value else "10" for key, value in match.groupdict().items()}
            return name, program.format(**numbers) if numbers else program
    return None
