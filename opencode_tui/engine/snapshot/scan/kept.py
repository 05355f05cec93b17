"""Which ignored files a scan records: those that no tool makes again, within limits of size and number.

Ignored files are what people lose: `.env`, local databases, uploads, notes. What tools make again would only fill the store.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from opencode_tui.engine.snapshot.entry import IGNORED_FULL, IGNORED_MANY
from opencode_tui.engine.snapshot.scan.stat_cache import KnownFile, KnownFolder

MIB = 1024 * 1024

MADE_BY: dict[str, str] = {
    "node_modules": "npm, yarn, pnpm install it from a lock file",
    "bower_components": "bower installs it",
    "jspm_packages": "jspm installs it",
    ".venv": "pip, uv, poetry fill it from a list of requirements",
    "venv": "the same",
    "virtualenv": "the same",
    "__pycache__": "Python compiles it",
    "__pypackages__": "pdm installs it",
    ".tox": "tox makes its environments",
    ".nox": "nox makes its environments",
    ".eggs": "setuptools downloads it",
    ".mypy_cache": "a cache of mypy",
    ".pytest_cache": "a cache of pytest",
    ".ruff_cache": "a cache of ruff",
    ".hypothesis": "a cache of hypothesis",
    ".ipynb_checkpoints": "Jupyter copies a notebook there at each save",
    "htmlcov": "coverage writes its report",
    ".nyc_output": "nyc writes its report",
    "target": "cargo, Maven, sbt build it",
    "build": "Gradle, CMake, setuptools, webpack build it",
    "dist": "bundlers and packagers build it",
    "_build": "Sphinx, mix, dune build it",
    "DerivedData": "Xcode builds it",
    "Pods": "CocoaPods installs it",
    "Carthage": "Carthage builds it",
    "obj": ".NET builds it",
    ".gradle": "a cache of Gradle",
    ".dart_tool": "a cache of Dart",
    ".stack-work": "Stack builds it",
    "dist-newstyle": "cabal builds it",
    "elm-stuff": "Elm installs it",
    "vendor": "Composer, Bundler, go mod vendor fill it",
    ".bundle": "Bundler installs it",
    ".terraform": "terraform init downloads it",
    ".serverless": "serverless packages it",
    ".next": "Next.js builds it",
    ".nuxt": "Nuxt builds it",
    ".output": "Nitro builds it",
    ".svelte-kit": "SvelteKit builds it",
    ".angular": "a cache of Angular",
    ".turbo": "a cache of Turborepo",
    ".parcel-cache": "a cache of Parcel",
    ".cache": "a cache by its name",
    ".yarn": "yarn downloads it",
    ".pnpm-store": "pnpm downloads it",
    ".ccache": "a cache of ccache",
    "bazel-out": "Bazel builds it",
}
"""Names of ignored folders that are left out, each with what makes its content again.

Not among them: `bin`, `out`, `tmp`, `data`, `logs`, `env`, which also hold what nothing makes again.
"""

MARKERS = frozenset(("CACHEDIR.TAG", "pyvenv.cfg"))
"""Files that mark the ignored folder in which they are as made by a tool: a cache, a virtual environment of any name."""


@dataclass(frozen=True, slots=True)
class KeptLimits:
    """The limits for ignored files: bytes of one, bytes of all, number of all. With 0 bytes none is recorded."""

    file_bytes: int = MIB
    total_bytes: int = 200 * MIB
    entries: int = 10_000

    @property
    def too_large(self) -> str:
        """The reason why a larger file is not recorded."""
        return f"ignored and over {self.file_bytes / MIB:.3g} MiB"


class KeptBudget:
    """What one scan may still record of ignored files."""

    def __init__(self, limits: KeptLimits, known: Iterable[KnownFolder], *, has_room: bool) -> None:
        """`known` are the folders of the last scan. Without room in the store only what it has already is recorded."""
        self.limits = limits
        self._has_room = has_room
        self._bytes = sum(folder.kept for folder in known)
        self._entries = 0

    @property
    def is_on(self) -> bool:
        """Return whether any ignored file is recorded."""
        return self.limits.file_bytes > 0

    @property
    def entries_left(self) -> int:
        """Return how many entries the next ignored folder may have."""
        return self.limits.entries - self._entries

    def admits(self, names: Collection[str]) -> bool:
        """Count the entries of an ignored folder, and return whether it is walked into."""
        if len(names) > self.entries_left or not MARKERS.isdisjoint(names):
            return False
        self._entries += len(names)
        return True

    def reason_against(self, size: int, old: KnownFile | None) -> str | None:
        """Return why a new or changed ignored file is not recorded, None when it is; `old` is what the last scan recorded."""
        if size > self.limits.file_bytes:
            return self.limits.too_large
        grown = size - (max(0, old[0][1]) if old is not None else 0)
        if self._bytes + grown > self.limits.total_bytes:
            return IGNORED_MANY
        if not self._has_room:
            return IGNORED_FULL
        self._bytes += grown
        return None
