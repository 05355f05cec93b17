"""A call says when its files are recorded, before and after its commands, so that its time can be its own."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opencode_tui.engine.snapshot.record.call import CallChanges
from opencode_tui.schema.error import OpencodeError

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.record.recording import StepRecording


async def test_files_are_recorded_before_a_command_and_its_own_time_begins_after_it():
    moments: list[str] = []

    async def unusable() -> "StepRecording":
        moments.append("recorded")
        raise OpencodeError("no git")

    @contextmanager
    def recording() -> Generator[None]:
        moments.append("begins")
        yield
        moments.append("ends")

    watch = CallChanges("msg_1", unusable)
    watch.recording = recording
    async with watch.commands():
        moments.append("command")
    assert moments == ["begins", "recorded", "ends", "command"]
    assert watch.unprotected == "no git"
