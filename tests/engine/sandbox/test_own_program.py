"""What runs unconfined at the next start of this program cannot be changed by commands, wherever it lies."""

import os
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_tui.engine.project.programs import Program
from opencode_tui.engine.sandbox import own_program
from opencode_tui.engine.sandbox.own_program import Installation, find_installation, protect
from opencode_tui.engine.sandbox.tier import Tier
from opencode_tui.storage.paths import Paths
from tests.engine.sandbox.conftest import require_tier
from tests.engine.sandbox.test_sandbox import World
from tests.support.rows import each
from tests.support.world.repo import make_repo

MEMBERS = (
    ".venv/bin/rg",
    ".venv/bin/python",
    ".venv/lib/python3.11/site-packages/click.py",
    ".venv/pyvenv.cfg",
    ".venv/new",
)


@pytest.fixture
def project(paths: Paths) -> Path:
    folder = paths.home / "project"
    make_repo(folder).write("a.txt", "a\n")
    for name in MEMBERS[:-1]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("ours\n")
    return folder


def world(tier: Tier, paths: Paths, environ: dict[str, str], project: Path) -> World:
    require_tier(tier)
    return World(tier, paths, environ, project)


@pytest.fixture
def in_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This program as if `pip install .` had put it into the project's virtual environment."""
    monkeypatch.setattr(sys, "prefix", str(project / ".venv"))
    monkeypatch.setattr(sys, "executable", str(project / ".venv/bin/python"))
    monkeypatch.setattr(own_program, "_PACKAGE", project / ".venv/lib/python3.11/site-packages/opencode_tui")
    find_installation.cache_clear()
    yield
    find_installation.cache_clear()


CHANGES = (
    "for one in {members}; do (echo pwned >> $one) 2> /dev/null; rm -f $one; done; mv .venv moved; mv .venv/bin .venv/old; "
    'ln -sfn /tmp .venv/lib; python3 -c \'import os; os.replace("a.txt", ".venv/bin/rg")\'; echo b > b.txt'
)


async def test_in_tier_a_an_installation_in_the_project_is_read_only(
    paths: Paths, environ: dict[str, str], project: Path, in_project: None
) -> None:
    inside = world("bubblewrap", paths, environ, project)
    await inside.run(CHANGES.format(members=" ".join(MEMBERS)))
    assert {name: (project / name).read_text() for name in MEMBERS[:-1]} == dict.fromkeys(MEMBERS[:-1], "ours\n")
    assert not (project / ".venv/new").exists()
    assert (project / "b.txt").read_text() == "b\n"
    assert (await inside.sandbox().status()).exposed == ""


async def test_in_tier_b_it_is_said(paths: Paths, environ: dict[str, str], project: Path, in_project: None) -> None:
    inside = world("landlock", paths, environ, project)
    status = await inside.sandbox().status()
    assert (status.tier, status.exposed) == (
        "landlock",
        "it is installed where they may write; install it elsewhere, or bubblewrap",
    )
    inside.settings["mode"] = "read-only"
    assert (await inside.sandbox().status()).exposed == ""


async def test_the_source_of_an_editable_installation_stays_editable_and_is_said(
    paths: Paths, environ: dict[str, str], project: Path, in_project: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "opencode_tui").mkdir()
    monkeypatch.setattr(own_program, "_PACKAGE", project / "opencode_tui")
    inside = world("bubblewrap", paths, environ, project)
    await inside.run("echo x > opencode_tui/x.py; echo x > .venv/bin/rg")
    assert (project / "opencode_tui/x.py").read_text() == "x\n"
    assert (project / ".venv/bin/rg").read_text() == "ours\n"
    assert (await inside.sandbox().status()).exposed == "it runs from the source of this project"


async def test_programs_in_folders_that_a_setting_opens_are_read_only(
    paths: Paths, environ: dict[str, str], project: Path
) -> None:
    tool = paths.home / "tools/bin/git"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n")
    environ["PATH"] = f"{tool.parent}:{environ['PATH']}"
    inside = world("bubblewrap", paths, environ, project)
    inside.settings["writable"] = ["~/tools"]
    await inside.run("echo x > ~/tools/bin/git; echo x > ~/tools/bin/new; echo x > ~/tools/new")
    assert tool.read_text() == "#!/bin/sh\n"
    assert sorted(os.listdir(tool.parent)) == ["git"]
    assert (paths.home / "tools/new").exists()
    inside.settings["writable"] = ["~/tools/bin"]
    assert "names a folder of PATH" in (await inside.sandbox().status()).exposed


def of(root: Path, *, source: str, parts: tuple[str, ...] = (), modules: tuple[str, ...] = ()) -> Installation:
    return Installation(root / source, tuple(root / one for one in parts), tuple(root / one for one in modules))


