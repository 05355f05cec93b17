"""Caches of tools: a project's own are written, the user's are only read, and what a command makes there stays there."""

import os
import shlex
import time
from pathlib import Path

import pytest

from opencode_tui.engine.sandbox import cache_copies
from opencode_tui.engine.sandbox.cache_copies import Part, UserCache, bring
from opencode_tui.engine.sandbox.caches import TOOLS, find_caches, repair_caches
from opencode_tui.engine.sandbox.folders import Surroundings
from opencode_tui.engine.sandbox.temp import KEEP_CACHES_S, cache_folder, caches_folder, delete_abandoned
from opencode_tui.storage.paths import Paths
from tests.engine.sandbox.conftest import require_tier
from tests.engine.sandbox.test_sandbox import World
from tests.support.world.machine import PYTHON
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


CACHED = (
    "go/pkg/mod/example.org/a@v1/a.go", "go/pkg/mod/cache/download/example.org/a/@v/v1.zip", ".cargo/registry/src/i/a-1/lib.rs",
    ".cargo/registry/cache/i/a-1.crate", ".cargo/git/db/a/HEAD", ".cargo/bin/tool", ".m2/repository/a/a/1/a-1.jar",
    ".gradle/caches/modules-2/a.jar", ".gradle/wrapper/dists/g/h/g/bin/gradle", ".cache/pip/wheels/a/a.whl",
    ".cache/pip/http-v2/1/2/a.body", ".npm/_cacache/content-v2/sha512/aa/bb/c", ".npm/_cacache/index-v5/aa/bb/c",
    ".cache/uv/archive-v0/x/demo/__init__.py", ".cache/uv/simple-v1/demo.rkyv", ".cache/go-build/00/a-d", ".cache/ccache/0/1/aR",
    ".nuget/packages/a/a.dll", ".cache/pre-commit/repo1/hook.py", ".local/share/uv/tools/demo/lib/demo.py",
)  # fmt: skip
"""Files of the user that run outside later, or are read by what does."""

TOOLS_OF_FILES = "pip uv go cargo mvn npm gradle ccache pre-commit"


@pytest.fixture(params=["bubblewrap", "landlock"])
def world(request: pytest.FixtureRequest, paths: Paths, environ: dict[str, str]) -> World:
    require_tier(request.param)
    repo = make_repo(paths.home / "work/project")
    repo.write("a.txt", "a\n")
    repo.commit("begin")
    for name in CACHED:
        (paths.home / name).parent.mkdir(parents=True, exist_ok=True)
        (paths.home / name).write_text(f"of the user: {name}\n")
    return World(request.param, paths, environ, repo.path)


@pytest.fixture
def around(paths: Paths) -> Surroundings:
    return Surroundings(paths.home, (paths.data, paths.config, paths.state, paths.cache), paths.home / "project")


def content(home: Path) -> dict[str, str]:
    return {name: (home / name).read_text() for name in CACHED}


