"""How a batch is shown: a line for each task that ends, and in a terminal the state of all on the last line."""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from opencode_tui.batch.pool import Progress
from opencode_tui.batch.task import TaskOrder, TaskResult
from opencode_tui.cli.run.report import Activity
from opencode_tui.cli.style import Style, Token, style_of
from opencode_tui.cli.terminal import say
from opencode_tui.text.quantity import brief_duration, duration, money, plural
from opencode_tui.text.safe_text import make_safe

_SIGNS: dict[str, tuple[str, Token]] = {
    "done": ("✓", "success"),
    "failed": ("✗", "error"),
    "timeout": ("✗", "warning"),
    "rejected": ("✗", "warning"),
}
_SHOWN = 3
_BAR_CELLS = 20
_ERROR_CHARS = 300


class TerminalProgress(Progress):
    """Writes to standard error. `before` are the results of an earlier batch, `most` the USD that the batch may cost.

    With `is_queued` a task that starts waits for a worker, and runs when its cost is known.
    """

    def __init__(
        self,
        count: int,
        *,
        before: Sequence[TaskResult] = (),
        is_queued: bool = False,
        most: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_queued = is_queued
        self._most = most
        self._clock = clock
        self._began = clock()
        self._before = len(before)
        self._count = count + len(before)
        self._results = list(before)
        self._running: dict[str, float] = {}
        self._style = style_of(sys.stderr, os.environ)
        self._activity = Activity(sys.stderr, self._style, is_alone=True)

    def started(self, order: TaskOrder) -> None:
        """Show a task that starts."""
        if not self._is_queued:
            self._running[order.task.id] = 0.0
        self._draw()

    def cost(self, order: TaskOrder, usd: float) -> None:
        """Show what a running task has cost so far."""
        self._running[order.task.id] = usd
        self._draw()

    def ended(self, order: TaskOrder, result: TaskResult) -> None:
        """Write the line of a task that ended."""
        self._running.pop(order.task.id, None)
        self._results.append(result)
        self._activity.erase()
        number = f"{len(self._results):>{len(str(self._count))}}/{self._count}"
        sys.stderr.write(f"{self._style.paint(number, 'muted')} {result_line(result, self._style)}\n")
        sys.stderr.flush()
        self._draw()

    def report(self, text: str) -> None:
        """Write a line of its own above the state."""
        self._activity.erase()
        say(text)
        if self._running:
            self._draw()

    def close(self) -> None:
        """Remove the last line."""
        self._activity.stop()

    def _draw(self) -> None:
        self._activity.update(self._style.words(self.state()))

    def state(self) -> str:
        """Return the state of all tasks in a line: a bar, the cost, what runs, and the time left once a task has ended."""
        names = [make_safe(name) for name in [*self._running][:_SHOWN]]
        more = f" +{len(self._running) - _SHOWN}" if len(self._running) > _SHOWN else ""
        bad = sum(one.status != "done" for one in self._results)
        spent = sum(one.cost for one in self._results) + sum(self._running.values())
        limit = f" of {money(self._most)}" if self._most else ""
        words = [
            f"{len(self._results)} of {self._count} finished",
            *([f"{bad} not done"] if bad else []),
            *([f"{money(spent)}{limit}"] if spent else []),
            *([f"about {duration(left)} left"] if (left := self._left()) else []),
            *([f"running {', '.join(names)}{more}"] if names else []),
        ]
        full = _BAR_CELLS * len(self._results) // self._count
        return f"{'━' * full}{'─' * (_BAR_CELLS - full)}  {' · '.join(words)}"

    def _left(self) -> float:
        """Return the seconds that the rest takes if it continues like this; 0 if nothing says so."""
        ended, rest = len(self._results) - self._before, self._count - len(self._results)
        return (self._clock() - self._began) / ended * rest if ended else 0


def result_line(result: TaskResult, style: Style) -> str:
    """Return one line about a result."""
    sign, token = _SIGNS[result.status]
    added, removed = _count_lines(result.diff)
    facts = [
        *([f"{plural(len(result.files), 'file')} +{added} −{removed}"] if result.files else []),
        *([money(result.cost)] if result.cost else []),
        brief_duration(result.seconds),
    ]
    words = f" {make_safe(result.error)[:_ERROR_CHARS]}" if result.error else ""
    status = "" if result.status == "done" else f" {style.paint(result.status, token)}:"
    head = f"{style.paint(style.words(sign), token)} {style.paint(make_safe(result.id), 'bold')}"
    return f"{head}{status}{words}  {style.paint(style.words(' · '.join(facts)), 'muted')}"


def summary(results: Iterable[TaskResult], seconds: float, missing: int) -> str:
    """Return one line about all results of a batch."""
    found = list(results)
    counts = Counter(one.status for one in found)
    words = [f"{counts[status]} {status}" for status in _SIGNS if counts[status]]
    if missing:
        words.append(f"{missing} without a result")
    cost = sum(one.cost for one in found)
    facts = [", ".join(words) or "nothing ran", *([money(cost)] if cost else []), duration(seconds)]
    return f"{plural(len(found) + missing, 'task')}: {' · '.join(facts)}"


def _count_lines(diff: str) -> tuple[int, int]:
    lines = diff.splitlines()
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    return added, sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
