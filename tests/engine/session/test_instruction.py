import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from opencode_tui.engine.permission.defaults import reading_rules
from opencode_tui.engine.permission.leaving import DENIED, Leaving
from opencode_tui.engine.permission.path_forms import PathForms
from opencode_tui.engine.session.request.instruction import (
    MAX_BYTES,
    RemoteInstructions,
    RulesFile,
    configured_files,
    global_file,
    project_files,
    render,
)
from tests.support.world.rules import rules


@pytest.fixture
def tree(tmp_path):
    for name, text in {
        "AGENTS.md": "root",
        "a/AGENTS.md": "a",
        "a/b/CLAUDE.md": "b",
        "docs/x.md": "x",
        "docs/y.md": "y",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_all_files_of_the_first_name_on_the_way_up_count_nearest_first(tree):
    assert project_files(tree / "a" / "b", tree) == [tree / "a" / "AGENTS.md", tree / "AGENTS.md"]


def test_the_search_stops_at_the_worktree(tree):
    (tree / "a" / "AGENTS.md").unlink()
    assert project_files(tree / "a" / "b", tree / "a") == [tree / "a" / "b" / "CLAUDE.md"]


def test_the_users_own_file_is_the_first_that_exists(tmp_path):
    home, config, extra = tmp_path / "home", tmp_path / "config", tmp_path / "extra"
    for folder in (home / ".claude", config, extra):
        folder.mkdir(parents=True)
    (home / ".claude" / "CLAUDE.md").write_text("claude")
    assert global_file(config, home, extra=None, use_claude=True) == home / ".claude" / "CLAUDE.md"
    assert global_file(config, home, extra=None, use_claude=False) is None
    (config / "AGENTS.md").write_text("own")
    assert global_file(config, home, extra=None, use_claude=True) == config / "AGENTS.md"
    assert global_file(config, home, extra=str(extra), use_claude=True) == config / "AGENTS.md"
    (extra / "AGENTS.md").write_text("extra")
    assert global_file(config, home, extra=str(extra), use_claude=True) == extra / "AGENTS.md"


def test_settings_name_files_by_path_and_by_glob(tree):
    found = configured_files(["docs/*.md", str(tree / "AGENTS.md"), "http://example.invalid/x"], tree / "a", tree, tree)
    assert [file.path for file in found] == [tree / "docs" / "x.md", tree / "docs" / "y.md", tree / "AGENTS.md"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("{root}/**/*.md", ["AGENTS.md", "a/AGENTS.md", "a/b/CLAUDE.md", "docs/x.md", "docs/y.md"]),
        ("~/docs/[x]*.md", ["docs/x.md"]),
        ("~/doc**/y.md", ["docs/y.md"]),
        ("../docs/x.md", ["docs/x.md"]),
        ("~/none/**/*.md", []),
        ("", []),
        (".", []),
        ("{root}", []),
    ],
)
def test_any_pattern_gives_the_files_that_fit(tree, pattern, names):
    found = configured_files([pattern.format(root=tree)], tree / "a", tree / "a", tree)
    assert [str(file.path.resolve().relative_to(tree)) for file in found] == names


def test_a_pattern_of_many_wildcards_lists_each_folder_once(tmp_path):
    deep = tmp_path.joinpath(*["d"] * 60)
    deep.mkdir(parents=True)
    (deep / ("a" * 200)).write_text("x")
    assert configured_files(["**/" * 30 + "q", "**/d/" * 20 + "*a" * 50 + "b"], tmp_path, tmp_path, tmp_path) == []
    [found] = configured_files(["**/d/" * 20 + "*a*"], tmp_path, tmp_path, tmp_path)
    assert found.path == deep / ("a" * 200)


