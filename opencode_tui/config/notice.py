"""Messages about settings: source, line, key, problem and remedy in one line."""

from msgspec import Struct

from opencode_tui.config.sources.jsonc import KeyPath, Position
from opencode_tui.schema.error import ConfigError


class Notice(Struct, frozen=True):
    """A warning about a setting. `source` is a file or a variable, `key` is dotted; `reason` is why it has no effect."""

    source: str
    key: str
    message: str
    line: int | None = None
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}" if self.reason else self.subject

    @property
    def subject(self) -> str:
        """The line without the reason."""
        return describe(self.source, self.line, self.key, self.message)

    def to_dict(self) -> dict[str, str | int]:
        """Return plain data; `message` is the whole line."""
        location: dict[str, str | int] = {"line": self.line} if self.line else {}
        return {"source": self.source, **location, "key": self.key, "message": str(self)}


def describe(source: str, line: int | None, key: str, message: str) -> str:
    """Return `source line 3: some.key: what is wrong`."""
    location = f"{source} line {line}" if line else source
    return ": ".join(part for part in (location, key, message) if part)


def config_error(source: str, position: Position | None, key: str, message: str) -> ConfigError:
    """Return a ConfigError with the position and the key in its message."""
    return ConfigError(describe(source, position.line if position else None, key, message))


def dotted(path: KeyPath) -> str:
    """Return a path in dotted notation: `agent.build.steps`, `instructions[2]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