def all_paths(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


WRITERS = {
    "append": 'open(path, "a").write("POISON")',
    "replace": 'open(path + ".new", "w").write("POISON"); os.replace(path + ".new", path)',
    "remove": "os.unlink(path)",
    "make a file beside": 'open(os.path.dirname(path) + "/new", "w")',
    "write through a hard link": 'os.link(path, "hard"); open("hard", "a").write("POISON"); os.unlink("hard")',
    "swap its folder": "os.rename(os.path.dirname(path), path + '-old')",
}


async def test_no_command_changes_a_cache_or_a_tool_of_the_user(world: World) -> None:
    before = content(world.home)
    lines = [
        "import os, sys",
        f"TOOLS = {TOOLS_OF_FILES!r}",
        f"for path in {[str(world.home / name) for name in CACHED]!r}:",
    ]
    for name, attempt in WRITERS.items():
        lines += [
            "    try:",
            f"        {attempt}",
            "    except OSError: print('refused')",
            f"    else: print({name!r}, path)",
        ]
    (world.project / "poison.py").write_text("\n".join(lines) + "\n")
    output = await world.run(f"true {TOOLS_OF_FILES}; {PYTHON} poison.py")
    assert output.splitlines() == ["refused"] * len(CACHED) * len(WRITERS)
    assert content(world.home) == before


async def test_no_link_of_ours_lets_a_command_change_a_cache_of_the_user(world: World) -> None:
    before = content(world.home)
    output = await world.run(
        f"true {TOOLS_OF_FILES}; cd $XDG_CACHE_HOME; find . -type l | wc -l; "
        "find -L . -type f -exec sh -c 'for one; do echo POISON >> \"$one\"; done' _ {} + 2> /dev/null; true"
    )
    assert int(output.split()[0]) > 0
    assert content(world.home) == before


async def test_tools_find_the_users_caches_in_their_own(world: World) -> None:
    output = await world.run(
        f"true {TOOLS_OF_FILES}; cat $PIP_CACHE_DIR/wheels/a/a.whl $UV_CACHE_DIR/archive-v0/x/demo/__init__.py "
        "$UV_CACHE_DIR/simple-v1/demo.rkyv $GOCACHE/00/a-d $CARGO_HOME/registry/cache/i/a-1.crate $CARGO_HOME/git/db/a/HEAD "
        "$npm_config_cache/_cacache/content-v2/sha512/aa/bb/c $npm_config_cache/_cacache/index-v5/aa/bb/c $CCACHE_DIR/0/1/aR "
        "$NUGET_FALLBACK_PACKAGES/a/a.dll $GRADLE_RO_DEP_CACHE/modules-2/a.jar "
        "$GRADLE_USER_HOME/wrapper/dists/g/h/g/bin/gradle ${GOPROXY#file://}; "
        "cat $(echo $GOPROXY | sed 's,file://,,; s/,.*//')/example.org/a/@v/v1.zip "
        "$(echo $MAVEN_OPTS | sed 's/.*local=//; s/ .*//')/a/a/1/a-1.jar; "
        "echo $MAVEN_OPTS | grep -o 'tail=.*'; echo $UV_LINK_MODE $GOPROXY"
    )
    lines = output.splitlines()
    assert [line for line in lines if line.startswith("of the user")] == [
        f"of the user: {name}"
        for name in (
            ".cache/pip/wheels/a/a.whl", ".cache/uv/archive-v0/x/demo/__init__.py", ".cache/uv/simple-v1/demo.rkyv",
            ".cache/go-build/00/a-d", ".cargo/registry/cache/i/a-1.crate", ".cargo/git/db/a/HEAD",
            ".npm/_cacache/content-v2/sha512/aa/bb/c", ".npm/_cacache/index-v5/aa/bb/c", ".cache/ccache/0/1/aR",
            ".nuget/packages/a/a.dll", ".gradle/caches/modules-2/a.jar", ".gradle/wrapper/dists/g/h/g/bin/gradle",
            "go/pkg/mod/cache/download/example.org/a/@v/v1.zip", ".m2/repository/a/a/1/a-1.jar",
        )
    ]  # fmt: skip
    assert f"tail={world.home}/.m2/repository" in lines
    download = world.home / "go/pkg/mod/cache/download"
    assert lines[-1] == f"copy file://{download},https://proxy.golang.org,direct"


async def test_a_cache_comes_only_when_a_command_may_start_its_tool(world: World) -> None:
    tools = cache_folder(world.paths, world.project) / TOOLS
    await world.run("true")
    assert all_paths(tools / "cargo") == ["bin"]
    await world.run("make || true")
    assert all_paths(tools / "cargo") == ["bin"]
    (world.project / "Cargo.toml").write_text("")
    await world.run("make || true")
    assert (tools / "cargo/registry/cache/i/a-1.crate").is_symlink()


async def test_what_an_approved_command_adds_outside_is_found_inside_later(world: World) -> None:
    await world.run("true cargo")
    added = world.home / ".cargo/registry/cache/i/b-1.crate"
    added.write_text("new\n")
    assert await world.run("cat $CARGO_HOME/registry/cache/i/b-1.crate # cargo") == "new\n"


@pytest.mark.parametrize("name", [".cache/uv", ".npm", "go/pkg/mod", ".cargo", ".m2/repository"])
async def test_the_settings_give_a_cache_back(world: World, name: str) -> None:
    world.settings["writable"] = [f"~/{name}"]
    output = await world.run(
        "echo $UV_CACHE_DIR $npm_config_cache $GOMODCACHE $CARGO_HOME .${MAVEN_OPTS:-m2/repository}."
    )
    assert [word for word in output.split() if word.rstrip(".").endswith(name)] != []
    assert await world.run(f"echo x > ~/{name}/new && cat ~/{name}/new") == "x\n"
    others = [one for one in CACHED if not one.startswith(name)]
    assert (
        await world.run(f"for one in {' '.join(others)}; do (echo x >> ~/$one) 2> /dev/null && echo $one; done; true")
        == ""
    )


async def test_hostile_links_in_our_folder_make_nothing_elsewhere(world: World) -> None:
    victim = world.home / "victim"
    victim.mkdir()
    outer, inner = (
        ("config", "state", "cargo", "gradle", "npm", "uv"),
        ("config/go", "npm/_cacache", "cargo/registry/cache"),
    )
    for number, names in enumerate((outer, inner)):
        replaced = [f"rm -rf {name}; mkdir -p $(dirname {name}); ln -s {victim} {name}" for name in names]
        await world.run(f"cd $XDG_CACHE_HOME; {'; '.join(replaced)}")
        (world.home / ".cargo/registry/cache/i" / f"{number}.crate").write_text("new")
        assert await world.run(f"echo works # {TOOLS_OF_FILES}") == "works\n"
    assert all_paths(victim) == []


@pytest.mark.parametrize(
    "damage", ["ln -s /nowhere/at-all {}", "ln -s {} {}", "mkfifo {}", "echo > {}", "mkdir {}; chmod 0 {}"]
)
async def test_whatever_a_command_leaves_in_our_folder_the_next_one_starts_and_it_is_reported(
    world: World, damage: str
) -> None:
    commands = [
        f"rm -rf {name}; {damage.replace('{}', shlex.quote(name))}"
        for name in ("config", "cargo", "state", "gradle/wrapper")
    ]
    await world.run(f"cd $XDG_CACHE_HOME && {'; '.join(commands)}; true")
    own = cache_folder(world.paths, world.project)
    reported = repair_caches(own)
    assert [name for name in ("config", "cargo", "state") if any(line.endswith(f"/{name}") for line in reported)] == [
        "config", "cargo", "state"
    ]  # fmt: skip
    assert await world.run("cd $CARGO_HOME && touch x && echo works # cargo gradle") == "works\n"


async def test_commands_write_only_the_tools_part_of_our_folder(world: World) -> None:
    await world.run("true cargo")
    own = cache_folder(world.paths, world.project)
    before = sorted(os.listdir(own))
    await world.run(f"cd {own} && (echo x > new; rm -rf copied.json; mv {TOOLS} moved; ln -s / {own}/../other)")
    assert (sorted(os.listdir(own)), os.listdir(caches_folder(world.paths))) == (before, [own.name])
    assert TOOLS in before


async def test_a_cache_that_is_too_large_is_named_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_copies, "COPIED_BYTES", 10)
    monkeypatch.setattr(cache_copies, "_can_clone", lambda *_words: False)
    sandbox = world.sandbox()
    said: list[tuple[str, ...]] = []
    for _ in range(2):
        confined = await sandbox.confine(
            ["go", "build"], session_id="s", folder=world.project, environ=world.environ, read_only=False
        )
        assert confined is not None
        said.append(confined.messages)
    assert ([len(lines) for lines in said], str(world.home / ".cache/go-build") in said[0][0]) == ([1, 0], True)


