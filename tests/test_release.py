"""What a release consists of: the sdist, the wheel that is built from it, and what they say about themselves."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

import click
import pytest

from opencode_tui import __version__
from opencode_tui.cli.main import PROGRAM, commands
from tests.support.source.archive import extract
from tests.support.source.shared_files import COMPLETIONS, MANUAL, SHARE, WRITTEN, derive
from tests.support.world.cli import PACKAGE_ROOT
from tests.support.world.waiting import PATIENCE_S

PACKAGE = PACKAGE_ROOT / "opencode_tui"
REMEDY = "run `python -m tests.support.source.shared_files`"


def build(kind: str, source: Path, into: Path) -> Path:
    """Build an sdist or a wheel without the network, and return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    [built] = into.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The wheel, built from the sdist, as installers do that find no wheel."""
    folder = tmp_path_factory.mktemp("release")
    with tarfile.open(build("sdist", PACKAGE_ROOT, folder / "sdist")) as sdist:
        extract(sdist, folder / "source")
    [source] = (folder / "source").iterdir()
    with zipfile.ZipFile(build("wheel", source, folder / "wheel")) as archive:
        yield archive


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the content of each file below a folder, but compiled ones."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def entries_below(wheel: zipfile.ZipFile, folder: str) -> dict[str, bytes]:
    """Return the content of each file of the wheel below a folder of it."""
    names = [name for name in wheel.namelist() if name.startswith(folder) and not name.endswith("/")]
    return {name.removeprefix(folder): wheel.read(name) for name in names}


def metadata(wheel: zipfile.ZipFile) -> Message:
    """Return what the wheel says about itself."""
    return Parser().parsestr(wheel.read(f"opencode_tui-{__version__}.dist-info/METADATA").decode())


@pytest.mark.slow
def test_the_wheel_has_each_file_of_the_package_as_it_is(wheel: zipfile.ZipFile) -> None:
    wanted, packed = files_below(PACKAGE), entries_below(wheel, "opencode_tui/")
    kinds = {Path(name).suffix for name in wanted}
    assert {".py", ".md", ".json", ".txt", ".css", ".tcss", ".js", ".typed"} <= kinds
    assert sorted(wanted.keys() ^ packed.keys()) == []
    assert [name for name, content in wanted.items() if packed[name] != content] == []


@pytest.mark.slow
def test_the_wheel_has_nothing_but_the_package_its_shared_files_and_its_metadata(wheel: zipfile.ZipFile) -> None:
    own = f"opencode_tui-{__version__}"
    tops = {name.split("/", 1)[0] for name in wheel.namelist()}
    assert tops == {"opencode_tui", f"{own}.dist-info", f"{own}.data"}
    assert f"{own}.dist-info/licenses/LICENSE" in wheel.namelist()


@pytest.mark.slow
def test_the_wheel_installs_the_manual_page_and_the_completions_below_a_prefix(wheel: zipfile.ZipFile) -> None:
    shared = entries_below(wheel, f"opencode_tui-{__version__}.data/data/share/")
    assert shared == files_below(SHARE)
    assert shared.keys() == {MANUAL, *COMPLETIONS.values(), *WRITTEN}


@pytest.mark.slow
def test_the_version_is_written_in_one_file(wheel: zipfile.ZipFile) -> None:
    assert metadata(wheel)["Version"] == __version__
    statement = re.compile(rf"""version\S*\s*[=:]\s*["']{re.escape(__version__)}["']""")
    own = [*PACKAGE.rglob("*.py"), PACKAGE_ROOT / "pyproject.toml"]
    assert len(own) > 500
    assert [path.name for path in own if statement.search(path.read_text("utf-8"))] == ["__init__.py"]


@pytest.mark.slow
def test_the_classifiers_name_the_versions_that_are_tried_and_the_types(wheel: zipfile.ZipFile) -> None:
    about = metadata(wheel)
    classifiers: list[str] = about.get_all("Classifier", [])
    script = (PACKAGE_ROOT / ".ci/pythons").read_text("utf-8")
    tried = re.search(r'^PYTHONS="([\d. ]+)"$', script, re.MULTILINE)
    assert tried is not None
    minors = tried[1].split()
    named = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("Programming Language :: Python :: 3.")]
    assert named == minors
    assert about["Requires-Python"] == f">={minors[0]}"
    assert "Typing :: Typed" in classifiers
    assert "opencode_tui/py.typed" in wheel.namelist()


def test_the_shared_files_are_those_of_the_commands() -> None:
    wanted = {name: text.encode() for name, text in derive().items()}
    written = files_below(SHARE)
    assert sorted(wanted.keys() ^ written.keys()) == list(WRITTEN), REMEDY
    assert [name for name, content in wanted.items() if written[name] != content] == [], REMEDY


