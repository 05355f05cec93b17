"""What a folder's settings add to the engine: plugins, skills, slash commands; and the settings as the plugins want them."""

import asyncio
from pathlib import Path

from msgspec import Struct

from opencode_tui.config.flags import Flags
from opencode_tui.config.load import LoadedConfig
from opencode_tui.engine.command.commands import Commands, collect_commands
from opencode_tui.engine.plugin.discovery import PluginSource, find_plugins
from opencode_tui.engine.plugin.hooks import Hooks
from opencode_tui.engine.plugin.plugins import Plugins
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.skill.places import SkillSearch, search_of
from opencode_tui.engine.skill.skills import Skills, discover_skills
from opencode_tui.storage.paths import Paths


class Extensions(Struct, frozen=True):
    """What was found and loaded."""

    config: LoadedConfig
    plugins: Plugins
    skills: Skills
    commands: Commands

    @property
    def hooks(self) -> Hooks:
        """The plugins' hooks."""
        return self.plugins.hooks

    @property
    def warnings(self) -> list[str]:
        """What could not be used, and what has failed since."""
        return [*self.skills.warnings, *self.plugins.warnings]


async def load_extensions(
    config: LoadedConfig, project: Project, *, paths: Paths, flags: Flags, directory: Path
) -> Extensions:
    """Load what the settings name; nothing that is found there can fail the whole."""
    sources = await asyncio.to_thread(find_plugins, config, paths=paths, flags=flags, directory=directory)
    plugins = Plugins()
    if sources:
        plugins, config = await _load(sources, config, project, directory)
    search = search_of(config, home=paths.home, directory=directory, use_claude=not flags.is_claude_code_disabled)
    skills, commands = await asyncio.to_thread(_collect, search, config)
    return Extensions(config, plugins, skills, commands)


async def _load(
    sources: list[PluginSource], config: LoadedConfig, project: Project, directory: Path
) -> tuple[Plugins, LoadedConfig]:
    from opencode_tui.engine.plugin.config_hook import change_config  # only where there are plugins
    from opencode_tui.engine.plugin.definition import PluginContext
    from opencode_tui.engine.plugin.loader import load_plugins

    context = PluginContext(directory=directory, worktree=project.worktree, project_id=project.id)
    plugins = await load_plugins(sources, context)
    return plugins, await change_config(plugins.hooks, config)


def _collect(search: SkillSearch, config: LoadedConfig) -> tuple[Skills, Commands]:
    skills = discover_skills(search)
    return skills, collect_commands(config, skills)
