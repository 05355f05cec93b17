"""The structure of the source keeps its figures: a change touches few files, Protocols are few, classes have few collaborators."""

from pathlib import Path

import pytest

from opencode_tui.schema.api.keybinds import ACTIONS
from tests.benchmarks.bench_structure import HANDLERS_GOAL, PROTOCOLS_GOAL, TOUCHED_GOALS
from tests.support.source.collaborators import COLLABORATOR_LIMIT, Holder, classes_with_collaborators
from tests.support.source.structure import (
    binding_tables,
    is_extra,
    key_handlers,
    package_sizes,
    protocols,
    touched,
    widely_named_actions,
)
from tests.support.source.tree import SourceTree, read_source_tree

ROOT = Path(__file__).parents[1]

REASONS = {
    "engine/session/runs.py SessionRuns": "what a run needs before it and after it: recovery, undo, summaries",
    "client/local_facets.py LocalFacets": "makes the API for one folder in this process: a facet for each field of `Client`",
    "engine/services/core.py Core": "makes what exists once per process, each from those before; only `engine/services/` reads it",
    "engine/session/subagent.py SessionSubagents": "starts the agents of one run: checks, sessions, limits, background, worktrees",
    "engine/tool/builtin/bash_run.py CommandRun": "one command of a call: its plan, sandbox and output, and the call it reports to",
    "tui/chat/parts.py ChatParts": "the open chat: makes its widgets and lists, each once, on which every action and panel works",
    "tui/state/controller.py SessionController": "the session on the screen: makes its parts, which follow the same events",
}
"""Why a class has more than nine collaborators, by its module and its name: what it is, and why they belong together."""

NAMED_WIDELY = {
    "help_view": "a typed ? is text or this action, as the prompt decides; the start page, the status line and pages show its key",
    "session_list": "the start page shows its key, and a click on the sessions that wait in the status line runs it",
    "session_share": "OpenCode's name of a folder of records, and a name that older clients send",
    "background_view": "a click on the running commands runs it, in the sidebar and in the status line",
    "input_submit": "what submits a text differs: the prompt, before the engine is open too, a queued message, a panel",
    "item_leave": "the conversation asks for it, and the chat moves the focus at once, so that the next key is for the prompt",
    "list_choose": "an enter before the choices of a list are read waits for them",
}
"""Why more files name an action than its row, what runs it and what shows its key."""


@pytest.fixture(scope="module")
def tree() -> SourceTree:
    return read_source_tree(ROOT)


@pytest.fixture(scope="module")
def held(tree: SourceTree) -> dict[str, Holder]:
    return classes_with_collaborators(tree)


def test_a_class_has_at_most_nine_collaborators_or_a_reason(held: dict[str, Holder]) -> None:
    """A field counts when it holds a service or a function, not when it holds a value (`collaborators.py` has the exact rule).

    A class that was given most of its collaborators for others, because its own methods do not read them, is a bag. The class
    that holds a bag counts what is in it instead, so that nothing is hidden by a bag of another name. With more than nine a
    class needs a reason here; a reason that is not needed any more has to go.
    """
    assert {name for name, one in held.items() if one.count > COLLABORATOR_LIMIT} == set(REASONS)


def test_no_class_only_passes_on_more_than_nine_collaborators(held: dict[str, Holder]) -> None:
    """No reason makes up for that: what uses them gets them itself, or the methods that use them move to the class."""
    assert [name for name, one in held.items() if one.is_bag and one.count > COLLABORATOR_LIMIT] == []


def test_protocols_are_few(tree: SourceTree) -> None:
    own = [one for one in protocols(tree) if not is_extra(one)]
    assert len(own) <= PROTOCOLS_GOAL, own


def test_one_router_and_the_editor_handle_keys(tree: SourceTree) -> None:
    assert (len(key_handlers(tree)), binding_tables(tree)) == (HANDLERS_GOAL, [])


def test_a_tool_a_setting_an_action_and_a_format_touch_few_files() -> None:
    places = touched(ROOT)
    assert len(places) == 9
    assert {name: files for name, files in places.items() if len(files) > TOUCHED_GOALS[name.split()[1]]} == {}


def test_an_action_that_many_files_name_has_a_reason() -> None:
    found = widely_named_actions(ROOT, (action.id for action in ACTIONS), TOUCHED_GOALS["action"])
    assert sorted(found) == sorted(NAMED_WIDELY), found


def test_no_imports_form_a_cycle(tree: SourceTree) -> None:
    assert tree.cycles() == []


def test_every_file_of_the_product_is_in_one_package() -> None:
    sizes = package_sizes(ROOT)
    assert sum(size.modules for size in sizes.values()) == len(read_source_tree(ROOT).modules)
    assert {name for name in sizes if is_extra(name)} >= {"extras/vim", "extras/dask"}
