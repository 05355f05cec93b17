"""The skill tool: the model loads the instructions of one skill. Source: docs/internals/tools.md#skill."""

import asyncio
from collections.abc import Sequence

from opencode_tui.engine.permission.ruleset import grantable
from opencode_tui.engine.skill.skills import Skill, Skills
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.field import Field

_LINE = 240
"""Characters of one skill in the list that each request contains."""
_LIST = 6_000
"""Maximum length of the list with descriptions, in characters; further skills are listed by name only."""


class SkillParameters(Parameters):
    """The skill to load."""

    name: str = Field(description="name of the skill")


class SkillTool:
    """Loads skills."""

    name = "skill"
    parameters = SkillParameters

    def __init__(self, *, skills: Skills) -> None:
        self._skills = skills
        self.description = f"{read_description(self.name)}\n{_listed(skills.all())}"

    async def run(self, arguments: SkillParameters, context: ToolContext) -> ToolResult:
        """Return the skill's text with the files that come with it."""
        skill = self._skills.get(arguments.name)
        if skill is None:
            known = ", ".join(one.name for one in self._skills.all())
            raise ToolError(f"there is no skill {arguments.name!r}; there are: {known or 'none'}")
        await context.ask("skill", [skill.name], always=grantable([skill.name]))
        text, files = await asyncio.to_thread(lambda: (skill.read(), skill.sample()))
        return ToolResult(
            title=f"Loaded skill: {skill.name}",
            output=_rendered(skill, text, [str(path.relative_to(skill.folder)) for path in files]),
            metadata={"name": skill.name, "dir": str(skill.folder)},
        )


def _rendered(skill: Skill, text: str, files: Sequence[str]) -> str:
    lines = [
        f'<skill_content name="{skill.name}">',
        f"# Skill: {skill.name}",
        "",
        text,
        "",
        f"Base directory: {skill.folder.as_uri()}",
    ]
    if files:
        lines += ["", "<skill_files>", *(f"<file>{name}</file>" for name in files), "</skill_files>"]
    return "\n".join([*lines, "</skill_content>"])


def _listed(skills: Sequence[Skill]) -> str:
    """Return one line a skill, within bounds: the list is part of every request."""
    lines: list[str] = []
    room = _LIST
    for skill in skills:
        line = f"- {skill.name}: {skill.description}"
        line = line if len(line) <= _LINE else line[: _LINE - 1] + "…"
        if len(line) > room:
            line = f"- {skill.name}"
        room -= len(line)
        lines.append(line)
    return "\n".join(["Skills:", *lines])


def make(kit: ToolKit) -> SkillTool:
    """Return the tool."""
    return SkillTool(skills=kit.skills)
