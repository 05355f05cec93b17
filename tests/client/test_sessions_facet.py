"""Sessions, through either api."""

import json

import pytest

from opencode_tui.schema.api.request import CreateSession, ForkSession, UpdateSession
from opencode_tui.schema.error import NoSuchMessageError, NotFoundError, SessionError
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.session.listed import listed

UNKNOWN = "ses_000000000000AAAAAAAAAAAAAA"


async def test_a_session_is_made_as_asked_and_found_again(api):
    rules = [Rule(permission="bash", pattern="*", action="deny")]
    made = await api.client.sessions.create(CreateSession(title="first", permission=rules))
    assert (made.title, made.permission, made.directory) == ("first", rules, str(api.project.path))
    assert await api.client.sessions.get(made.id) == made


async def test_the_list_has_the_newest_first_and_children_stand_with_their_parent(api):
    parent = await api.new_session(title="parent")
    child = await api.new_session(parent_id=parent.id)
    other = await api.new_session()
    assert [info.id for info in await api.client.sessions.list()] == [other.id, child.id, parent.id]
    assert [info.id for info in await api.client.sessions.children(parent.id)] == [child.id]


async def test_the_latest_is_the_one_worked_on_last_without_children_and_archived_ones(api):
    assert await api.client.sessions.latest() is None
    first, second = await api.new_session(), await api.new_session()
    await api.say(first, "hello")
    await api.new_session(parent_id=first.id)
    archived = await api.new_session()
    await api.client.sessions.update(archived.id, UpdateSession(archived=5))
    latest = await api.client.sessions.latest()
    assert latest is not None and latest.id == first.id != second.id


async def test_a_session_is_renamed_and_put_away(api):
    session = await api.new_session(title="old")
    renamed = await api.client.sessions.update(session.id, UpdateSession(title="new"))
    archived = await api.client.sessions.update(session.id, UpdateSession(archived=7))
    assert (renamed.title, renamed.time.archived) == ("new", None)
    assert (archived.title, archived.time.archived) == ("new", 7)


async def test_a_session_is_used_again_and_pinned(api):
    session = await api.new_session(title="kept")
    await api.client.sessions.update(session.id, UpdateSession(archived=7, pinned=True))
    again = await api.client.sessions.update(session.id, UpdateSession(archived=0))
    assert (again.time.archived, again.metadata) == (None, {"pinned": True})
    unpinned = await api.client.sessions.update(session.id, UpdateSession(pinned=False))
    assert (unpinned.metadata, unpinned.title) == (None, "kept")


async def test_the_sessions_of_all_projects_are_listed_last_used_first(api):
    first, second = await api.new_session(), await api.new_session()
    await api.say(first, "hello")
    assert [info.id for info in await api.client.sessions.everywhere()] == [first.id, second.id]


async def test_lists_get_the_facts_that_they_show(api):
    parent = await api.new_session(title="parent 一")
    child = await api.new_session(parent_id=parent.id)
    await api.say(parent, "hello")
    fork = await api.client.sessions.fork(parent.id, ForkSession())
    await api.client.sessions.wait_copied(fork.id)
    await api.client.sessions.update(parent.id, UpdateSession(pinned=True))
    every = [listed(info) for info in await api.client.sessions.list()]
    assert [*await api.client.sessions.listed()] == every
    assert [*await api.client.sessions.listed(is_everywhere=True)] == every
    by_id = {one.id: one for one in every}
    assert (by_id[parent.id].title, by_id[parent.id].is_pinned) == ("parent 一", True)
    assert (by_id[child.id].parent_id, by_id[fork.id].fork_of) == (parent.id, parent.id)


async def test_a_session_is_deleted_with_its_children(api):
    parent = await api.new_session()
    child = await api.new_session(parent_id=parent.id)
    await api.client.sessions.remove(parent.id)
    for session in (parent, child):
        with pytest.raises(NotFoundError, match=session.id):
            await api.client.sessions.get(session.id)


async def test_what_is_not_there_is_named(api):
    with pytest.raises(NotFoundError, match=UNKNOWN):
        await api.client.sessions.get(UNKNOWN)
    with pytest.raises(SessionError):
        await api.client.sessions.get("nonsense")


async def test_totals_add_up_what_was_used(api):
    session = await api.new_session()
    await api.say(session, "hello <<usage 100 20 40>>")
    totals = await api.client.sessions.totals(session.id)
    assert (totals.steps, totals.input, totals.output, totals.cached) == (1, 60, 20, 40)


async def test_each_session_tells_what_it_cost_by_itself(api):
    session, free = await api.new_session(title="costly"), await api.new_session()
    await api.say(session, "hello <<usage 1000 200>>")
    child = await api.new_session(parent_id=session.id)
    await api.say(child, "hello <<usage 500 0>>")
    fork = await api.client.sessions.fork(session.id, ForkSession())
    await api.client.sessions.wait_copied(fork.id)
    costs = await api.client.sessions.costs()
    assert costs == {session.id: pytest.approx(1_400 / 1e6), child.id: pytest.approx(500 / 1e6)}
    assert free.id not in costs and (await api.client.sessions.totals(session.id)).cost == pytest.approx(1_900 / 1e6)


