"""What the commands print: results on stdout, everything else on stderr, and nothing that could steer the terminal.

Every text from outside (file names, settings, answers of a model) goes through `safe_text.make_safe` before it reaches a terminal.
"""

import json
import os
import sys
from contextlib import suppress
from typing import TextIO


def print_result(text: str) -> None:
    """Write text with a line feed to stdout, made safe."""
    from opencode_tui.text.safe_text import make_safe  # a turn is on its way before it has anything to say

    sys.stdout.write(make_safe(text, multiline=True) + "\n")


def print_json(value: object) -> None:
    """Write one JSON value to stdout, pure ASCII, without any control character but line feeds."""
    text = json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False)
    sys.stdout.write(text.replace("\x7f", "\\u007f") + "\n")


def say(message: str) -> None:
    """Write one line to stderr with the name of the program before it."""
    from opencode_tui.text.safe_text import make_safe  # as above

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
