"""What is fetched and written when a plugin is installed: only what is in it, and nothing of it runs."""

import io
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_tui.engine.plugin.install import Installer, Source, parse_source
from opencode_tui.engine.plugin.trees import Entry, check, fingerprint, read_archive, read_folder, write
from opencode_tui.schema.error import ConfigError
from opencode_tui.storage.paths import Paths, find_paths
from tests.support.rows import each
from tests.support.world.plugins import SKILL, write_plugin
from tests.support.world.repo import Repo, make_repo


@pytest.fixture
def paths(environ: dict[str, str]) -> Paths:
    return find_paths(environ)


@pytest.fixture
def installer(paths: Paths, environ: dict[str, str]) -> Iterator[Installer]:
    with Installer(paths=paths, environ=environ) as made:
        yield made


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo")
    write_plugin(made.path, {"bin/tool!": "#!/bin/sh\n", "skills/one/SKILL.md": SKILL.format("one")})
    return made


def source(repo: Repo, ref: str = "") -> Source:
    return Source(f"file://{repo.path}", ref)


def put(installer: Installer, given: Source) -> Path:
    prepared = installer.prepare(installer.fetch(given))
    installer.install(prepared)
    return installer.store.place(prepared.record.name).final


@each(
    "entry",
    [
        Entry("/etc/x", b""),
        Entry("../x", b""),
        Entry("a/../../x", b""),
        Entry("a//b", b""),
        Entry("./a", b""),
        Entry("", b""),
        Entry("a\0b", b""),
        Entry(".git/config", b""),
        Entry("a/.GIT/hooks/x", b""),
        Entry("link", b"/etc/passwd", is_link=True),
        Entry("link", b"../x", is_link=True),
        Entry("a/link", b"../../x", is_link=True),
        Entry("a/link", b"..//../..", is_link=True),
    ],
)
def test_a_path_or_a_link_out_of_the_plugin_is_refused(entry: Entry) -> None:
    with pytest.raises(ConfigError, match="refused"):
        check([Entry("plugin.json", b"{}"), entry])


@each("more", [[Entry("a", b"1"), Entry("a", b"2")], [Entry("a", b"1"), Entry("a/b", b"2")]])
def test_a_name_that_means_two_things_is_refused(more: list[Entry]) -> None:
    with pytest.raises(ConfigError, match="refused"):
        check(more)


def test_a_link_that_leads_out_through_another_one_is_refused(tmp_path: Path) -> None:
    entries = [
        Entry("a/b/file", b""),
        Entry("a/b/top", b"../..", is_link=True),
        Entry("out", b"a/b/top/../x", is_link=True),
    ]
    check(entries)
    with pytest.raises(ConfigError, match="out is a link that leads out"):
        write(entries, tmp_path / "tree")


def test_files_are_written_with_their_kind_and_links_that_stay_inside(tmp_path: Path) -> None:
    entries = [Entry("a/b", b"1"), Entry("c", b"2", is_executable=True), Entry("d", b"a/b", is_link=True)]
    check(entries)
    write(entries, tmp_path / "tree")
    assert (tmp_path / "tree" / "d").read_bytes() == b"1"
    assert os.access(tmp_path / "tree" / "c", os.X_OK)
    assert not (tmp_path / "tree" / "a" / "b").stat().st_mode & 0o111
    assert fingerprint(read_folder(tmp_path / "tree")) == fingerprint(entries)


def test_a_pipe_or_a_device_is_refused(tmp_path: Path) -> None:
    folder = write_plugin(tmp_path / "p")
    os.mkfifo(folder / "pipe")
    with pytest.raises(ConfigError, match="pipe is neither a file nor a folder"):
        read_folder(folder)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        node = tarfile.TarInfo("null")
        node.type = tarfile.CHRTYPE
        archive.addfile(node)
    with pytest.raises(ConfigError, match="null is neither a file nor a folder"):
        read_archive(buffer.getvalue())


def test_a_folder_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opencode_tui.engine.plugin.trees.MAX_FILES", 3)
    folder = write_plugin(tmp_path / "p", {str(number): "x" for number in range(4)})
    with pytest.raises(ConfigError, match="at most 3 files"):
        read_folder(folder)


