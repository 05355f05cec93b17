"""What a person is told about settings: where, which key, what is wrong and what to do. One line each."""

from msgspec import Struct

from opencode_tui.config.sources.jsonc import KeyPath, Position
from opencode_tui.schema.error import ConfigError


class Notice(Struct, frozen=True):
    """A warning, or something that has no effect and why. `source` is a file or a variable, `key` is dotted."""

    source: str
    key: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        return describe(self.source, self.line, self.key, self.message)

    def to_dict(self) -> dict[str, str | int]:
        """Return plain data; `message` is the whole line."""
        place: dict[str, str | int] = {"line": self.line} if self.line else {}
        return {"source": self.source, **place, "key": self.key, "message": str(self)}


def describe(source: str, line: int | None, key: str, message: str) -> str:
    """Return `source line 3: some.key: what is wrong`."""
    place = f"{source} line {line}" if line else source
    return ": ".join(part for part in (place, key, message) if part)


def config_error(source: str, position: Position | None, key: str, message: str) -> ConfigError:
    """Return the error to raise for something wrong at a place."""
    return ConfigError(describe(source, position.line if position else None, key, message))


def dotted(path: KeyPath) -> str:
    """Return a path as people write it: `agent.build.steps`, `instructions[2]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
