"""The table of waits names constants with their values, tests that exist, and each module that opens a connection."""

import re

import pytest

from tests.support.source.pages import ROOT

PACKAGE = ROOT / "opencode_tui"
PAGE = ROOT / "docs" / "internals" / "waits.md"

CONSTANT = re.compile(r"(?:([\d.]+)(?: s)? )?\(`(\w+)` in `([\w/]+\.py)`\)")
"""A constant in a module, with its value before it, in seconds."""

TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")

CONNECTION = re.compile(
    r"\bhttpx2?\.(?:Async)?Client\(|\bhttp_?core\.Async\w+\(|\bnetwork\.fetch\(|\basyncio\.open_(?:unix_)?connection\(|\bsse_client\("
)
"""What opens a connection to another program or machine."""

ELSEWHERE = {
    "network.py": "the one that others call",
    "client/remote_link.py": "an engine of this program in another process",
    "engine/provider/connections.py": "the one that `http.py` and `local_servers.py` call",
    "extras/dask/pool.py": "the port of a dashboard, for 2 s: what does not accept is not printed",
}
"""Modules that open connections and have no row, with the reason."""

CASES_ELSEWHERE = {
    "engine/session/test_runs.py::test_changes_wait_for_one_another_and_for_a_limited_time": "a change that goes on",
    "engine/provider/test_litellm.py::test_a_child_that_does_not_start_is_given_up_and_the_next_one_serves": "no start",
    "stories/test_background_mcp_calls.py::test_a_long_call_goes_on_and_its_result_is_read_later": "an answer held by a file",
    "engine/mcp/test_sign_in.py::test_a_canceled_call_does_not_wait_for_a_refresh_and_its_token_is_kept": "a late token",
    "engine/mcp/test_sign_in.py::test_a_sign_out_deletes_the_tokens_and_ends_a_sign_in_that_waits": "a browser that is never used",
    "engine/lsp/test_language_servers.py::test_a_cold_server_is_not_waited_for_and_its_findings_come_with_the_next_edit": (
        "findings that come late"
    ),
    "engine/sandbox/test_hosts.py::test_200_connections_at_once_are_served_and_slow_clients_delay_no_other": (
        "clients that send half a request"
    ),
    "engine/project/test_git.py::test_git_is_ended_after_its_timeout": "a git that sleeps",
    "engine/snapshot/test_faults.py::test_a_disk_that_stays_full_leaves_files_as_they_were_and_says_so": "a full disk",
    "cli/test_auth.py::test_a_full_disk_leaves_the_old_file": "a full disk",
    "client/test_shared.py::test_one_that_is_alive_and_does_not_respond_is_named_and_waited_for_until_it_dies": (
        "an engine that says nothing"
    ),
    "client/test_shared.py::test_one_that_is_alive_and_never_responds_ends_the_wait_with_what_to_do": "an engine that says nothing",
    "client/test_shared.py::test_a_screen_that_has_had_an_engine_waits_on_for_one_that_never_responds": (
        "an engine that says nothing"
    ),
    "client/test_shared.py::test_a_call_that_every_engine_loses_ends_with_what_to_do": "engines that lose each call",
    "client/test_shared.py::test_an_engine_that_ends_late_releases_the_folder_although_its_process_lives": (
        "a server of terminals that does not end"
    ),
    "client/test_shared.py::test_one_that_never_ends_to_open_is_named_although_it_has_no_record": "an engine that does not open",
    "client/test_shared.py::test_a_terminal_goes_on_once_the_process_ends_that_kept_the_next_engine_from_it": (
        "an engine that says nothing"
    ),
    "client/test_inbox.py::test_an_engine_that_does_not_respond_is_named_while_it_is_waited_for_and_then_listed": (
        "an engine that says nothing"
    ),
    "acp/test_agent.py::test_the_end_of_a_client_does_not_wait_for_an_engine_that_does_not_answer": "a loop that is blocked",
    "client/test_shared.py::test_one_that_is_suspended_is_named_and_not_waited_for": "a suspended process",
    "client/test_shared.py::test_one_that_is_suspended_while_it_leaves_its_terminal_or_later_is_shared_when_it_goes_on": (
        "a suspended process"
    ),
    "client/test_shared.py::test_that_the_terminal_with_the_engine_is_suspended_is_reported": "a suspended process",
    "engine/session/test_runs.py::test_closing_answers_and_closes_the_records_of_a_run_that_does_not_end": "a run without end",
    "tui/test_shared_engine.py::test_when_the_engine_ends_by_a_kill_or_by_quitting_another_terminal_replaces_it": "a kill",
    "client/test_remote.py::test_a_stream_that_broke_is_opened_again_and_readers_are_told": "a stream that breaks",
    "engine/lsp/test_language_servers.py::test_the_end_of_a_turn_names_a_server_that_is_still_starting": "a server that is held",
    "cli/test_piped.py::test_a_pipe_that_nobody_closes_does_not_hold_a_message": "a pipe that stays open",
    "cli/test_mcp.py::test_a_run_has_the_tools_of_a_server_that_was_never_listed": "a server that starts slowly",
    "engine/search/test_kill.py::test_a_kill_leaves_an_index_that_is_right": "a kill of the build, for which nothing waits",
}
"""Tests outside of `tests/faults/` that make a wait last or break it, and how: they need the world of their folder."""


