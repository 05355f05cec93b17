"""The limits of a scan; a script that exceeds them makes every command of it opaque."""

import time
from dataclasses import dataclass, field

DEPTH_LIMIT = 60
"""Maximum nesting of scripts, substitutions and blocks."""

COMMAND_LIMIT = 500
"""Maximum number of analyzed simple commands; those in repeated loop bodies count each time."""

WORD_LIMIT = 20_000
"""Maximum number of analyzed words; those of wrapped commands count each time."""

TEXT_LIMIT = 200_000
"""Maximum number of parsed characters of nested scripts."""

SECONDS_LIMIT = 0.5
"""Maximum processor time for a scan before it begins with another nested script."""


@dataclass(slots=True)
class Budget:
    """The use of the limits by a scan so far."""

    depth: int = 0
    commands: int = 0
    words: int = 0
    text: int = 0
    began: float = field(default_factory=time.thread_time)

    @property
    def is_deep(self) -> bool:
        """Return whether no deeper nesting is followed."""
        return self.depth >= DEPTH_LIMIT

    @property
    def is_spent(self) -> bool:
        """Return whether no further command is followed."""
        return self.commands > COMMAND_LIMIT or self.words > WORD_LIMIT

    def allows(self, text: str) -> bool:
        """Return whether another nested script is parsed."""
        self.text += len(text)
        is_late = time.thread_time() - self.began > SECONDS_LIMIT
        return not self.is_deep and self.text <= TEXT_LIMIT and not is_late
