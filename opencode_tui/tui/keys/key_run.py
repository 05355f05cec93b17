"""Keys that were typed in one go, faster than one key at a time can be handled."""

from collections.abc import Iterable, Iterator, Sequence

from textual import events
from textual.message import Message


class KeyRun(events.InputEvent):
    """Printable keys of one read of the terminal, in their order: dictation, a text expander, or another program."""

    def __init__(self, keys: Sequence[events.Key]) -> None:
        super().__init__()
        self.keys = keys


def with_runs(read: Iterable[Message]) -> Iterator[Message]:
    """Yield what was read from the terminal, neighboring printable keys as one `KeyRun`."""
    run: list[events.Key] = []
    for event in read:
        if isinstance(event, events.Key) and event.is_printable:
            run.append(event)
            continue
        yield from _joined(run)
        run = []
        yield event
    yield from _joined(run)


def _joined(run: list[events.Key]) -> Sequence[Message]:
    return [KeyRun(run)] if len(run) > 1 else run
