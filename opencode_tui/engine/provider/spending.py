"""What the user's model calls cost today, over all sessions and processes: a file for each day, with one line per call.

A line is written when a call's usage is known, so that a crash loses at most the calls that were running. Lines are appended with
one write each: processes need no lock. Layout: `state/spending/{YYYY-MM-DD}`, USD per line, `allow USD` for what the
user allowed beyond the budget.
"""

import asyncio
import logging
import os
import threading
from collections import deque
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NamedTuple

from opencode_tui.engine.provider.cost import to_cost
from opencode_tui.engine.provider.llm import Usage
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.model import Model

KEPT_DAYS = 35
"""Days after which a file is deleted."""

_ALLOW = "allow "
_logger = logging.getLogger(__name__)


class Day(NamedTuple):
    """The USD of a day: what was spent, and what the user allowed beyond the budget."""

    spent: Decimal
    allowed: Decimal


class Spending:
    """Records and sums the cost of calls; `folder` need not exist. Days are those of the local time."""

    def __init__(self, folder: Path, *, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._costs: deque[Decimal] = deque()
        """Costs that are not in the file yet."""
        self._writing = threading.Lock()

    def record(self, usage: Usage, model: Model) -> None:
        """Record what the tokens of a call cost, as `add`."""
        self.add(to_cost(usage, model))

    def add(self, cost: Decimal) -> None:
        """Record the cost of a call in USD; a failure is logged, because the call is done.

        On an event loop a thread writes it. Elsewhere this blocks for one small write.
        """
        if cost > 0:
            self._costs.append(cost)
            try:
                asyncio.get_running_loop().run_in_executor(None, self._write_unless_written)
            except RuntimeError:  # there is no loop, or it ends
                self._write_unless_written()

    def allow(self, amount: Decimal) -> None:
        """Record what the user allowed beyond the day's budget, in USD. Blocks. Raises OSError."""
        self._append(f"{_ALLOW}{amount:f}")

    def today(self) -> Day:
        """Return the sums of today; blocks. Raises OSError when the file exists and cannot be read."""
        with self._writing:
            self._write()
        sums = {"": Decimal(0), _ALLOW: Decimal(0)}
        try:
            text = self._path(self._day()).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            text = ""
        for line in text.splitlines():
            kind = _ALLOW if line.startswith(_ALLOW) else ""
            try:
                amount = Decimal(line.removeprefix(kind))
            except InvalidOperation:
                continue  # a line that a crash cut off
            if amount.is_finite() and amount > 0:
                sums[kind] += amount
        return Day(sums[""], sums[_ALLOW])

    def _write_unless_written(self) -> None:
        """Write the costs, or leave them to the thread that writes: one waits for a disk that hangs, not one for each call."""
        while self._costs and self._writing.acquire(blocking=False):
            try:
                self._write()
            finally:
                self._writing.release()

    def _write(self) -> None:
        while self._costs:
            try:
                self._append(f"{self._costs.popleft():f}")
            except OSError as error:
                _logger.warning("the cost of a call is not counted in %s: %s", self._folder, error)

    def _append(self, line: str) -> None:
        path = self._path(self._day())
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._delete_old()
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # The break before the line ends one that a crash cut off.
            os.write(descriptor, f"\n{line}\n".encode())
        finally:
            os.close(descriptor)

    def _delete_old(self) -> None:
        oldest = (self._day() - timedelta(days=KEPT_DAYS)).isoformat()
        for path in self._folder.iterdir():
            if len(path.name) == len(oldest) and path.name < oldest:
                path.unlink(missing_ok=True)

    def _day(self) -> date:
        return datetime.fromtimestamp(self._clock() / 1000).date()

    def _path(self, day: date) -> Path:
        return self._folder / day.isoformat()