@pytest.mark.parametrize(
    ("installation", "read_only", "exposed"),
    [
        (("usr/lib/ours", ("usr",), ()), [], ""),
        (("proj/.venv/lib/ours", ("proj/.venv",), ()), ["proj/.venv"], ""),
        (("proj/src/ours", ("usr",), ("proj/src",)), [], "it runs from the source of this project"),
        (("proj/src/ours", ("proj/.venv",), ("proj/src",)), ["proj/.venv"], "it runs from the source of this project"),
        (("open/ours", ("usr",), ("open",)), ["open/ours"], "what they may write is a part of it"),
        (("usr/lib/ours", ("usr",), ("proj/lib",)), [], "it imports from folders of this project; unset PYTHONPATH"),
        (("usr/lib/ours", ("usr",), ("open/lib",)), ["open/lib"], ""),
    ],
)
def test_what_is_protected_depends_on_where_it_lies(
    tmp_path: Path, installation: tuple[str, tuple[str, ...], tuple[str, ...]], read_only: list[str], exposed: str
) -> None:
    source, parts, modules = installation
    found = protect(
        of(tmp_path, source=source, parts=parts, modules=modules),
        "bubblewrap",
        (tmp_path / "proj", tmp_path / "open"),
        project=tmp_path / "proj",
        broad=(tmp_path / "open",),
        environ={},
    )
    assert (list(found.read_only), found.exposed) == ([tmp_path / one for one in read_only], exposed)


def test_this_program_is_its_interpreter_its_packages_and_its_own_package(tmp_path: Path) -> None:
    found = find_installation()
    assert found.source == Path(own_program.__file__).parents[2]
    assert {Path(os.path.realpath(one)) for one in (sys.prefix, sys.base_prefix, sys.executable)} <= set(found.parts)
    assert [path for path in found.modules if path.name == "site-packages"]


@each("name", ["stdlib", "platstdlib", "purelib", "platlib", "scripts"])
def test_the_folders_of_python_are_those_that_it_names(name: str) -> None:
    named = Path(os.path.realpath(sysconfig.get_path(name)))
    found = find_installation()
    assert any(map(named.is_relative_to, found.parts))
    assert name == "scripts" or any(map(named.is_relative_to, found.modules))


@pytest.mark.slow
async def test_a_python_in_the_temp_folder_works_and_is_read_only(
    paths: Paths, environ: dict[str, str], project: Path, tmp_path: Path
) -> None:
    made = tmp_path / "interpreter"  # pytest's folders are in the system's temp folder
    venv.create(made, symlinks=True, with_pip=False)
    (tmp_path / "current").symlink_to("interpreter")
    for name in ("interpreter", "current"):
        inside = world("bubblewrap", paths, {**environ, "PATH": f"{tmp_path / name}/bin:/usr/bin:/bin"}, project)
        output = await inside.run(
            "python -c 'import json, sys; print(sys.prefix)'; touch $(dirname $(which python))/new"
        )
        assert output.startswith(f"{tmp_path / name}\n"), output
    assert not (made / "bin/new").exists()


@pytest.mark.parametrize("kind", ["link", "file"])
async def test_programs_directly_in_the_temp_folder_work(
    paths: Paths, environ: dict[str, str], project: Path, tmp_path: Path, kind: str
) -> None:
    name = Path(f"/tmp/opencode-tui-{os.getpid()}-{kind}")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "tool").write_text("#!/bin/sh\necho works\n")
    (folder / "tool").chmod(0o755)
    try:
        if kind == "link":
            name.symlink_to(folder)
            entry = name
        else:
            name.write_text("#!/bin/sh\necho works\n")
            name.chmod(0o755)
            entry = paths.home / "links"
            entry.mkdir()
            (entry / "tool").symlink_to(name)
        inside = world("bubblewrap", paths, {**environ, "PATH": f"{entry}:/usr/bin:/bin"}, project)
        assert await inside.run("tool") == "works\n"
    finally:
        name.unlink()


async def test_the_temp_folder_on_path_does_not_open_it(
    paths: Paths, environ: dict[str, str], project: Path, tmp_path: Path
) -> None:
    (tmp_path / "canary").write_text("CANARY")
    inside = world("bubblewrap", paths, {**environ, "PATH": f"/tmp:{environ['PATH']}"}, project)
    assert "CANARY" not in await inside.run(f"cat {tmp_path}/canary; ls /tmp")


async def test_a_language_server_that_a_setting_names_by_its_path_can_be_read(
    paths: Paths, environ: dict[str, str], project: Path, tmp_path: Path
) -> None:
    require_tier("bubblewrap")
    program = tmp_path / "server/bin/server"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\ncat $(dirname $0)/../lib\n")
    program.chmod(0o755)
    (tmp_path / "server/lib").write_text("library\n")
    sandbox = World("bubblewrap", paths, environ, project).sandbox()
    launch = await sandbox.confine_helper(Program([str(program)], project, environ))
    assert launch is not None
    from opencode_tui.engine.sandbox.piped import start_piped

    process = await start_piped(launch)
    output, errors = await process.communicate()
    assert (output, errors) == (b"library\n", b"")