def rows() -> list[str]:
    return [line for line in table_lines(0) if not line.startswith(("| wait |", "| wait or write |"))]


def table_lines(part: int) -> list[str]:
    """Return the lines of tables, of waits (0) or of work that lasts (1)."""
    lines = PAGE.read_text("utf-8").split("\n## Work that lasts\n")[part].splitlines()
    return [line for line in lines if line.startswith("| ")]


def value(module: str, name: str) -> float | None:
    """Return the number that a module gives a constant, None for another value. Raises LookupError without it."""
    text = (PACKAGE / module).read_text("utf-8")
    found = re.search(rf"^ *{name}\b(?:: [^=\n]+)?(?: = (.+))?$", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"{module} has no {name}")
    number = re.fullmatch(r"[\d_]+(?:\.\d+)?", found[1] or "")
    return float(number[0].replace("_", "")) if number else None


def test_each_row_names_a_deadline_and_a_test_that_exist() -> None:
    problems: list[str] = []
    for row in rows():
        cells = [cell.strip() for cell in row.strip("| ").split(" | ")]
        if len(cells) != 5 or not all(cells):
            problems.append(f"{len(cells)} cells: {row}")
            continue
        _, _, deadline, _, test = cells
        if (
            not CONSTANT.search(deadline)
            and "chunkTimeout" not in deadline
            and "`" not in deadline
            and "first byte" not in deadline
            and not deadline.startswith("none")
        ):
            problems.append(f"no deadline: {row}")
        if not TEST.search(test):
            problems.append(f"no test: {row}")
        for file, name in TEST.findall(test):
            path = ROOT / "tests" / file
            if not path.is_file() or not re.search(rf"^(?:async )?def {name}\b", path.read_text("utf-8"), re.MULTILINE):
                problems.append(f"no such test: {file}::{name}")
    assert len(rows()) > 30
    assert problems == []


def test_each_row_has_a_case_that_makes_its_wait_last() -> None:
    named = {row: [f"{file}::{name}" for file, name in TEST.findall(row)] for row in rows()}
    without = [
        row
        for row, tests in named.items()
        if not any(one.startswith("faults/") or one in CASES_ELSEWHERE for one in tests)
    ]
    assert without == []
    needed = {one for tests in named.values() if not any(test.startswith("faults/") for test in tests) for one in tests}
    assert sorted(CASES_ELSEWHERE.keys() - needed) == []


def test_the_seconds_of_the_table_are_those_of_the_constants() -> None:
    problems: list[str] = []
    for shown, name, module in CONSTANT.findall(PAGE.read_text("utf-8")):
        try:
            known = value(module, name)
        except (LookupError, OSError) as error:
            problems.append(str(error))
            continue
        scale = 1000 if name.endswith("_MS") else 1
        if shown and known is not None and float(shown) != known / scale:
            problems.append(f"{name} in {module} is {known / scale:g}, not {shown}")
    assert problems == []


@pytest.mark.slow
def test_each_module_that_opens_a_connection_has_a_row() -> None:
    text = PAGE.read_text("utf-8")
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if CONNECTION.search(path.read_text("utf-8"))
    }
    assert sorted(found - set(re.findall(r"`([\w/]+\.py)`", text)) - ELSEWHERE.keys()) == []
    assert sorted(ELSEWHERE.keys() - found) == []


def test_the_words_for_work_that_lasts_are_in_the_program() -> None:
    cells = [row.strip("| ").split(" | ") for row in table_lines(1)[1:]]
    assert {len(row) for row in cells} == {3}
    for column, folders in ((1, ("cli", "text")), (2, ("tui", "text"))):
        source = "".join(path.read_text("utf-8") for folder in folders for path in (PACKAGE / folder).rglob("*.py"))
        words = [word for row in cells for word in re.findall(r"`([A-Z][^`]+|[a-z]+ [^`]+)`", row[column])]
        assert len(words) > 10 and [word for word in words if word not in source] == []