def test_a_commit_that_is_too_large_is_refused(
    repo: Repo, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("large", "x" * 3_000)
    repo.write("larger", "x" * 3_000)
    repo.commit()
    monkeypatch.setattr("opencode_tui.engine.plugin.trees.MAX_BYTES", 6_000)
    with pytest.raises(ConfigError, match="the commit: a plugin has at most"):
        installer.fetch(source(repo))


def test_a_commit_is_pinned_and_its_files_are_as_git_stores_them(repo: Repo, installer: Installer) -> None:
    repo.write(".gitattributes", "*.txt export-ignore\nid.md ident export-subst\n* eol=crlf filter=mark\n")
    repo.write("kept.txt", "kept\n")
    repo.write("id.md", "$Id$ $Format:%H$\n")
    first = repo.commit()
    repo.commit(**{"id.md": "later\n"})
    root = put(installer, source(repo, first))
    assert ((root / "id.md").read_text(), (root / "kept.txt").read_text()) == ("$Id$ $Format:%H$\n", "kept\n")
    record = installer.store.find("acme")
    assert record is not None and (record.commit, record.ref) == (first, first)
    assert not (root / ".git").exists()


def test_no_filter_or_hook_of_the_repository_or_the_user_runs(
    repo: Repo, paths: Paths, environ: dict[str, str], tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    command = f"touch {marker}; cat"
    repo.write(".gitattributes", "* filter=evil\n")
    commit = repo.commit()
    for name, value in (
        ("filter.evil.smudge", command),
        ("uploadpack.packObjectsHook", f"touch {marker}; exec"),
        ("core.fsmonitor", f"touch {marker}"),
        ("core.sshCommand", f"touch {marker}"),
    ):
        repo.git("config", name, value)
    hook = repo.path / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)
    settings = Path(environ["HOME"]) / ".gitconfig"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f'[filter "evil"]\n\tsmudge = "{command}"\n')
    with Installer(paths=paths, environ=environ) as installer:
        put(installer, Source(str(repo.path), commit, is_folder=True))
    assert not marker.exists()


@pytest.mark.slow
def test_a_branch_and_a_tag_are_resolved_to_their_commit(repo: Repo, installer: Installer) -> None:
    tagged = repo.commit()
    repo.git("tag", "-a", "v1", "-m", "one")
    latest = repo.commit(**{"more.md": "x"})
    for ref, commit in (("v1", tagged), ("main", latest), ("", latest)):
        assert installer.fetch(source(repo, ref)).commit == commit


def test_a_submodule_is_refused(repo: Repo, installer: Installer) -> None:
    commit = repo.commit()
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},vendor/x")
    repo.git("commit", "-q", "-m", "submodule")
    with pytest.raises(ConfigError, match="vendor/x is a submodule"):
        installer.fetch(source(repo))


def test_a_link_out_of_a_commit_is_refused(repo: Repo, installer: Installer) -> None:
    (repo.path / "out").symlink_to("/etc/passwd")
    repo.commit()
    with pytest.raises(ConfigError, match="out is a link to /etc/passwd"):
        installer.prepare(installer.fetch(source(repo)))


def test_what_does_not_exist_is_named(repo: Repo, installer: Installer) -> None:
    repo.commit()
    with pytest.raises(ConfigError, match="@nothing cannot be fetched"):
        installer.fetch(source(repo, "nothing"))
    with pytest.raises(ConfigError, match="cannot be fetched"):
        installer.fetch(source(repo, "1" * 40))