def test_commands_outside_get_the_users_caches(world: World) -> None:
    environ = {**world.environ, "GOCACHE": "/own/go", "PATH": os.environ["PATH"]}
    outside = world.sandbox()._secrets.without_keys(environ)
    assert outside == environ


def test_private_modules_of_go_are_read_without_a_network_only(around: Surroundings, tmp_path: Path) -> None:
    (around.home / "go/pkg/mod/cache/download").mkdir(parents=True)
    environ = {"GOPRIVATE": "example.org", "GOPROXY": "https://proxy.example"}
    caches = find_caches(environ, around, tmp_path / "own")
    assert caches.environ["GOPROXY"].split(",") == [
        f"file://{around.home}/go/pkg/mod/cache/download",
        "https://proxy.example",
    ]
    assert (caches.offline, "GONOPROXY" in caches.environ) == ({"GONOPROXY": "none"}, False)


def test_a_folder_that_must_be_complete_comes_whole_or_not_at_all(tmp_path: Path) -> None:
    source, own = tmp_path / "user", tmp_path / "own"
    for number in range(50):
        (source / "archive-v0/x").mkdir(parents=True, exist_ok=True)
        (source / f"archive-v0/x/{number}").write_text("x")
    own.mkdir()
    cache = UserCache("uv", source, "uv", (Part("archive-v*", depth=1, is_whole=True),))
    calls = iter(range(1000))
    bring(cache, own, TOOLS, is_stopped=lambda: next(calls) > 20)
    assert all_paths(own / TOOLS / "uv") in ([], ["archive-v0"])
    bring(cache, own, TOOLS, is_stopped=lambda: False)
    assert len(all_paths(own / TOOLS / "uv/archive-v0/x")) == 50


