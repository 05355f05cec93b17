"""Report an exception as one line on stderr and an exit code.

0 success, 1 failure, 2 bad arguments or settings, 3 the check of `run --until` fails, 130 interrupted. A traceback goes to a log
file, to stderr only with `--log-level debug`.
"""

import os
import select
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import click

from opencode_tui.cli.terminal import say

if TYPE_CHECKING:
    from opencode_tui.schema.error import OpencodeError

DONE = 0
FAILED = 1
BAD_INPUT = 2
CHECK_FAILS = 3
INTERRUPTED = 130


def report_error(error: BaseException, environ: Mapping[str, str], *, is_debugging: bool) -> int:
    """Write one line about the error and return the exit code; the traceback of an unexpected error goes to a log file."""
    if isinstance(error, BaseExceptionGroup):
        from opencode_tui.tasks import first_error  # slow: not for the help

        error = first_error(cast("BaseExceptionGroup[BaseException]", error))
    if isinstance(error, BrokenPipeError):  # of a list: what was asked for was written
        drop_closed_output()
        return DONE
    if isinstance(error, KeyboardInterrupt | click.Abort):
        say("interrupted")
        return INTERRUPTED
    if isinstance(error, click.UsageError) and error.ctx is not None and error.message == error.ctx.get_help():
        sys.stderr.write(f"{error.message}\n")  # a group without a command: the help says which there are
        return BAD_INPUT
    if isinstance(error, click.ClickException):
        say(_explain_usage(error))
        return error.exit_code
    if is_debugging:
        sys.stderr.write(_format_traceback(error))
    from opencode_tui.schema.error import OpencodeError  # slow: not for the help

    if isinstance(error, OpencodeError):
        say(str(error))
        return BAD_INPUT if _is_bad_input(error) else FAILED
    if isinstance(error, FileNotFoundError) and not has_folder():
        say(FOLDER_IS_GONE)
        return FAILED
    from opencode_tui.schema.system_error import describe

    reason = describe(error) if isinstance(error, OSError) else f"{type(error).__name__}: {_first_line(error)}"
    say(f"{reason}; {_keep_traceback(error, environ)}")
    return FAILED


def _is_bad_input(error: "OpencodeError") -> bool:
    """Return whether an argument or a setting is wrong, or names nothing that is there: a session, message, model, server …"""
    from opencode_tui.schema.error import (
        ConfigError,
        ModelNotFoundError,
        NoSuchMessageError,
        NotFoundError,
    )

    return isinstance(error, ConfigError | ModelNotFoundError | NotFoundError | NoSuchMessageError)


FOLDER_IS_GONE = "the current directory no longer exists; change to another one"


def has_folder() -> bool:
    """Return whether the current folder exists."""
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _explain_usage(error: click.ClickException) -> str:
    words = " ".join(error.format_message().split())  # choices are on lines of their own
    message = _number_words(error) or words.rstrip(".")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{message}; see `{error.ctx.command_path} --help`"
    return message


def _number_words(error: click.ClickException) -> str:
    """Return what a number must be, and what was given instead; empty for any other error."""
    if not isinstance(error, click.BadParameter) or error.param is None:
        return ""
    kind = error.param.type
    if not isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        return ""
    number = "a whole number" if isinstance(kind, click.types.IntParamType) else "a number"
    if isinstance(kind, click.IntRange | click.FloatRange):
        number += _range_words(kind)
    given, found, _ = error.message.partition(" is not ")  # click quotes the value there, and has it nowhere else
    name = max(error.param.opts, key=len, default=error.param.human_readable_name)
    return f"{name} must be {number}{f', not {given}' if found else ''}"


def _range_words(kind: click.IntRange | click.FloatRange) -> str:
    """Return the accepted range of a number, with a blank before it."""
    least, most = kind.min, kind.max
    if least is not None and most is not None:
        return f" from {least} to {most}"
    if least is not None:
        return f" greater than {least}" if kind.min_open else f" of at least {least}"
    return f" of at most {most}" if most is not None else ""


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["no details"])[0]


def _format_traceback(error: BaseException) -> str:
    """Return the traceback without control characters: its texts come from files, servers and models."""
    from opencode_tui.text.safe_text import make_safe  # not for the help

    return make_safe("".join(traceback.format_exception(error)), multiline=True)


def _keep_traceback(error: BaseException, environ: Mapping[str, str]) -> str:
    """Write the traceback to a new log file and return its location, or why it could not be written."""
    from opencode_tui.schema.error import OpencodeError  # only here: see above
    from opencode_tui.storage.paths import ensure, find_paths

    try:
        folder = ensure(find_paths(environ).log)
        path = folder / f"error-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as log:
            log.write(_format_traceback(error))
    except (OSError, OpencodeError) as trouble:
        return f"could not write the log ({_first_line(trouble)}); use `--log-level debug` for details"
    return f"details in {path}"


def drop_closed_output() -> None:
    """Write nothing more to an output whose reader closed it (`| head`, `2>&1 | head`), also when Python flushes at exit."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            if stream is sys.stdout or _has_no_reader(stream.fileno()):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _has_no_reader(descriptor: int) -> bool:
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))
