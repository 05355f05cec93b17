"""Two releases each of published packages, fetched by `npm pack`, `pip download` and `apt-get source` into a folder.

Nothing of a package is run: npm tarballs, Python wheels and the upstream tarballs of Debian are only unpacked. A package that is
in the folder is not fetched again.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_TIMEOUT_S = 600
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_SUITES = ("bookworm", "trixie")
"""The Debian suites whose versions of a source package are its old and its new release."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package with sources in `language`; Debian's versions are those of its suites."""

    language: str
    registry: Literal["npm", "pypi", "debian"]
    name: str
    old: str = _SUITES[0]
    new: str = _SUITES[1]


PACKAGES: tuple[Package, ...] = (
    Package("typescript", "npm", "rxjs", "7.5.7", "7.8.1"),
    Package("typescript", "npm", "@tanstack/query-core", "5.59.0", "5.62.0"),
    Package("typescript", "npm", "effect", "3.10.0", "3.11.0"),
    Package("typescript", "npm", "zod", "4.0.5", "4.1.0"),
    Package("typescript", "npm", "openai", "4.70.0", "4.77.0"),
    Package("typescript", "npm", "viem", "2.21.0", "2.21.50"),
    Package("python", "pypi", "httpx", "0.27.0", "0.28.0"),
    Package("python", "pypi", "rich", "13.7.0", "13.9.0"),
    Package("python", "pypi", "textual", "0.85.0", "0.86.0"),
    Package("python", "pypi", "requests", "2.31.0", "2.32.3"),
    Package("python", "pypi", "starlette", "0.37.0", "0.41.0"),
    Package("python", "pypi", "sqlalchemy", "2.0.30", "2.0.36"),
    Package("go", "debian", "golang-github-spf13-cobra"),
    Package("go", "debian", "golang-github-prometheus-common"),
    Package("go", "debian", "golang-github-spf13-viper"),
    Package("go", "debian", "golang-golang-x-tools"),
    Package("java", "debian", "commons-io"),
    Package("java", "debian", "libcommons-codec-java"),
    Package("java", "debian", "libcommons-compress-java"),
    Package("java", "debian", "libjackson2-databind-java"),
    Package("rust", "debian", "rust-serde"),
)


def fetch(folder: Path) -> list[Path]:
    """Fetch what `folder` lacks of the packages and return their folders `LANGUAGE-NAME`, each with `old` and `new`.

    A package that cannot be fetched is named on stderr and left out.
    """
    found: list[Path] = []
    for package in PACKAGES:
        home = folder / f"{package.language}-{package.name.replace('/', '-').lstrip('@')}"
        try:
            for release in ("old", "new"):
                if not (home / release).exists():
                    _fetch_release(package, release, home, folder)
        except (OSError, subprocess.SubprocessError, tarfile.TarError, zipfile.BadZipFile) as error:
            shutil.rmtree(home, ignore_errors=True)
            print(f"{package.name}: not fetched: {error}", file=sys.stderr)
            continue
        found.append(home)
    return found


def _fetch_release(package: Package, release: Literal["old", "new"], home: Path, folder: Path) -> None:
    version = package.old if release == "old" else package.new
    brought, unpacked = home / f"{release}.fetched", home / f"{release}.unpacked"
    for path in (brought, unpacked):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    match package.registry:
        case "npm":
            _run(["npm", "pack", "--silent", f"{package.name}@{version}"], brought)
        case "pypi":
            wanted = f"{package.name}=={version}"
            _run(
                [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", wanted], brought
            )
        case "debian":
            words = ["apt-get", *_apt_options(folder / "apt"), "source", "-q", "--download-only"]
            try:
                _run([*words, f"{package.name}/{version}"], brought)
            except OSError:
                if not any(map(_is_sources, brought.iterdir())):
                    raise  # else only Debian's own files are missing, as on some mirrors
    for archive in sorted(brought.iterdir()):
        _unpack(archive, unpacked)
    shutil.rmtree(brought)
    unpacked.rename(home / release)


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack a wheel or a tarball with sources; other files of a release, as Debian's own changes, are left out."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(folder)
    elif _is_sources(archive):
        with tarfile.open(archive) as tarball:
            tarball.extractall(folder, filter=_only_files)


def _is_sources(archive: Path) -> bool:
    return archive.suffix == ".tgz" or (".orig" in archive.name and archive.suffix in (".gz", ".xz", ".bz2"))


def _only_files(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    return tarfile.data_filter(member, folder) if member.isfile() or member.isdir() else None


def _apt_options(folder: Path) -> list[str]:
    """Return the options for apt-get with lists of its own in `folder`, fetched once; the system's stay as they are."""
    sources, lists = folder / "sources.list", folder / "lists"
    options = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": os.devnull,
        "Dir::State::Lists": lists,
        "Dir::Cache": folder,
    }
    words = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    if not sources.exists():
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        lines = [f"deb-src [signed-by={_KEYRING}] http://deb.debian.org/debian {suite} main\n" for suite in _SUITES]
        written = folder / "sources.new"
        written.write_text("".join(lines))
        _run(["apt-get", *words, "-o", f"Dir::Etc::SourceList={written}", "update", "-q"], folder)
        written.rename(sources)
    return words


def _run(words: Sequence[str], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(words[:2])} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
