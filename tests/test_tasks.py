"""No task of an engine or a server can end it, and no error is shown as a group of errors."""

import ast
import asyncio
import logging
from pathlib import Path

import pytest

from opencode_tui.schema.session.stored_error import to_stored
from opencode_tui.tasks import Tasks, first_error, guarded_tasks, task_group

PACKAGE = Path(__file__).parents[1] / "opencode_tui"


async def fail(error: BaseException) -> None:
    await asyncio.sleep(0)
    raise error


async def test_a_task_that_fails_ends_neither_the_others_nor_the_engine(caplog: pytest.LogCaptureFixture) -> None:
    may_end = asyncio.Event()
    async with guarded_tasks() as tasks:
        other = tasks.start(may_end.wait(), name="other")
        failed = tasks.start(fail(RuntimeError("can't start new thread")), name="supervise ses_1")
        assert await failed is None
        may_end.set()
        assert await other is True
    (line,) = caplog.records
    assert (line.levelno, line.getMessage()) == (logging.ERROR, "supervise ses_1 failed")
    assert line.exc_info is not None


async def test_the_result_of_a_failed_task_is_made_of_its_error() -> None:
    async with guarded_tasks() as tasks:

        async def work() -> str:
            raise KeyError("missing")

        assert await tasks.start(work(), name="copy", failed=repr) == "KeyError('missing')"


async def test_what_follows_a_failure_may_fail_too(caplog: pytest.LogCaptureFixture) -> None:
    def failed(error: Exception) -> None:
        raise ValueError("again") from error

    async with guarded_tasks() as tasks:
        assert await tasks.start(fail(OSError("first")), name="copy", failed=failed) is None
    assert [line.getMessage() for line in caplog.records] == ["copy failed", "the end of copy failed"]


async def test_a_task_can_be_canceled() -> None:
    async with guarded_tasks() as tasks:
        endless = tasks.start(asyncio.Event().wait(), name="endless")
        await asyncio.sleep(0)
        endless.cancel()
    assert endless.cancelled()


async def test_no_task_starts_after_the_end() -> None:
    async with guarded_tasks() as tasks:
        pass
    with pytest.raises(RuntimeError):
        tasks.start(fail(OSError()), name="late")


@pytest.mark.parametrize("depth", [0, 1, 3])
async def test_a_group_raises_the_error_of_its_task_with_its_cause(depth: int) -> None:
    cause, error = KeyError("cause"), OSError(28, "No space left on device")

    async def work(left: int) -> None:
        if left == 0:
            raise error from cause
        async with task_group() as group:
            group.create_task(work(left - 1))

    with pytest.raises(OSError, match="No space left") as raised:
        await work(depth)
    assert raised.value is error
    assert raised.value.__cause__ is cause


async def test_a_group_cancels_the_others_and_raises_what_its_body_raises() -> None:
    others: list[asyncio.Task[bool]] = []

    async def work() -> None:
        async with task_group() as group:
            others.append(group.create_task(asyncio.Event().wait()))
            await asyncio.sleep(0)
            raise ValueError("of the body")

    with pytest.raises(ValueError, match="of the body"):
        await work()
    assert others[0].cancelled()


def test_no_group_of_errors_is_stored() -> None:
    full = OSError(28, "No space left on device")
    group = ExceptionGroup("unhandled errors in a TaskGroup", [ExceptionGroup("inner", [full]), ValueError("later")])
    assert first_error(group) is full
    assert to_stored(group) == to_stored(full)


def test_groups_are_opened_in_one_module_and_kept_by_nobody() -> None:
    """So `create_task` of a group can be called only inside its context, and what an engine keeps is a `Tasks`."""
    assert [] == [
        f"{path.relative_to(PACKAGE)}:{line}: {what}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "tasks.py"
        for line, what in _groups_in(path.read_text())
    ]


@pytest.mark.parametrize(
    "source",
    [
        "async def f():\n    async with asyncio.TaskGroup() as group:\n        pass",
        "from asyncio import TaskGroup",
        "def f(group: asyncio.TaskGroup): ...",
        "def f(group: 'asyncio.TaskGroup'): ...",
        "def f(self, work):\n    self._group.create_task(work)",
        "async def f(work):\n    async with task_group() as group:\n        self.group = group",
        "async def f(work):\n    async with task_group() as group:\n        keep(group)",
    ],
)
def test_the_search_finds_a_group_that_is_kept(source: str) -> None:
    assert _groups_in(source)


def test_the_search_accepts_a_group_that_is_used_in_its_context() -> None:
    source = "async def f(work):\n    async with task_group() as group, x() as y:\n        group.create_task(work)"
    assert _groups_in(source) == []
    assert _groups_in("asyncio.create_task(work())") == []
    assert hasattr(Tasks, "start")


def _groups_in(source: str) -> list[tuple[int, str]]:
    """Return the lines that open a group of asyncio, name its class, or use a group in another way than in its context."""
    tree, found, starts = ast.parse(source), list[tuple[int, str]](), set[ast.expr]()
    groups = {
        one.optional_vars.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AsyncWith)
        for one in node.items
        if isinstance(one.optional_vars, ast.Name) and ast.unparse(one.context_expr) == "task_group()"
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "create_task":
            starts.add(node.value)
            if ast.unparse(node.value) not in {"asyncio", *groups} and not ast.unparse(node.value).endswith(
                ("loop", "loop()")
            ):
                found.append((node.lineno, ast.unparse(node)))
        elif isinstance(node, ast.Constant | ast.Attribute | ast.Name | ast.alias) and "TaskGroup" in _name(node):
            found.append((node.lineno, "TaskGroup"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in groups and node not in starts:
            found.append((node.lineno, f"{node.id} is given away"))
    return found


def _name(node: ast.Constant | ast.Attribute | ast.Name | ast.alias) -> str:
    match node:
        case ast.Constant():
            return node.value if isinstance(node.value, str) and " " not in node.value else ""
        case ast.Attribute():
            return node.attr
        case ast.Name():
            return node.id
        case _:
            return node.name
