"""The limits of commands, and how one that ended a command is named."""

from typing import Literal, cast

from opencode_tui.schema.record import JsonObject, Record

LimitKind = Literal["memory", "processes", "threads", "sessions", "file_size", "disk"]
"""What a limit counts: bytes, processes, threads, sessions that run, bytes of one file, or bytes that are left of the disk."""

_UNITS = ("bytes", "KB", "MB", "GB", "TB")


class ReachedLimit(Record):
    """A limit that ended a command, and its value: a number of bytes, processes, threads or sessions."""

    kind: LimitKind
    value: int

    @property
    def words(self) -> str:
        """How it ended, as `stopped at 8 GB of memory`."""
        match self.kind:
            case "memory":
                return f"stopped at {format_size(self.value)} of memory"
            case "file_size":
                return f"stopped: a file reached {format_size(self.value)}"
            case "disk":
                return f"stopped with {format_size(self.value)} left of the disk"
            case "sessions":
                return f"stopped at {self.value:,} running sessions"
            case kind:
                return f"stopped at {self.value:,} {kind}"


def limit_of(metadata: object) -> ReachedLimit | None:
    """Return the limit that a tool's result or a stored record names; None without a valid one."""
    if not isinstance(metadata, dict):
        return None
    found = cast(JsonObject, metadata)
    kind, value = found.get("kind"), found.get("value")
    if kind not in ("memory", "processes", "threads", "sessions", "file_size", "disk") or not isinstance(value, int):
        return None
    return ReachedLimit(kind=kind, value=value)


def format_size(size: int) -> str:
    """Return a number of bytes with three digits, as `1.5 GB`; a GB has 1024 MB."""
    power = min(len(_UNITS) - 1, max(0, size.bit_length() - 1) // 10)
    amount = size / (1 << 10 * power)
    return f"{amount:.0f} {_UNITS[power]}" if amount >= 100 else f"{amount:.3g} {_UNITS[power]}"
