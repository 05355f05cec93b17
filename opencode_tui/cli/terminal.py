"""Output of the commands: results on stdout, everything else on stderr.

Every external text (file names, settings, responses) goes through `safe_text.make_safe` before it reaches a terminal.
"""

import json
import os
import signal
import sys
from contextlib import suppress
from typing import TextIO


def ending_signals() -> list[signal.Signals]:
    """Return the signals that end a command in order. A hang-up that is ignored, as `nohup` makes it, is not among them."""
    ends = [signal.SIGINT, signal.SIGTERM]
    return ends if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [*ends, signal.SIGHUP]


def print_result(text: str) -> None:
    """Write text with a line feed to stdout, made safe."""
    from opencode_tui.text.safe_text import make_safe  # not for the start of a run

    sys.stdout.write(make_safe(text, multiline=True) + "\n")


def print_json(value: object) -> None:
    """Write one JSON value to stdout, in ASCII, without control characters except line feeds."""
    sys.stdout.write(json_text(value) + "\n")


def json_text(value: object, depth: int = 0) -> str:
    """Return a JSON value as `print_json` writes it, with its lines after the first at a depth of other values."""
    import msgspec  # not for the start of a run

    # json indents in Python, which takes ten times as long as its encoder in C and this.
    try:
        text = msgspec.json.format(json.dumps(value, allow_nan=False), indent=2)
    except msgspec.DecodeError:  # for half of a surrogate pair, as in a file name that is not UTF-8
        text = json.dumps(value, allow_nan=False, indent=2)
    text = text.replace("\x7f", "\\u007f")
    return text.replace("\n", "\n" + "  " * depth) if depth else text


def say(message: str, *, is_below: bool = False) -> None:
    """Write one line to stderr, prefixed with the program's name; indented if it belongs to the line above."""
    from opencode_tui.text.safe_text import make_safe

    sys.stderr.write(f"{'  ' if is_below else 'opencode-tui: '}{make_safe(message.strip())}\n")


def write_answer(stream: TextIO, text: str) -> None:
    """Write and flush a piece of a turn's output.

    Raises BrokenPipeError if the reader closed it, OpencodeError if it cannot be written.
    """
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        from opencode_tui.schema.error import OpencodeError  # slow: not for the help

        with suppress(OSError, ValueError):  # buffered output would fail again when Python exits
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise OpencodeError(
            f"cannot write standard output ({error.strerror}); the answer is in the session: `opencode-tui export`"
        ) from error
