"""Keys of this process that other processes of the same user could read: in its initial environment and arguments.

`/proc/PID/environ` and `/proc/PID/cmdline` show the memory in which the kernel put them; removing a variable does not change it.
On systems without them nothing is done. Source: proc_pid_environ(5), proc_pid_cmdline(5).
"""

import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from opencode_tui.schema.error import ConfigError

_KEY_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|^AWS_", re.IGNORECASE)
_ARGUMENTS_START, _ENVIRONMENT_END = 45, 48
"""Fields of `/proc/PID/stat` after the name in parentheses, from 0. Source: proc_pid_stat(5), arg_start and env_end."""
PASSWORD_VARIABLE = "OPENCODE_SERVER_PASSWORD"
_LARGEST_BYTES = 16 * 1024 * 1024
_PR_SET_DUMPABLE = 4


def erase_keys(arguments: Iterable[str] = ()) -> None:
    """Overwrite the values of variables that may be keys, and these arguments, where other processes read them.

    The variables keep their values for this process and those that it starts. Blocks for less than a millisecond.
    """
    if sys.platform != "linux":
        return
    names = [name for name in os.environ if _KEY_NAME.search(name) and os.environ[name]]
    for name in names:
        os.environ[name] = os.environ[name]  # moves the value: the memory below is no longer used
    values = [f"{name}={os.environ[name]}" for name in names]
    given = [form for value in arguments for form in (f"\0{value}\0", f"={value}\0")]
    _overwrite([os.fsencode(text) for text in (*values, *given)])


def read_password(file: str | None) -> str | None:
    """Return the server's password: from the file if one is given, else from the environment, from which it is removed.

    None where there is none. Raises ConfigError for a file that cannot be read, is empty, or that others may read.
    """
    erase_keys()
    set_password = os.environ.pop(PASSWORD_VARIABLE, "").strip() or None
    if file is None:
        return set_password
    try:
        mode, text = os.stat(file).st_mode, Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: the password cannot be read ({error}); give a text file") from error
    if mode & 0o077:
        raise ConfigError(f"{file}: other users can read the password; run chmod 600 on it")
    if not text:
        raise ConfigError(f"{file} is empty; write a password into it")
    return text


def hide_memory() -> None:
    """Keep other processes of the user from reading the memory and the environment of this one, except those of root."""
    if sys.platform == "linux":
        import ctypes  # 5 ms

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _overwrite(texts: list[bytes]) -> None:
    with suppress(OSError, ValueError, IndexError):  # without /proc no one else can read it there either
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        start, end = int(fields[_ARGUMENTS_START]), int(fields[_ENVIRONMENT_END])
        if not 0 < end - start < _LARGEST_BYTES:
            return
        memory = os.open("/proc/self/mem", os.O_RDWR | os.O_CLOEXEC)
        try:
            block = os.pread(memory, end - start, start)
            for text in texts:
                at = block.find(text)
                while at >= 0:
                    os.pwrite(memory, b"\0" * len(text), start + at)
                    at = block.find(text, at + 1)
        finally:
            os.close(memory)
