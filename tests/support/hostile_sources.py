"""By name, every source of text that the screen has, and which of the strings it must have shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.support import hostile_asks, hostile_lists, hostile_talk
from tests.support.hostile_world import HostileWorld, leaks, marks


@dataclass(frozen=True, slots=True)
class Source:
    """`act` has the screen show the strings. So much of them, `least` of 1, must have stood there to be read."""

    act: Callable[[HostileWorld], None]
    least: float
    is_sparse: bool = False
    """Whether each string takes a turn or a question, so that a quick run takes a few."""


SOURCES: Mapping[str, Source] = {
    "answers": Source(hostile_talk.answers, 0.9),
    "code": Source(hostile_talk.code, 0.9),
    "thoughts": Source(hostile_talk.thoughts, 0.9),
    "tools": Source(hostile_talk.tools, 0.7, is_sparse=True),
    "outputs": Source(hostile_talk.outputs, 0.9),
    "shell": Source(hostile_talk.shell, 0.9),
    "todos": Source(hostile_talk.todos, 0.9),
    "changes": Source(hostile_talk.changes, 0.9),
    "files": Source(hostile_talk.files, 0.9),
    "tasks": Source(hostile_talk.tasks, 0.9, is_sparse=True),
    "permissions": Source(hostile_asks.permissions, 0.9),
    "questions": Source(hostile_asks.questions, 0.9),
    "failures": Source(hostile_asks.failures, 0.6, is_sparse=True),
    "retries": Source(hostile_asks.retries, 0.0, is_sparse=True),
    "titles": Source(hostile_asks.titles, 0.6, is_sparse=True),
    "lists": Source(hostile_lists.lists, 0.45),
    "pages": Source(hostile_lists.pages, 0.05),
    "trust": Source(hostile_lists.trust, 0.05),
    "pastes": Source(hostile_lists.pastes, 0.9),
    "prompts": Source(hostile_lists.prompts, 0.9, is_sparse=True),
    "notes": Source(hostile_lists.notes, 0.6, is_sparse=True),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What became of one source: what got through of `bytes`, and which share of the strings could be read."""

    name: str
    leaks: list[str]
    share: float
    bytes: int

    @property
    def is_well(self) -> bool:
        """Whether nothing got through, and enough was there to get through."""
        return not self.leaks and self.share >= SOURCES[self.name].least


def show(world: HostileWorld, name: str) -> Shown:
    """Have the screen show the strings through one source, and look at every byte that reached the terminal."""
    source = SOURCES[name]
    world.take()
    source.act(world)
    written = world.take()
    wanted = marks("\n".join(world.texts.sparse if source.is_sparse else world.strings).encode())
    return Shown(name, list(leaks(written)), len(wanted & marks(written)) / max(1, len(wanted)), len(written))