def test_a_link_to_a_file_that_may_not_leave_is_left_out(tree):
    (tree / "secrets").mkdir()
    (tree / "secrets" / "key").write_text("CANARY")
    ruleset = [*reading_rules(), *rules("read secrets/* deny")]
    leaving = Leaving(str(tree), PathForms(str(tree), [str(tree)]), lambda: [ruleset], lambda path: False)
    (tree / "a" / "b" / "CLAUDE.md").unlink()
    (tree / "a" / "b" / "CLAUDE.md").symlink_to("../../secrets/key")
    (tree / "docs" / "AGENTS.md").symlink_to("x.md")
    assert RulesFile(tree / "a" / "b" / "CLAUDE.md", tree).read(leaving.objection) == (
        f"(left out: it leads to {tree}/secrets/key, {DENIED}; name that file in your own settings to send it)"
    )
    assert RulesFile(tree / "docs" / "AGENTS.md", tree).read(leaving.objection) == "x"
    assert "CANARY" not in "".join(render([RulesFile(tree / "a" / "b" / "CLAUDE.md", tree)], leaving.objection))


def test_each_file_is_given_once_under_its_path(tree):
    assert render([RulesFile(tree / "AGENTS.md"), RulesFile(tree / "AGENTS.md")]) == [
        f"Instructions from: {tree / 'AGENTS.md'}\nroot"
    ]


@pytest.mark.parametrize(
    ("data", "want"),
    [
        ("Größe “x”\n".encode(), "Größe “x”"),
        (b"\xef\xbb\xbf" + "Größe\n".encode(), "Größe"),
        ("Größe “x”\r\n".encode("utf-16"), "Größe “x”"),  # as PowerShell 5.1 writes with `>`
        (b"\xfe\xff" + "Größe\n".encode("utf-16-be"), "Größe"),
        ("Größe\n".encode("utf-32"), "Größe"),
        ("Größe\n".encode("latin-1"), "Größe"),
        ("Größe “x”\n".encode("windows-1252"), "Größe “x”"),
        ("Größe und Länge ".encode() + b"\xff\n", "Größe und Länge \ufffd"),
    ],
)
def test_a_file_is_read_in_its_encoding(tmp_path, data, want):
    (tmp_path / "AGENTS.md").write_bytes(data)
    assert RulesFile(tmp_path / "AGENTS.md").read() == want


CUT = "\n(cut here: only the first 256 KiB of instructions are sent)"


@pytest.mark.parametrize(
    ("data", "want"),
    [
        (b"a" * MAX_BYTES, "a" * MAX_BYTES),
        (b"a" * (MAX_BYTES + 1), "a" * MAX_BYTES + CUT),
        (b"a" * (MAX_BYTES - 1) + "ö".encode(), "a" * (MAX_BYTES - 1) + "\ufffd" + CUT),
        ("ö".encode() * MAX_BYTES, "ö" * (MAX_BYTES // 2) + CUT),
        (b"\xff\xfe" + "ö".encode("utf-16-le") * MAX_BYTES, "ö" * (MAX_BYTES // 2 - 1) + CUT),
    ],
    ids=["not cut", "one byte too long", "within a character", "long", "long, UTF-16"],
)
def test_a_file_that_is_cut_says_so(tmp_path, data, want):
    (tmp_path / "AGENTS.md").write_bytes(data)
    assert RulesFile(tmp_path / "AGENTS.md").read() == want


def test_an_unreadable_file_is_named(tmp_path):
    (block,) = render([RulesFile(tmp_path / "gone")])
    assert "gone" in block and "not readable" in block


class Page(BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self):
        type(self).asked += 1
        self.send_response(200 if self.path == "/rules" else 404)
        self.end_headers()
        self.wfile.write(b"be kind")

    def log_message(self, format, *args):
        """Quiet."""


async def test_instructions_by_address_are_fetched_once_and_a_failure_is_reported():
    server = HTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    base = f"http://127.0.0.1:{server.server_port}"
    remote = RemoteInstructions([f"{base}/rules", f"{base}/gone"])
    try:
        first, second = await remote.blocks(), await remote.blocks()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert first == second
    assert first == [
        f"Instructions from: {base}/rules\nbe kind",
        f"Instructions from: {base}/gone\n(could not be fetched)",
    ]
    assert Page.asked == 3


def test_a_file_behind_links_is_given_once(tmp_path):
    (tmp_path / "AGENTS.md").write_text("rules")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    (tmp_path / "again").symlink_to(".")
    files = [RulesFile(tmp_path / name) for name in ("CLAUDE.md", "AGENTS.md", "again/AGENTS.md")]
    assert render(files) == [f"Instructions from: {tmp_path / 'CLAUDE.md'}\nrules"]