async def test_a_list_gets_the_costs_of_the_sessions_that_it_asks_for_with_those_of_their_agents(api):
    top, other, free = [await api.new_session(title=title) for title in ("top", "other", "free")]
    for session, tokens in ((top, 1000), (other, 100)):
        await api.say(session, f"hello <<usage {tokens} 0>>")
    sessions = api.client.sessions
    assert await sessions.family_costs([top.id]) == {top.id: pytest.approx(1_000 / 1e6)}
    child = await api.new_session(title="child", parent_id=top.id)
    grandchild = await api.new_session(title="grandchild", parent_id=child.id)
    await api.say(grandchild, "hello <<usage 10 0>>")
    costs = await sessions.family_costs([top.id, child.id, free.id, UNKNOWN, "../other"])
    assert costs == {top.id: pytest.approx(1_010 / 1e6), child.id: pytest.approx(10 / 1e6)}
    await api.say(top, "hello <<usage 1 0>>")
    assert await sessions.family_costs([top.id]) == {top.id: pytest.approx(1_011 / 1e6)}


async def test_what_is_archived_costs_apart_with_its_agents(api):
    top, other = await api.new_session(title="top"), await api.new_session(title="other")
    child = await api.new_session(title="child", parent_id=top.id)
    grandchild = await api.new_session(title="grandchild", parent_id=child.id)
    for session, tokens in ((top, 1000), (other, 100), (child, 10), (grandchild, 1)):
        await api.say(session, f"hello <<usage {tokens} 0>>")
    sessions = api.client.sessions
    assert await sessions.total_cost() == pytest.approx(1_111 / 1e6)
    assert await sessions.total_cost(is_archived=True) == 0
    await sessions.update(child.id, UpdateSession(archived=5))
    assert await sessions.total_cost() == pytest.approx(1_100 / 1e6)
    assert await sessions.total_cost(is_archived=True) == pytest.approx(11 / 1e6)
    assert await sessions.family_costs([top.id]) == {top.id: pytest.approx(1_000 / 1e6)}
    assert await sessions.family_costs([child.id], is_archived=True) == {child.id: pytest.approx(11 / 1e6)}


async def test_the_project_is_added_up_without_what_forks_copied(api):
    session = await api.new_session()
    await api.say(session, "hello <<usage 1000 200>>")
    fork = await api.client.sessions.fork(session.id, ForkSession())
    await api.client.sessions.wait_copied(fork.id)
    usage = await api.client.sessions.usage()
    assert (usage.sessions, usage.messages, [one.steps for one in usage.models.values()]) == (2, 2, [1])
    assert usage.cost - usage.hidden == pytest.approx(1_400 / 1e6)
    assert (await api.client.sessions.usage(fork.time.updated + 10**9)).sessions == 0


async def test_the_last_used_sessions_are_listed_alone(api):
    first, second = [await api.new_session() for _ in range(2)]
    await api.client.sessions.update(second.id, UpdateSession(archived=5))
    assert [info.id for info in await api.client.sessions.recent(5)] == [first.id]
    assert [info.id for info in await api.client.sessions.recent(5, True)] == [second.id]
    await api.client.sessions.update(second.id, UpdateSession(archived=0))
    assert [info.id for info in await api.client.sessions.recent(1)] == [second.id]


async def test_the_totals_of_a_fork_begin_with_it(api):
    source = await api.new_session()
    await api.say(source, "hello <<usage 1000 200>>")
    fork = await api.client.sessions.fork(source.id, ForkSession())
    await api.client.sessions.wait_copied(fork.id)
    assert (await api.client.sessions.totals(fork.id)).steps == 0
    await api.say(fork, "hello <<usage 500 0>>")
    totals = await api.client.sessions.totals(fork.id)
    assert (totals.steps, totals.input, totals.cost) == (1, 500, pytest.approx(500 / 1e6))


async def test_todos_are_those_that_the_agent_wrote(api):
    session = await api.new_session()
    todo = {"id": "1", "content": "think", "status": "pending", "priority": "high"}
    await api.say(session, f"<<tool todowrite {json.dumps({'todos': [todo]})}>>")
    assert [one.content for one in await api.client.sessions.todos(session.id)] == ["think"]


async def test_nothing_is_to_mend_where_nothing_died(api):
    await api.new_session()
    assert await api.client.sessions.recover_all() == 0


async def test_a_session_is_forked_as_the_preview_said(api):
    session = await api.new_session(title="X")
    await api.say(session, "one")
    await api.say(session, "two")
    boundary = ForkSession(message_id=(await api.client.messages.list(session.id))[2].info.id)
    preview = await api.client.sessions.preview_fork(session.id, boundary)
    fork = await api.client.sessions.fork(session.id, boundary)
    await api.client.sessions.wait_copied(fork.id)
    assert (preview.title, preview.messages, preview.directory) == (fork.title, 2, fork.directory)
    assert len(await api.client.messages.list(fork.id)) == 2
    with pytest.raises((NoSuchMessageError, NotFoundError), match="has no message"):
        await api.client.sessions.fork(session.id, ForkSession(message_id="msg_000000000000doesnotexist00"))


async def test_the_ids_of_messages_are_listed_in_their_order(api):
    session = await api.new_session()
    await api.say(session, "hello")
    listed = [message.info.id for message in await api.client.messages.list(session.id)]
    assert len(listed) == 2 and list(await api.client.messages.ids(session.id)) == listed
    outlines = await api.client.messages.outlines(session.id, [listed[1], "msg_of_nobody", listed[0]])
    assert [one.id for one in outlines] == [listed[1], "msg_of_nobody", listed[0]] and outlines[1].is_partial
