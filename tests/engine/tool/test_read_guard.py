from pathlib import Path

import pytest

from opencode_tui.engine.tool.files.read_guard import ReadGuard, Stamp
from opencode_tui.schema.error import ToolError

NEW, OLD = Stamp(2, 1, 1), Stamp(1, 1, 1)
PATH = Path("/a")


def test_each_session_must_read_for_itself() -> None:
    stamps = ReadGuard()
    stamps.mark("ses_1", PATH, NEW)
    stamps.check("ses_1", PATH, NEW)
    with pytest.raises(ToolError, match="has not been read in this session; read it"):
        stamps.check("ses_2", PATH, NEW)


def test_older_knowledge_is_stale() -> None:
    stamps = ReadGuard()
    stamps.mark("ses_1", PATH, OLD)
    with pytest.raises(ToolError, match="changed on disk since it was last read; read it again"):
        stamps.check("ses_1", PATH, NEW)


def test_evicted_session_knows_nothing() -> None:
    stamps = ReadGuard()
    stamps.mark("ses_1", PATH, NEW)
    stamps.evict("ses_1")
    with pytest.raises(ToolError, match="has not been read"):
        stamps.check("ses_1", PATH, NEW)
