"""Whole sessions: their events, and the effects of changes."""

import pytest

from opencode_tui.schema.api.request import CreateSession, UpdateSession
from opencode_tui.schema.error import NotFoundError
from opencode_tui.schema.event.event import SessionCreated, SessionUpdated
from tests.support.sessions.store import drain
from tests.support.world.engine import opened


async def test_a_new_session_is_published_before_its_other_events(environ, tmp_path):
    async with opened(environ, tmp_path) as world:
        with world.client.events() as reader:
            info = await world.client.sessions.create(CreateSession(title="one"))
            published = [event for event in drain(reader) if isinstance(event, SessionCreated | SessionUpdated)]
        assert isinstance(published[0], SessionCreated)
        assert published[0].info == info
        assert (info.directory, info.title) == (str(tmp_path), "one")
        assert info.id.startswith("ses_") and info.project_id


async def test_a_name_or_an_archive_date_does_not_move_the_time(environ, tmp_path):
    async with opened(environ, tmp_path) as world:
        info = await world.new_session()
        changed = await world.client.sessions.update(info.id, UpdateSession(title="two", archived=7))
        assert (changed.title, changed.time.archived, changed.time.updated) == ("two", 7, info.time.updated)


async def test_a_deleted_session_is_unknown(environ, tmp_path):
    async with opened(environ, tmp_path) as world:
        info = await world.new_session()
        await world.client.sessions.remove(info.id)
        with pytest.raises(NotFoundError):
            await world.client.sessions.get(info.id)
