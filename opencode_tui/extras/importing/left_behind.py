"""Sessions of OpenCode that a newer version of it left behind: still on disk, but no longer shown by it."""

from collections.abc import Iterator, Mapping, Sequence

from opencode_tui.extras.importing.opencode_json import OpenCodeJson
from opencode_tui.extras.importing.opencode_sqlite import OpenCodeSqlite
from opencode_tui.extras.importing.source import SessionSource
from opencode_tui.extras.importing.sources import Sources
from opencode_tui.schema.api.importing import LeftBehind
from opencode_tui.schema.error import OpencodeError
from opencode_tui.storage.paths import Paths


def find_left_behind(paths: Paths, environ: Mapping[str, str]) -> Iterator[LeftBehind]:
    """Yield what is left behind in each store of OpenCode, with the reason for one that cannot be read. Blocks."""
    sources = Sources(paths, environ).find()
    databases = [one for one in sources if isinstance(one, OpenCodeSqlite)]
    try:
        for source in sources:
            try:
                if found := _left_in(source, databases):
                    yield found
            except OpencodeError as error:
                yield LeftBehind(str(source.path), "unreadable", (), problem=str(error))
    finally:
        for source in sources:
            source.close()


def _left_in(source: SessionSource, databases: Sequence[OpenCodeSqlite]) -> LeftBehind | None:
    """Return the sessions that OpenCode 2 shows without messages, or those of a folder that no database in it has."""
    if isinstance(source, OpenCodeSqlite):
        titles = source.left_behind()
        return LeftBehind(str(source.path), "without messages", titles) if titles else None
    if isinstance(source, OpenCodeJson):
        beside = [one for one in databases if one.path.parent == source.path.parent]
        titles: Sequence[str] = source.titles_besides({name for one in beside for name in one.ids()}) if beside else ()
        return LeftBehind(str(source.path), "not in a database", titles) if titles else None
    return None
