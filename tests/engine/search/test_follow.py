"""Changes of the running engine reach the index when parts end."""

import asyncio
import gc

import pytest

from opencode_tui.engine.search import service
from opencode_tui.engine.search.index import Index, IndexFiles
from opencode_tui.engine.search.searcher import Searcher
from opencode_tui.schema.api.search import SearchRequest
from opencode_tui.storage.paths import Paths
from tests.support.world.engine import opened
from tests.support.world.waiting import until


@pytest.mark.slow
async def test_what_the_engine_writes_is_indexed_without_another_query(environ, folder, paths: Paths):
    async with opened(environ, folder) as world:
        assert (await world.client.sessions.search(SearchRequest(query="xylophone"))).groups == []
        path = IndexFiles(paths.cache, str(paths.storage)).current()
        assert path is not None
        index = Index(path)
        assert "xylophone" not in index.vocabulary()
        await world.prompt("say xylophone")
        await until(lambda: "xylophone" in index.vocabulary())
        index.close()


async def test_sessions_stay_in_memory_for_a_moment_only(
    environ, folder, paths: Paths, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(service, "KEEP_S", 0)
    request, root = SearchRequest(query="xylophone"), str(paths.storage)
    async with opened(environ, folder) as world:
        session = await world.prompt("say xylophone")
        for _ in range(2):
            assert [one.session_id for one in (await world.client.sessions.search(request)).groups] == [session.id]
            [searcher] = [one for one in gc.get_objects() if isinstance(one, Searcher) and one._root == root]
            await until(lambda one=searcher: not one._rows and not one._found)


async def test_a_session_that_the_engine_deletes_has_no_hit_at_once(environ, folder):
    async with opened(environ, folder) as world:
        session = await world.prompt("say xylophone")
        quick = SearchRequest(query="xylophone", is_quick=True)
        assert [one.session_id for one in (await world.client.sessions.search(quick)).groups] == [session.id]
        await world.client.sessions.remove(session.id)
        await asyncio.sleep(0)
        assert (await world.client.sessions.search(quick)).groups == []
