"""What the commands print: results on stdout, everything else on stderr, and nothing that could steer the terminal.

Every text from outside (file names, settings, answers of a model) goes through `make_safe` before it reaches a terminal.
"""

import json
import os
import re
import sys
from contextlib import suppress
from typing import TextIO

_UNSAFE_IN_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_UNSAFE_IN_TEXT = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_WIRE_UNSAFE = re.compile(r"\x7f")


def make_safe(text: str, *, multiline: bool = False) -> str:
    r"""Return the text with control, direction and surrogate characters written as `\x1b` or `\u202e`.

    With `multiline` line feeds and tabs stay as they are.
    """
    return (_UNSAFE_IN_TEXT if multiline else _UNSAFE_IN_LINE).sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def print_result(text: str) -> None:
    """Write text with a line feed to stdout, made safe."""
    sys.stdout.write(make_safe(text, multiline=True) + "\n")


def print_json(value: object) -> None:
    """Write one JSON value to stdout, pure ASCII, without any control character but line feeds."""
    text = json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False)
    sys.stdout.write(_WIRE_UNSAFE.sub("\\\\u007f", text) + "\n")


def say(message: str) -> None:
    """Write one line to stderr with the name of the program before it."""
    sys.stderr.write(f"opencode-tui: {make_safe(message.strip())}\n")


def write_answer(stream: TextIO, text: str) -> None:
    """Write a piece of a turn's output at once.

    Raises BrokenPipeError when its reader went away, OpencodeError when it cannot be written.
    """
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        from opencode_tui.schema.error import OpencodeError  # pydantic: not for the help

        with suppress(OSError, ValueError):  # what is still buffered would fail again when Python exits
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise OpencodeError(
            f"standard output cannot be written ({error.strerror}); the session keeps the answer: `opencode-tui export`"
        ) from error
