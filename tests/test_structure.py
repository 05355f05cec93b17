"""The structure of the source keeps its figures: one change touches few files, Protocols are few, large classes have a reason."""

from pathlib import Path

import pytest

from tests.benchmarks.bench_structure import HANDLERS_GOAL, PROTOCOLS_GOAL, TOUCHED_GOALS
from tests.support.source.structure import (
    binding_tables,
    is_extra,
    key_handlers,
    large_classes,
    package_sizes,
    protocols,
    touched,
)
from tests.support.source.tree import SourceTree, read_source_tree

ROOT = Path(__file__).parents[1]

VALUE = "a value: each field is a column of its table, an option or a result"
STATE = "the state of one thing, with the methods that change it"
WIDGET = "a widget or a controller of the screen, with what it shows now"
READER = "a reader of one file, with what it has read so far"

REASONS = {
    "acp/updates.py SessionState": "what an editor has been sent of one session, which no update may repeat",
    "cli/run/report.py TerminalReporter": STATE,
    "cli/run/turn.py TurnOptions": VALUE,
    "client/client.py Client": "the API for one folder: a field for each facet",
    "client/local_facets.py LocalFacets": "the API for one folder: a field for each facet",
    "client/local_facets.py _Sessions": "a facet: a field for each call that a service answers as it is",
    "client/remote.py RemoteClient": "the API for one folder: a field for each facet",
    "client/shared.py SharedClient": STATE,
    "config/flags.py Flags": VALUE,
    "config/load.py _Loading": "one load of the settings, step by step",
    "engine/lsp/language_servers.py LanguageServers": STATE,
    "engine/lsp/server.py LanguageServer": STATE,
    "engine/mcp/server.py McpServer": STATE,
    "engine/permission/command_decision.py _Plan": "the decision about one command, step by step",
    "engine/permission/decision.py Query": VALUE,
    "engine/permission/shell/findings.py Findings": "what a scan has found so far; `Scan` is its result",
    "engine/permission/shell/scan.py Scan": VALUE,
    "engine/provider/known_provider.py KnownProvider": VALUE,
    "engine/provider/model_facts.py _Facts": VALUE,
    "engine/sandbox/sandbox.py Sandbox": STATE,
    "engine/search/searcher.py Searcher": STATE,
    "engine/services/core.py Core": "the services that exist once per process: building them is its only task",
    "engine/session/loop.py SessionLoop": "the prompt loop: each collaborator is one stage of a turn",
    "engine/session/runs.py Run": STATE,
    "engine/session/step/tool_calls.py CallScope": VALUE,
    "engine/snapshot/scan/scan.py Scan": "one scan of a worktree, with what it has found so far",
    "engine/snapshot/worktree.py Worktree": STATE,
    "engine/tool/kit.py ToolDependencies": "what tools may use of a folder, for all tools; `ToolKit` makes what they share",
    "engine/tool/process/background.py BackgroundJob": STATE,
    "engine/tool/process/limit_watch.py LimitWatch": STATE,
    "engine/tool/process/process.py ShellProcess": STATE,
    "engine/tool/tool.py ToolContext": "what one call of a tool may ask and report",
    "extras/dask/pool.py DaskWorkers": STATE,
    "extras/importing/claude_messages.py ClaudeMessages": READER,
    "extras/importing/claude_rows.py Row": VALUE,
    "schema/tools.py ToolRow": VALUE,
    "tui/chat/parts.py ChatParts": WIDGET,
    "tui/chrome/status_line.py Status": VALUE,
    "tui/conversation/view.py ConversationView": WIDGET,
    "tui/pages/search.py SearchScreen": WIDGET,
    "tui/state/controller.py SessionController": WIDGET,
    "tui/state/message.py MessageView": VALUE,
    "tui/state/model_selection.py ModelSelection": STATE,
    "tui/state/session_facts.py SessionFacts": STATE,
    "tui/state/screen_settings.py ScreenSettings": VALUE,
    "tui/theme/glyphs.py Glyphs": VALUE,
    "tui/theme/palette.py Palette": VALUE,
}
"""Why a class has more than 12 fields, by its module and its name."""


@pytest.fixture(scope="module")
def tree() -> SourceTree:
    return read_source_tree(ROOT)


def test_a_class_with_many_fields_has_a_reason(tree: SourceTree) -> None:
    assert sorted(set(large_classes(tree)) - set(REASONS)) == []


def test_a_reason_is_for_a_class_that_exists(tree: SourceTree) -> None:
    names = {f"{one.path.removeprefix('opencode_tui/')} {one.qualified_name}" for one in tree.definitions()}
    assert sorted(set(REASONS) - names) == []


def test_protocols_are_few(tree: SourceTree) -> None:
    own = [one for one in protocols(tree) if not is_extra(one)]
    assert len(own) <= PROTOCOLS_GOAL, own


def test_one_router_and_the_editor_handle_keys(tree: SourceTree) -> None:
    assert (len(key_handlers(tree)), binding_tables(tree)) == (HANDLERS_GOAL, [])


def test_a_tool_a_setting_an_action_and_a_format_touch_few_files() -> None:
    places = touched(ROOT)
    assert len(places) == 7
    assert {name: files for name, files in places.items() if len(files) > TOUCHED_GOALS[name.split()[1]]} == {}


def test_no_imports_form_a_cycle(tree: SourceTree) -> None:
    assert tree.cycles() == []


def test_every_file_of_the_product_is_in_one_package() -> None:
    sizes = package_sizes(ROOT)
    assert sum(size.modules for size in sizes.values()) == len(read_source_tree(ROOT).modules)
    assert {name for name in sizes if is_extra(name)} >= {"extras/vim", "extras/dask"}
