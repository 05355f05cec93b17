"""A user's folders and a repository for tests of settings: real files, loaded as the program does."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencode_tui.config.flags import read_flags
from opencode_tui.config.load import LoadedConfig, load_config
from opencode_tui.config.trust.inspection import inspect_folder
from opencode_tui.config.trust.store import TrustStore
from opencode_tui.storage.paths import Paths, find_paths


@dataclass
class SettingsWorld:
    """`project` is a git repository as far as settings can see: it holds a `.git` folder."""

    root: Path
    environ: dict[str, str]
    project: Path = field(init=False)
    paths: Paths = field(init=False)

    def __post_init__(self) -> None:
        self.project = self.root / "project"
        (self.project / ".git").mkdir(parents=True)
        self.paths = find_paths(self.environ)

    def write(self, path: Path, content: Any) -> Path:
        """Write text as it is, anything else as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def person(self, content: Any) -> Path:
        """Write the user's settings."""
        return self.write(self.paths.config / "opencode.json", content)

    def repository(self, content: Any, name: str = "opencode.json") -> Path:
        """Write a file of the repository, by default its settings."""
        return self.write(self.project / name, content)

    def load(self, directory: Path | None = None, /, **environ: str) -> LoadedConfig:
        """Load the settings of the project, or of a folder in it, with further variables."""
        return self._load(directory or self.project, environ)

    def check(self) -> LoadedConfig:
        """Load the settings of the project as a command does that checks them."""
        return self._load(self.project, {}, is_check=True)

    def _load(self, directory: Path, environ: Mapping[str, str], *, is_check: bool = False) -> LoadedConfig:
        variables = {**self.environ, **environ}
        return load_config(
            paths=self.paths, flags=read_flags(variables), directory=directory, environ=variables, is_check=is_check
        )

    def trust(self, directory: Path | None = None) -> None:
        """Trust what the project would start as it is now."""
        inspection = inspect_folder(directory or self.project, paths=self.paths)
        TrustStore(paths=self.paths).grant(inspection.worktree, [item for item, _ in inspection.items])
