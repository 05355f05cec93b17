"""The texts that tell an agent how to work; each is a file in `prompts/`."""

from functools import lru_cache
from pathlib import Path
from typing import Literal

PromptName = Literal[
    "default", "plan", "build_switch", "explore", "general", "compaction", "title", "summary", "subtask_report"
]  # fmt: skip


@lru_cache(maxsize=16)
def read_prompt(name: PromptName) -> str:
    """Return a prompt's text without surrounding blank lines.

    `default` is the system prompt of every agent without one of its own; `plan` and `build_switch` are reminders that the loop
    puts beside the newest user message (reference, section 24); `subtask_report` follows the subtask of a slash command (29).
    """
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()
