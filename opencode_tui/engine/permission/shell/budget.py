"""The limits of a scan; a script that exceeds them makes every command of it opaque."""

from dataclasses import dataclass

DEPTH_LIMIT = 60
"""Scripts inside scripts, substitutions and blocks that are followed."""

COMMAND_LIMIT = 500
"""Maximum number of analyzed simple commands; those in repeated loop bodies count each time."""

WORD_LIMIT = 20_000
"""Words that are looked at, those of wrapped commands counted each time."""

TEXT_LIMIT = 200_000
"""Characters of scripts inside the script that are parsed."""


@dataclass(slots=True)
class Budget:
    """What a scan has spent so far."""

    depth: int = 0
    commands: int = 0
    words: int = 0
    text: int = 0

    @property
    def is_deep(self) -> bool:
        """Whether nothing further inside is followed."""
        return self.depth >= DEPTH_LIMIT

    @property
    def is_spent(self) -> bool:
        """Whether no further command is followed."""
        return self.commands > COMMAND_LIMIT or self.words > WORD_LIMIT

    def allows(self, text: str) -> bool:
        """Whether one more script inside the script is parsed."""
        self.text += len(text)
        return not self.is_deep and self.text <= TEXT_LIMIT