@each(
    "text, address, ref",
    [
        ("https://example.com/a.git", "https://example.com/a.git", ""),
        ("https://example.com/a.git@v1.2", "https://example.com/a.git", "v1.2"),
        ("ssh://git@example.com/a.git", "ssh://git@example.com/a.git", ""),
        ("git@example.com:a/b.git@main", "git@example.com:a/b.git", "main"),
        ("owner/name@feature", "https://github.com/owner/name.git", "feature"),
        ("owner/name@feature/x", "https://github.com/owner/name.git", "feature/x"),
        ("https://example.com/a.git@feature/x", "https://example.com/a.git", "feature/x"),
        ("https://example.com/a@release/1.2/fix", "https://example.com/a", "release/1.2/fix"),
        ("https://you:key@example.com/a.git", "https://you:key@example.com/a.git", ""),
        ("https://you:key@example.com/a.git@v1", "https://you:key@example.com/a.git", "v1"),
        ("https://you@example.com/team/a", "https://you@example.com/team/a", ""),
        ("https://example.com/@scope/a.git", "https://example.com/@scope/a.git", ""),
        ("https://example.com/@scope/a.git@main", "https://example.com/@scope/a.git", "main"),
        ("https://example.com/b/@scope/a.git", "https://example.com/b/@scope/a.git", ""),
        ("ssh://git@example.com/team/a.git@feature/x", "ssh://git@example.com/team/a.git", "feature/x"),
        ("ssh://git@example.com:22/a.git", "ssh://git@example.com:22/a.git", ""),
        ("git@example.com:a.git", "git@example.com:a.git", ""),
        ("git@127.0.0.1:plugins.git", "git@127.0.0.1:plugins.git", ""),
        ("git@example.com:a/b.git", "git@example.com:a/b.git", ""),
        ("git@example.com:a.git@v2", "git@example.com:a.git", "v2"),
        ("git@example.com:a/b.git@feature/x", "git@example.com:a/b.git", "feature/x"),
        ("file:///srv/a@feature/x", "file:///srv/a", "feature/x"),
    ],
)
def test_the_forms_of_a_source(text: str, address: str, ref: str, tmp_path: Path) -> None:
    assert parse_source(text, tmp_path, tmp_path) == Source(address, ref)


@each(
    "text",
    [
        "ext::sh -c id",
        "-u",
        "--upload-pack=x",
        "http://example.com/a",
        "git://x/y",
        "owner/name@../x",
        "a/b@--x",
        "a/b@x:y",
        "https://example.com/a.git@../x",
        "https://example.com/a.git@-f",
        "git@example.com:a/b.git@x..y",
        "a b",
        "x@-f",
    ],
)
def test_other_transports_and_options_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        parse_source(text, tmp_path, tmp_path)


def test_a_folder_is_meant_before_a_name_on_github(tmp_path: Path) -> None:
    (tmp_path / "owner" / "name").mkdir(parents=True)
    assert parse_source("owner/name@feature/x", tmp_path, tmp_path).ref == "feature/x"
    (tmp_path / "at@home").mkdir()
    assert parse_source("at@home", tmp_path, tmp_path) == Source(os.path.realpath(tmp_path / "at@home"), is_folder=True)
    assert parse_source("at@home@v1", tmp_path, tmp_path).ref == "v1"
    assert parse_source("owner/name", tmp_path, tmp_path).is_folder
    assert parse_source("owner/name@v1", tmp_path, tmp_path) == Source(
        os.path.realpath(tmp_path / "owner" / "name"), "v1", is_folder=True
    )


@pytest.mark.slow
def test_an_update_keeps_the_data_and_a_removal_leaves_nothing(repo: Repo, installer: Installer, paths: Paths) -> None:
    repo.commit()
    root = put(installer, source(repo))
    (root.parent / "data" / "kept").write_text("x")
    repo.commit(**{"more.md": "x"})
    record = installer.store.find("acme")
    assert record is not None
    installer.install(installer.again(record))
    assert ((root / "more.md").exists(), (root.parent / "data" / "kept").read_text()) == (True, "x")
    installer.store.remove("acme")
    installer.__exit__()
    assert os.listdir(paths.plugins) == [".staging"]
    assert os.listdir(paths.plugins / ".staging") == []
    assert list(installer.store.all()) == []


@pytest.mark.slow
def test_a_source_that_has_another_plugin_now_is_refused(repo: Repo, installer: Installer) -> None:
    repo.commit()
    put(installer, source(repo))
    write_plugin(repo.path, name="other")
    repo.commit()
    record = installer.store.find("acme")
    assert record is not None
    with pytest.raises(ConfigError, match="has the plugin other now"):
        installer.again(record)


def test_the_folder_of_a_plugin_is_not_needed_any_more(tmp_path: Path, installer: Installer) -> None:
    folder = write_plugin(tmp_path / "p", {"skills/one/SKILL.md": SKILL.format("one")})
    root = put(installer, Source(str(folder), is_folder=True))
    shutil.rmtree(folder)
    record = installer.store.find("acme")
    assert record is not None and installer.store.read(record).skills == [root / "skills" / "one"]