def all_commands(group: click.Group, context: click.Context, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield each command that the help shows, with its words."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if command.hidden:
            continue
        yield f"{path}{name}", command
        if isinstance(command, click.Group):
            yield from all_commands(command, context, f"{path}{name} ")


@pytest.mark.skipif(shutil.which("man") is None or shutil.which("groff") is None, reason="man is not installed")
def test_man_shows_every_command_and_every_option_without_a_warning() -> None:
    environ = {**os.environ, "MANWIDTH": "200", "MANOPT": "", "LC_ALL": "C.UTF-8", "MANROFFOPT": ""}
    command = ["man", "--warnings", "--local-file", str(SHARE / MANUAL)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")
    page = re.sub(r"\x1b\[[\d;]*m|.\x08", "", done.stdout)
    sections = re.split(r"^   (?=\S)", page, flags=re.MULTILINE)
    by_command = {text.partition("\n")[0]: text for text in sections[1:]}
    found = dict(all_commands(commands, click.Context(commands)))
    assert len(found) > 40
    assert sorted(found.keys() - by_command.keys()) == []
    options = {
        (path, option)
        for path, one in found.items()
        for parameter in one.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for option in parameter.opts
    }
    assert len(options) > 60
    assert sorted((path, option) for path, option in options if option not in by_command[path]) == []


def write_program(folder: Path) -> Path:
    """Write the command into a folder, as an installer does, and return its file."""
    program = folder / PROGRAM
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m opencode_tui "$@"\n')
    program.chmod(0o755)
    return program


def completing(environ: dict[str, str], program: Path) -> dict[str, str]:
    """Return the environment of a shell that finds the program."""
    return {**environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(PACKAGE_ROOT)}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ses"], {"session"}),
        (["session", "f"], {"fork"}),
        (["session", "fork", "--w"], {"--worktree"}),
        (["comp"], {"completion"}),
        (["completion", ""], {"bash", "zsh", "fish"}),
        (["run", "--format", "j"], {"json"}),
        (["un"], {"unshare"}),
        (["session", "nothing-of-this-name"], set[str]()),
    ],
)
def test_bash_completes_with_the_installed_script(
    tmp_path: Path, environ: dict[str, str], words: list[str], expected: set[str]
) -> None:
    program = write_program(tmp_path)
    script = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '"_opencode_tui_completion" "$1"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "-", str(SHARE / COMPLETIONS["bash"]), PROGRAM, *words],
        env=completing(environ, program),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == expected


def test_descriptions_for_fish_end_at_no_comma() -> None:
    script = (SHARE / COMPLETIONS["fish"]).read_text("utf-8")
    assert [line.strip() for line in script.splitlines() if "string split" in line] == [
        'set -l metadata (string split --max 1 "," $completion);'
    ]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes_with_the_installed_script(tmp_path: Path, environ: dict[str, str]) -> None:
    program = write_program(tmp_path)
    done = subprocess.run(
        [
            "fish",
            "--no-config",
            "-c",
            f'source {SHARE / COMPLETIONS["fish"]}; complete --do-complete "{PROGRAM} session li"',
        ],
        env=completing(environ, program),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (done.stdout, done.returncode) == ("list\tList sessions, the latest first.\n", 0), done.stderr


def test_the_changelog_is_in_order_from_the_version_to_come() -> None:
    lines = (PACKAGE_ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    headings = [line for line in lines if line.startswith("## ")]
    form = re.compile(r"## \[(\d+)\.(\d+)\.(\d+)\] - (unreleased|\d{4}-\d{2}-\d{2})")
    found = [form.fullmatch(line) for line in headings]
    assert [line for line, match in zip(headings, found, strict=True) if match is None] == []
    matches = [match for match in found if match is not None]
    versions = [tuple(int(number) for number in match.groups()[:3]) for match in matches]
    assert versions
    assert versions == sorted(set(versions), reverse=True)
    assert [match[4] == "unreleased" for match in matches[1:]] == [False] * (len(matches) - 1)
    assert tuple(int(number) for number in __version__.split(".")) <= versions[0]


def test_the_project_names_no_version_of_its_own() -> None:
    project = tomllib.loads((PACKAGE_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert "version" not in project
    assert project["dynamic"] == ["version"]


def test_the_entry_for_the_registry_of_agents_has_its_form_and_no_address_that_is_not_ours() -> None:
    """The form is that of `agent.schema.json` of the registry: these fields, these patterns, at least one distribution."""
    done = subprocess.run(
        [sys.executable, str(PACKAGE_ROOT / "packaging" / "acp_manifest.py"), __version__],
        capture_output=True,
        text=True,
        check=True,
    )
    entry = json.loads(done.stdout)
    project = tomllib.loads((PACKAGE_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {"id", "name", "version", "description", "distribution"} <= entry.keys()
    assert re.fullmatch(r"[a-z][a-z0-9-]*", entry["id"]) and re.match(r"[0-9]+\.[0-9]+\.[0-9]+", entry["version"])
    assert entry["distribution"] == {"uvx": {"package": f"opencode-tui=={__version__}", "args": ["acp"]}}
    assert ("://" in done.stdout) == ("urls" in project)


@pytest.mark.slow
def test_one_command_names_a_release_and_nothing_is_written_where_it_cannot(tmp_path: Path) -> None:
    of_users = [f"packaging/share/opencode-tui/ci/{name}-review.yml" for name in ("github", "gitlab")]
    for name in ("packaging/version.py", "opencode_tui/__init__.py", "CHANGELOG.md", *of_users):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE_ROOT / name, tmp_path / name)
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text("## [1.0.0] - unreleased\n\n- one\n")
    command = [sys.executable, str(tmp_path / "packaging" / "version.py")]
    wrong = subprocess.run([*command, "9.8", "2026-11-25"], capture_output=True, text=True, check=False)
    done = subprocess.run([*command, "9.8.7", "2026-11-25"], capture_output=True, text=True, check=False)
    again = subprocess.run([*command, "9.8.8", "2026-11-26"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, done.returncode, again.returncode) == (1, 0, 1)
    assert "CHANGELOG.md has 0 lines" in again.stderr
    assert '__version__ = "9.8.7"' in (tmp_path / "opencode_tui" / "__init__.py").read_text().splitlines()
    assert changes.read_text() == "## [9.8.7] - 2026-11-25\n\n- one\n"
    installed = [
        line for name in of_users for line in (tmp_path / name).read_text().splitlines() if "opencode-tui==" in line
    ]
    assert [line.split()[1] for line in installed] == ["opencode-tui==9.8.7"] * 2
