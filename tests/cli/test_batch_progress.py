"""The last line of a batch: a bar, the cost and its limit, what runs, and the time left once a task has ended."""

from opencode_tui.batch.task import BatchTask, TaskOrder, TaskResult, TaskTokens
from opencode_tui.cli.commands.batch.progress import TerminalProgress


def order(name: str) -> TaskOrder:
    return TaskOrder(task=BatchTask(id=name, prompt="p"), directory="/p", commit="0" * 40)


def result(name: str, cost: float) -> TaskResult:
    tokens = TaskTokens(input=0, output=0, cached=0)
    return TaskResult(
        id=name, status="done", answer="", diff="", files=[], cost=cost, tokens=tokens, seconds=1, directory="/p"
    )


def test_the_state_has_a_bar_the_cost_of_its_limit_and_the_time_left():
    now = 100.0
    progress = TerminalProgress(4, before=[result("early", 0.0)], most=2.0, clock=lambda: now)
    progress.started(order("one"))
    assert progress.state() == f"{'━' * 4}{'─' * 16}  1 of 5 finished · running one"
    progress.cost(order("one"), 0.25)
    now = 190.0
    progress.ended(order("one"), result("one", 0.5))
    assert progress.state() == f"{'━' * 8}{'─' * 12}  2 of 5 finished · $0.50 of $2.00 · about 4 m 30 s left"
