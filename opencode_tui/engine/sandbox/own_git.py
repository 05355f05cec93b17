"""Confines the git that this program starts (`engine/project/git.py`): by the tier of commands, but tighter.

Git sees the system's folders, its own program, and what it is to work on; no home, no other project, no `/proc` (tier A), and it
has no network. Where nothing confines commands, or the work tree contains the home, nothing confines git either.

The user's settings of git come as copies without the lines that hold credentials, with the files that they include and the
lists of ignored files and attributes that they name. So a link to the settings leads nowhere, too.
"""

import hashlib
import os
import re
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from opencode_tui.engine.project.git_reach import Confinement, GitReach, GitSite, GitStart, find_site
from opencode_tui.engine.sandbox.folders import (
    CREDENTIAL,
    Surroundings,
    find_named,
    program_folders,
    system_folders,
)
from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.sandbox.tier import Setting, Tier, choose
from opencode_tui.engine.sandbox.tiers import bubblewrap, landlock, seatbelt
from opencode_tui.storage.paths import Paths, ensure, find_paths

_DEPTH = 4
"""How deep settings may include others."""

_SETTINGS_BYTES = 256 * 1024
_SECTION = re.compile(r"\s*\[\s*([\w.-]+)")
_CONDITION = re.compile(r"gitdir(/i)?:\./")
_ENTRY = re.compile(r"\s*(path|excludesfile|attributesfile)\s*=\s*\"?([^\"\n]+?)\"?\s*", re.IGNORECASE)
_DEFAULTS = {"excludesFile": "ignore", "attributesFile": "attributes"}
"""What git reads besides the settings where these name nothing."""


class OwnGit:
    """Confines all git of this process. For any thread."""

    def __init__(self) -> None:
        self._guard = threading.Lock()

    def confine(
        self, argv: Sequence[str], folder: Path, environ: Mapping[str, str], reach: GitReach
    ) -> GitStart | None:
        """Return how git is started with this reach; None where nothing confines it."""
        paths = find_paths(environ)
        around = Surroundings(paths.home, (paths.data, paths.config, paths.state), folder)
        if any(paths.home.is_relative_to(path) for path in (*reach.write, *reach.read)):
            return None
        site = find_site([folder, *reach.write])
        tier = _find_tier(site, environ, paths.cache, folder)
        if tier == "none":
            return None
        program = os.path.realpath(argv[0])
        if os.path.basename(program) == os.path.basename(argv[0]):  # the folder in which PATH names it may be missing
            argv = (program, *argv[1:])
        settings = self._settings(environ, around, paths)
        named = () if site is None else _writable(site)
        policy = Policy(
            read=(
                *system_folders(),
                *program_folders(argv[0], around),
                *([settings.parent] if settings else ()),
                *reach.read,
            ),
            write=(*reach.write, *named),
            read_only=(),
            hidden=(),
            temp=ensure(paths.cache / "git" / "temp"),
            network="none",
            environ={**environ, "GIT_CONFIG_GLOBAL": str(settings or os.devnull)},
        )
        return _start(tier, policy, argv, folder)

    def follows(self, link: str, folder: Path) -> bool:
        """Return whether a link in the git folder of a work tree leads where the user lets commands write."""
        site, real = find_site([folder]), Path(os.path.realpath(link))
        return site is not None and any(real.is_relative_to(path) for path in _writable(site))

    def _settings(self, environ: Mapping[str, str], around: Surroundings, paths: Paths) -> Path | None:
        """Return a copy of the user's settings of git; None without any."""
        config = Path(environ.get("XDG_CONFIG_HOME") or around.home / ".config", "git")
        files = [config / "config", around.home / ".gitconfig", *(config / name for name in _DEFAULTS.values())]
        with self._guard:
            copies = _Copies(around, ensure(paths.cache / "git" / "settings"))
            return copies.join(files[:2], {name: config / file for name, file in _DEFAULTS.items()})


class _Copies:
    """Copies the user's settings of git into a folder of ours, each under a name of its content."""

    def __init__(self, around: Surroundings, folder: Path) -> None:
        self._around = around
        self._folder = folder

    def join(self, files: Sequence[Path], defaults: Mapping[str, Path]) -> Path | None:
        """Return a copy of several files of settings, after the default files that are there; None without any."""
        copied = {name: self._write(text) for name, path in defaults.items() if (text := self._read(path)) is not None}
        parts = [f'[core]\n\t{name} = "{path}"\n' for name, path in copied.items()]
        parts += [self._without_credentials(path, text, 0) for path in files if (text := self._read(path)) is not None]
        return self._write("\n".join(parts)) if parts else None

    def _read(self, path: Path) -> str | None:
        real = self._around.find(path)
        try:
            if real is None or not real.is_file() or real.stat().st_size > _SETTINGS_BYTES:
                return None
            return real.read_text("utf-8", "surrogateescape")
        except OSError:
            return None

    def _without_credentials(self, path: Path, text: str, depth: int) -> str:
        """Return settings whose included files are copies."""
        lines: list[str] = []
        section = ""
        for line in text.splitlines():
            if found := _SECTION.match(line):
                section = found[1].lower()
            if CREDENTIAL.search(line):
                # Without its header what follows would be of the section before.
                lines += ["[left-out]"] if found else []
                continue
            entry = _ENTRY.fullmatch(line)
            if entry is None or not (section in ("include", "includeif") or entry[1].lower() != "path"):
                lines.append(_CONDITION.sub(lambda one: f"gitdir{one[1] or ''}:{path.parent}/", line))
                continue
            target = path.parent / re.sub(r"^~(?=/)", str(self._around.home), entry[2])
            inner = self._read(target) if depth < _DEPTH else None
            if inner is None:
                continue
            if entry[1].lower() == "path":
                inner = self._without_credentials(target, inner, depth + 1)
            lines.append(f'\t{entry[1]} = "{self._write(inner)}"')
        return "\n".join(lines) + "\n"

    def _write(self, text: str) -> Path:
        data = text.encode("utf-8", "surrogateescape")
        path = self._folder / hashlib.sha256(data).hexdigest()[:40]
        if not path.exists():
            new = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
            with open(new, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(data)
            new.replace(path)
        return path


def _find_tier(site: GitSite | None, environ: Mapping[str, str], cache: Path, folder: Path) -> Tier:
    if site is not None and site.settings.mode == "off":
        return "none"
    setting = (None if site is None else site.settings.tier) or "auto"
    return _choose(setting, environ.get("PATH", ""), environ.get("HOME", ""), cache, folder)


@lru_cache(maxsize=64)
def _choose(setting: Setting, path: str, home: str, cache: Path, folder: Path) -> Tier:
    found = choose(setting, {"PATH": path, "HOME": home}, cache, folder)
    return found.tier if found.works else "none"


def _writable(site: GitSite) -> tuple[Path, ...]:
    """Return the folders that settings let commands write."""
    around = Surroundings(site.home, (), site.worktree)
    written = find_named(site.settings.writable or [], site.home, site.worktree)
    return tuple(lead.real for path in written if not (lead := around.follow(path)).is_led_out)


def _start(tier: Tier, policy: Policy, argv: Sequence[str], folder: Path) -> GitStart:
    if tier == "bubblewrap":
        return GitStart(bubblewrap.plan_helper(policy, argv, folder), policy.environ)
    environ = {**policy.environ, "TMPDIR": str(policy.temp)}
    if tier == "landlock":
        return GitStart(argv, environ, landlock.confinement(policy))

    return GitStart((seatbelt.PROGRAM, "-p", seatbelt.profile(policy), *argv), environ)


OWN_GIT: Confinement = OwnGit()
