"""Sessions that Claude Code 2.1.197 and Codex 0.169.0 wrote with a scripted model, without machine paths and long instructions.

`steps` has 100 steps with tools, a compaction and subagents; `screen` what needs a screen: rejected and interrupted calls,
commands, images, plans, queued prompts, and a way back.
"""

import tarfile
from pathlib import Path

from tests.support.source.archive import extract

ARCHIVE = Path(__file__).parent / "data" / "agent-sessions.tar.gz"


def unpack_sessions(target: Path) -> Path:
    """Unpack all sessions below a new folder and return it."""
    with tarfile.open(ARCHIVE) as archive:
        extract(archive, target)
    return target
