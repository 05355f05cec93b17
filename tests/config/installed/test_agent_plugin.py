"""The requirements of Agent Plugins 1.0.0 for clients; `docs/plugins.md` names the test of each."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.config.installed.package import Package, PackageError, Place
from opencode_tui.config.installed.reader import read_package
from tests.support.rows import each
from tests.support.world.plugins import SCHEMAS, SKILL, manifest, servers, write_plugin

STDIO = {"type": "stdio", "command": "tool"}
HTTP = {"type": "streamable-http", "url": "https://a.example/mcp"}


def read(folder: Path) -> Package:
    real = Path(os.path.realpath(folder))
    return read_package(Place(real, Path("/final/package"), folder.parent / "data"))


def read_servers(folder: Path, **entries: Any) -> Package:
    return read(write_plugin(folder, {"mcp.json": servers(**entries)}))


def test_a_full_manifest_is_read(tmp_path: Path) -> None:
    author = {"name": "A", "email": "not an address", "url": "no address"}
    more: dict[str, Any] = {
        "homepage": "x",
        "repository": "y",
        "license": "made up",
        "keywords": ["a"],
        "author": author,
    }
    package = read(write_plugin(tmp_path / "p", version="not semantic", description="About", **more))
    assert (package.name, package.version, package.description) == ("acme", "not semantic", "About")
    assert (package.license, package.form, list(package.problems)) == ("made up", "Agent Plugins 1.0.0", [])


def test_an_unknown_field_is_named_ignored_and_the_plugin_loads(tmp_path: Path) -> None:
    files = {"skills/one/SKILL.md": SKILL.format("one")}
    package = read(write_plugin(tmp_path / "p", files, skills="elsewhere", mcpServers={"x": STDIO}))
    assert [folder.name for folder in package.skills] == ["one"]
    assert package.servers == {}
    assert [one for one in package.problems if "is unknown, and ignored" in one] == list(package.problems)
    assert len(package.problems) == 2


def test_extensions_that_are_no_object_are_named_and_ignored(tmp_path: Path) -> None:
    package = read(write_plugin(tmp_path / "p", extensions="com.example"))
    assert list(package.problems) == ["plugin.json: `extensions` is not an object, and ignored"]


def test_the_content_of_a_foreign_namespace_is_not_looked_at(tmp_path: Path) -> None:
    package = read(write_plugin(tmp_path / "p", extensions={"com.example.client": {"name": [None, {"x": 1}]}}))
    assert list(package.problems) == []


@each(
    "name",
    ["my-plugin", "acme.tools", "lint3r", "a", "x" * 64],
)
def test_a_name_within_the_rules_is_accepted(name: str, row_path: Path) -> None:
    assert read(write_plugin(row_path, name=name)).name == name


@each(
    "change",
    [
        {"name": "My-Plugin"},
        {"name": "-start"},
        {"name": "end."},
        {"name": "has--double"},
        {"name": "too.many..dots"},
        {"name": ""},
        {"name": "x" * 65},
        {"name": 5},
        {"name": "a\n"},
        {"name": None},
        {"$schema": None},
        {"$schema": 1},
        {"$schema": f"{SCHEMAS}/mcp.schema.json"},
        {"$schema": "https://agent-plugins.org/schemas/1.1.0/plugin.schema.json"},
        {"version": 1},
        {"description": None},
        {"homepage": []},
        {"author": "Ann"},
        {"author": {"name": 1}},
        {"author": {"phone": "1"}},
        {"keywords": "a"},
        {"keywords": [1]},
        {"extensions": {"com.example": "text"}},
    ],
)
def test_any_other_violation_rejects_the_plugin(change: dict[str, Any], row_path: Path) -> None:
    files = {"skills/one/SKILL.md": SKILL.format("one")}
    with pytest.raises(PackageError, match=r"^plugin\.json: `"):
        read(write_plugin(row_path, files, **change))


@each("missing", ["$schema", "name"])
def test_a_missing_field_that_is_required_rejects_the_plugin_and_is_named(missing: str, row_path: Path) -> None:
    value = {key: one for key, one in manifest().items() if key != missing}
    with pytest.raises(PackageError, match=f"`{missing.replace('$', '.')}`"):
        read(write_plugin(row_path, {"plugin.json": value}))


@each("text", ["[]", '"x"', "{", "", "{} {}", "\0"])
def test_a_manifest_that_is_no_json_object_rejects_the_plugin(text: str, row_path: Path) -> None:
    with pytest.raises(PackageError, match=r"plugin\.json"):
        read(write_plugin(row_path, {"plugin.json": text}))


def test_a_folder_without_a_manifest_is_no_plugin(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"no plugin\.json"):
        read(write_plugin(tmp_path, {"plugin.json": None, "skills/one/SKILL.md": SKILL.format("one")}))


def test_a_manifest_that_leads_out_of_the_root_rejects_the_plugin(tmp_path: Path) -> None:
    outside = write_plugin(tmp_path / "outside")
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "plugin.json").symlink_to(outside / "plugin.json")
    with pytest.raises(PackageError, match="leads out"):
        read(tmp_path / "p")


def test_a_manifest_that_leads_out_is_not_read_beside_one_of_claude_code(tmp_path: Path) -> None:
    folder = write_plugin(tmp_path / "p", {"plugin.json": None, ".claude-plugin/plugin.json": {"name": "other"}})
    (tmp_path / "out.json").write_text("{}")
    (folder / "plugin.json").symlink_to(tmp_path / "out.json")
    with pytest.raises(PackageError, match="leads out"):
        read(folder)


def test_no_other_file_or_folder_adds_to_the_plugin_or_changes_it(tmp_path: Path) -> None:
    entry = {"command": "other"}
    files = {
        "skills/one/SKILL.md": SKILL.format("one"),
        "mcp.json": servers(a=HTTP),
        "SKILL.md": SKILL.format("p"),
        ".mcp.json": {"mcpServers": {"b": entry}},
        "com.example.client/mcp.json": servers(c=HTTP),
        ".claude-plugin/plugin.json": {"name": "other", "mcpServers": {"d": entry}},
        "commands/run.md": "Run.",
        "agents/who.md": "---\nname: who\ndescription: x\n---\n",
        "hooks/hooks.json": {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}},
    }
    package = read(write_plugin(tmp_path / "p", files))
    assert (package.name, [one.name for one in package.skills], list(package.servers)) == ("acme", ["one"], ["a"])
    assert (list(package.commands), list(package.agents), package.hooks) == ([], [], {})
    assert list(package.problems) == []


def test_links_to_something_in_the_root_are_followed(tmp_path: Path) -> None:
    folder = write_plugin(tmp_path / "p", {"all/one/SKILL.md": SKILL.format("one"), "real.json": servers(a=HTTP)})
    (folder / "skills").symlink_to("all")
    (folder / "mcp.json").symlink_to("real.json")
    package = read(folder)
    assert ([one.name for one in package.skills], list(package.servers)) == (["one"], ["a"])


def test_a_location_that_leads_out_costs_its_part_only(tmp_path: Path) -> None:
    outside = write_plugin(tmp_path / "out", {"skills/one/SKILL.md": SKILL.format("one"), "mcp.json": servers(a=HTTP)})
    skills = write_plugin(tmp_path / "a", {"mcp.json": servers(a=HTTP)})
    (skills / "skills").symlink_to(outside / "skills")
    package = read(skills)
    assert (list(package.skills), list(package.servers), len(package.problems)) == ([], ["a"], 1)
    mcp = write_plugin(tmp_path / "b", {"skills/one/SKILL.md": SKILL.format("one")})
    (mcp / "mcp.json").symlink_to(outside / "mcp.json")
    package = read(mcp)
    assert (len(package.skills), package.servers, len(package.problems)) == (1, {}, 1)


def test_a_location_of_another_kind_costs_its_part_only(tmp_path: Path) -> None:
    folder = write_plugin(tmp_path / "p", {"skills": "no folder"})
    (folder / "mcp.json").mkdir()
    package = read(folder)
    assert (list(package.skills), package.servers, len(package.problems)) == ([], {}, 2)


def test_missing_locations_are_no_problem(tmp_path: Path) -> None:
    package = read(write_plugin(tmp_path / "p"))
    assert (list(package.skills), package.servers, list(package.problems)) == ([], {}, [])


def test_skills_are_the_folders_directly_below_with_a_regular_file(tmp_path: Path) -> None:
    files = {
        "skills/one/SKILL.md": SKILL.format("one"),
        "skills/two/inner/SKILL.md": SKILL.format("inner"),
        "skills/three/skill.md": SKILL.format("three"),
        "skills/SKILL.md": SKILL.format("skills"),
        "more/four/SKILL.md": SKILL.format("four"),
    }
    folder = write_plugin(tmp_path / "p", files)
    (folder / "skills" / "five" / "SKILL.md").mkdir(parents=True)
    package = read(folder)
    assert ([one.name for one in package.skills], list(package.problems)) == (["one"], [])


def test_a_skill_that_leads_out_is_left_out_and_the_others_stay(tmp_path: Path) -> None:
    outside = write_plugin(tmp_path / "out", {"SKILL.md": SKILL.format("two")})
    folder = write_plugin(tmp_path / "p", {"skills/one/SKILL.md": SKILL.format("one")})
    (folder / "skills" / "two").mkdir()
    (folder / "skills" / "two" / "SKILL.md").symlink_to(outside / "SKILL.md")
    (folder / "skills" / "three").symlink_to(outside)
    package = read(folder)
    assert ([one.name for one in package.skills], len(package.problems)) == (["one"], 2)


@each(
    "text, fault",
    [
        ("no front matter", "`name` is missing"),
        ("---\nname: bad\n---\n", "`description` is missing"),
        ("---\ndescription: x\n---\n", "`name` is missing"),
        ("---\nname: other\ndescription: x\n---\n", "not that of its folder, 'bad'"),
        ("---\nname: Bad\ndescription: x\n---\n", "lowercase letters, digits"),
        ("---\nname: bad--d\ndescription: x\n---\n", "lowercase letters, digits"),
        (f"---\nname: {'a' * 65}\ndescription: x\n---\n", "1 to 64"),
        (f"---\nname: bad\ndescription: {'a' * 1025}\n---\n", "shorten it to 1,024"),
        (f"---\nname: bad\ndescription: x\ncompatibility: {'a' * 501}\n---\n", "1 to 500"),
        ("---\nname: bad\ndescription: x\nmetadata: y\n---\n", "`metadata`"),
        ("---\nname: [\n", ""),
    ],
)
def test_a_skill_against_its_specification_is_named_and_left_out(text: str, fault: str, row_path: Path) -> None:
    files = {"skills/bad/SKILL.md": text, "skills/good/SKILL.md": SKILL.format("good"), "mcp.json": servers(a=HTTP)}
    package = read(write_plugin(row_path, files))
    assert ([one.name for one in package.skills], list(package.servers)) == (["good"], ["a"])
    assert [one for one in package.problems if one.startswith("skills/bad/SKILL.md: ") and fault in one]


@each(
    "document",
    [
        "{",
        [],
        {"mcpServers": {}},
        {"$schema": f"{SCHEMAS}/mcp.schema.json"},
        {"$schema": f"{SCHEMAS}/plugin.schema.json", "mcpServers": {}},
        {"$schema": "https://agent-plugins.org/schemas/1.1.0/mcp.schema.json", "mcpServers": {"a": HTTP}},
        {**servers(a=HTTP), "more": 1},
        {**servers(), "mcpServers": []},
    ],
)
def test_a_wrong_mcp_file_disables_mcp_and_nothing_else(document: Any, row_path: Path) -> None:
    files = {"mcp.json": document, "skills/one/SKILL.md": SKILL.format("one")}
    package = read(write_plugin(row_path, files))
    assert (len(package.skills), package.servers, len(package.problems)) == (1, {}, 1)
    assert "there are no MCP servers" in package.problems[0]


def test_no_servers_are_right(tmp_path: Path) -> None:
    package = read_servers(tmp_path / "p")
    assert (package.servers, list(package.problems)) == ({}, [])


@each(
    "entry",
    [
        "tool",
        {"command": "tool"},
        {"type": "http", "url": "https://a.example"},
        {**STDIO, "url": "https://a.example"},
        {**STDIO, "timeout": 1},
        {"type": "stdio"},
        {**STDIO, "command": ""},
        {**STDIO, "command": ["tool"]},
        {**STDIO, "command": "tool --flag"},
        {**STDIO, "command": "../tool"},
        {**STDIO, "command": "/usr/bin/tool"},
        {**STDIO, "command": "bin/tool"},
        {**STDIO, "command": "./../tool"},
        {**STDIO, "command": "./a/../../tool"},
        {**STDIO, "command": "${PLUGIN_ROOT}/bin/tool"},
        {**STDIO, "command": "./out/tool"},
        {**STDIO, "command": "./a\0b"},
        {**STDIO, "args": "x"},
        {**STDIO, "args": [1]},
        {**STDIO, "env": {"A": 1}},
        {**STDIO, "env": ["A"]},
        {**STDIO, "env": {"PLUGIN_ROOT": "x"}},
        {**STDIO, "env": {"PLUGIN_DATA": "x"}},
        {**STDIO, "cwd": "data"},
        {**STDIO, "cwd": "/tmp"},
        {**STDIO, "cwd": "./../x"},
        {**STDIO, "cwd": "./out"},
        {**STDIO, "cwd": "${PLUGIN_ROOT}/../x"},
        {**STDIO, "cwd": "${PLUGIN_DATA}/../x"},
        {**STDIO, "cwd": "${PLUGIN_ROOT}x"},
        {**STDIO, "cwd": "${HOME}"},
        {**STDIO, "cwd": 1},
        {**STDIO, "cwd": "./a\0b"},
        {**STDIO, "cwd": "${PLUGIN_DATA}/\0"},
        {**HTTP, "command": "x"},
        {**HTTP, "url": 1},
        {**HTTP, "url": ""},
        {**HTTP, "url": "a.example/mcp"},
        {**HTTP, "url": "/mcp"},
        {**HTTP, "url": "ftp://a.example"},
        {**HTTP, "url": "http://a.example/mcp"},
        {**HTTP, "url": "http://localhost.example/mcp"},
        {**HTTP, "url": "https://user@a.example/mcp"},
        {**HTTP, "url": "https://a.example/mcp#x"},
        {**HTTP, "url": "https://a.example/mcp#"},
        {**HTTP, "url": "https://a.example/${PLUGIN_ROOT} x"},
        {**HTTP, "headers": {"X Y": "1"}},
        {**HTTP, "headers": {"X": "a\nb"}},
        {**HTTP, "headers": {"X": "1", "x": "2"}},
        {**HTTP, "headers": {"X": 1}},
        {"type": "sse", "url": "https://a.example/sse"},
    ],
)
def test_a_wrong_server_is_named_and_left_out_and_the_others_stay(entry: Any, row_path: Path) -> None:
    (row_path / "elsewhere").mkdir()
    folder = write_plugin(row_path / "p", {"mcp.json": servers(bad=entry, good=HTTP)})
    (folder / "out").symlink_to(row_path / "elsewhere")
    package = read(folder)
    assert (list(package.servers), len(package.problems)) == (["good"], 1)
    assert package.problems[0].startswith("mcp.json: bad: ")


def test_a_local_server_has_its_folders_and_their_variables(tmp_path: Path) -> None:
    entry = {
        "type": "stdio",
        "command": "./bin/tool",
        "args": ["--root=${PLUGIN_ROOT}", "${PLUGIN_DATA}/x", "${HOME}", "$PLUGIN_ROOT", "../x", "${PLUGIN_ROOT"],
        "env": {"${PLUGIN_ROOT}": "key", "A B": "1", "BOTH": "${PLUGIN_ROOT}:${PLUGIN_DATA}", "HOME": "/elsewhere"},
    }
    server = read_servers(tmp_path / "p", one=entry).servers["one"]
    data = str(tmp_path / "data")
    assert server["command"] == [
        "/final/package/bin/tool", "--root=/final/package", f"{data}/x", "${HOME}", "$PLUGIN_ROOT", "../x", "${PLUGIN_ROOT",
    ]  # fmt: skip
    assert server["environment"] == {
        "${PLUGIN_ROOT}": "key",
        "A B": "1",
        "BOTH": f"/final/package:{data}",
        "HOME": "/elsewhere",
        "PLUGIN_ROOT": "/final/package",
        "PLUGIN_DATA": data,
    }
    assert server["cwd"] == "/final/package"


def test_what_a_replacement_brings_is_not_replaced_again(tmp_path: Path) -> None:
    root = tmp_path / "${PLUGIN_DATA}"
    write_plugin(root, {"mcp.json": servers(one={**STDIO, "args": ["${PLUGIN_ROOT}/${PLUGIN_DATA}"]})})
    real = Path(os.path.realpath(root))
    server = read_package(Place(real, real, tmp_path / "data")).servers["one"]
    assert server["command"] == ["tool", f"{real}/{tmp_path / 'data'}"]


@each(
    "written, folder",
    [
        ("./", "/final/package"),
        ("./inner", "/final/package/inner"),
        ("${PLUGIN_ROOT}", "/final/package"),
        ("${PLUGIN_ROOT}/inner", "/final/package/inner"),
        ("${PLUGIN_ROOT}/inner/..", "/final/package"),
        ("${PLUGIN_DATA}", "DATA"),
        ("${PLUGIN_DATA}/x", "DATA/x"),
    ],
)
def test_the_forms_of_a_folder(written: str, folder: str, row_path: Path) -> None:
    server = read_servers(row_path / "p", one={**STDIO, "cwd": written}).servers["one"]
    assert server["cwd"] == folder.replace("DATA", str(row_path / "data"))


@each(
    "url",
    ["https://a.example/mcp", "http://localhost:1/x", "http://127.0.0.2/x", "http://[::1]:80/", "HTTPS://A.example"],
)
def test_an_address_by_the_rules_is_taken_as_it_is(url: str, row_path: Path) -> None:
    entry = {**HTTP, "url": url, "headers": {"X-T": "${HOME} {env:HOME}"}}
    server = read_servers(row_path, one=entry).servers["one"]
    assert server == {"type": "remote", "url": url, "headers": {"X-T": "${HOME} {env:HOME}"}}


def test_headers_of_the_client_go_before_those_of_the_package(tmp_path: Path) -> None:
    given = {"Host": "b.example", "content-LENGTH": "1", "Mcp-Session-Id": "x", "Accept": "text/plain", "X-T": "1"}
    assert read_servers(tmp_path / "p", one={**HTTP, "headers": given}).servers["one"]["headers"] == {"X-T": "1"}


def test_nothing_is_fetched_to_read_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError(given)

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    files = {"skills/one/SKILL.md": SKILL.format("one"), "mcp.json": servers(a=HTTP)}
    assert len(read(write_plugin(tmp_path / "p", files)).servers) == 1
