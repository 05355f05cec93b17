"""The names that a shell completes: models, agents and sessions of a folder, read without an engine.

Opening an engine for a key press would take too long. What is read are the settings, the table of models in the cache folder, and
the records of sessions; nothing is fetched or started, and no server of models on this machine is asked.
"""

from collections.abc import Mapping
from pathlib import Path

from opencode_tui.config.auth import CHATGPT, AuthStore
from opencode_tui.config.flags import Flags
from opencode_tui.config.load import LoadedConfig, load_config
from opencode_tui.storage.paths import Paths

MOST_SESSIONS = 50
"""Sessions that are listed, the ones used last."""


class FolderNames:
    """The names of one folder. Each method blocks; the first two raise ConfigError for settings that cannot be read."""

    def __init__(self, directory: Path, *, paths: Paths, flags: Flags, environ: Mapping[str, str]) -> None:
        self._directory = directory
        self._paths = paths
        self._flags = flags
        self._environ = environ

    def models(self) -> list[str]:
        """Return the names (`provider/model`) of the models that have a key, in the order of `opencode-tui models`."""
        from opencode_tui.engine.provider.catalog import Catalog, CatalogSettings
        from opencode_tui.engine.provider.model_table import ModelTable

        config, stored = self._settings(), AuthStore(paths=self._paths)
        settings = CatalogSettings(
            provider=config.effective.get("provider") or {},
            enabled_providers=config.settings.enabled_providers,
            disabled_providers=config.settings.disabled_providers or (),
        )
        catalog = Catalog(
            settings=settings,
            table=ModelTable(cache=self._paths.cache),
            keys=stored.key,
            environment=self._environ,
            plan=lambda: stored.entry(CHATGPT),
        )
        return [str(model.ref) for model in catalog.models()]

    def agents(self) -> list[tuple[str, str]]:
        """Return the agents that can begin a turn, with what they are for."""
        from opencode_tui.engine.agent.registry import build_registry
        from opencode_tui.engine.permission.defaults import PermissionFolders

        config = self._settings()
        registry = build_registry(
            folders=PermissionFolders(
                home=self._paths.home, tool_output=self._paths.tool_output
            ),  # no rule is asked for
            entries=config.effective.get("agent") or {},
            permission={},
            default=config.settings.default_agent,
        )
        shown = (agent for agent in registry.all() if agent.mode != "subagent" and not agent.hidden)
        return [(agent.name, agent.description or "") for agent in shown]

    def sessions(self) -> list[tuple[str, str]]:
        """Return the IDs and titles of the sessions of the project, the last used one first, without those of subagents."""
        from opencode_tui.engine.project.discover import discover
        from opencode_tui.storage.session_index import SessionIndex
        from opencode_tui.storage.storage import Storage

        project = discover(self._directory, paths=self._paths, environ=self._environ)
        listed = SessionIndex(Storage(self._paths)).recent(project.id, MOST_SESSIONS, is_top=True)
        return [(info.id, info.title) for info in listed.sessions]

    def _settings(self) -> LoadedConfig:
        return load_config(paths=self._paths, flags=self._flags, directory=self._directory, environ=self._environ)