def test_links_in_a_cache_of_the_user_copy_nothing_else(tmp_path: Path) -> None:
    source, own = tmp_path / "user", tmp_path / "own"
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/key").write_text("CANARY")
    source.mkdir()
    own.mkdir()
    (source / "folder").symlink_to(tmp_path / "secrets")
    (source / "file").symlink_to(tmp_path / "secrets/key")
    (source / "real").write_text("x")
    bring(UserCache("go", source, "go", (Part("*", is_copied=True),)), own, TOOLS, is_stopped=lambda: False)
    copied = own / TOOLS / "go"
    assert [path.name for path in copied.iterdir() if not path.is_symlink()] == ["real"]
    assert (copied / "real").stat().st_nlink == 1


def test_the_caches_of_a_project_without_commands_for_a_month_are_deleted(paths: Paths) -> None:
    old, new = (caches_folder(paths) / name for name in ("old", "new"))
    for folder in (old, new):
        (folder / TOOLS / "go-mod/a").mkdir(parents=True)
        (folder / TOOLS / "go-mod/a").chmod(0o500)
    before = time.time() - KEEP_CACHES_S - 60
    os.utime(old, (before, before))
    delete_abandoned(paths)
    assert (old.exists(), new.exists()) == (False, True)


async def test_a_temp_folder_gets_its_rights_back(world: World) -> None:
    await world.run("touch $TMPDIR/file; chmod 0 $TMPDIR")
    assert await world.run("cat $TMPDIR/file && stat -c %a $TMPDIR") == "700\n"


def test_what_time_did_not_allow_comes_with_later_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, own = tmp_path / "user", tmp_path / "own"
    for folder in (source, own):
        folder.mkdir()
    (source / "a.jar").write_text("x")
    cache = UserCache("mvn", source, "maven", (Part("*", is_copied=True),))
    monkeypatch.setattr(cache_copies, "LIMIT_S", -1.0)
    said = [len(bring(cache, own, TOOLS, is_stopped=lambda: False)) for _ in range(2)]
    assert (said, all_paths(own / TOOLS / "maven")) == ([1, 0], [])
    monkeypatch.setattr(cache_copies, "LIMIT_S", 60.0)
    assert bring(cache, own, TOOLS, is_stopped=lambda: False) == []
    assert all_paths(own / TOOLS / "maven") == ["a.jar"]
