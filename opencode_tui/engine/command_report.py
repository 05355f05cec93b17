"""The slash commands as one chooses them, from the settings. Source: reference, sections 29 and 34."""

import re

from opencode_tui.config.settings import Settings
from opencode_tui.schema.catalog import CommandSummary

_NUMBERED = re.compile(r"\$\d+")


def list_commands(settings: Settings) -> list[CommandSummary]:
    """Return the commands of the settings by name; each is a prompt with placeholders."""
    return [
        CommandSummary(
            name=name,
            description=command.description,
            agent=command.agent,
            model=command.model,
            template=command.template,
            subtask=command.subtask,
            hints=_hints(command.template),
        )
        for name, command in sorted((settings.command or {}).items())
    ]


def _hints(template: str) -> list[str]:
    """Return the placeholders that a template holds: the numbered ones in order, then `$ARGUMENTS`."""
    numbered = sorted(set(_NUMBERED.findall(template)), key=lambda text: int(text[1:]))
    return [*numbered, *(["$ARGUMENTS"] if "$ARGUMENTS" in template else [])]
