"""Actions that show facts on a page: cost, the check of the installation."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from opencode_tui.programs import python_command, python_environ
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.history import own_answers
from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.totals import SessionTotals
from opencode_tui.text.bars import AS_ASCII, bar
from opencode_tui.text.cells import pad
from opencode_tui.text.cost import budget_text, plan_text, plan_words
from opencode_tui.text.prefix import prefix_text
from opencode_tui.text.quantity import amount, money, plural
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.conversation.tools import FullText
from opencode_tui.tui.state.session_state import name_of
from opencode_tui.tui.theme.look import ASCII

EDGES = 6
"""Cells at the left and right of a text page."""

MOST_COSTS = 10
"""Sessions that the costs of all sessions name."""


@action("cost_view", loads="the cost")
async def view_cost(chat: Chat) -> None:
    """Show the requests, tokens and cost of the shown session; without one, what all sessions of the project cost."""
    from opencode_tui.text.time_shares import shares_table, time_shares  # loads on demand

    client, sessions = chat.control.client, chat.control.folder.sessions
    if chat.control.facts is None and sessions:
        costs = all_costs_text(sessions, await client.sessions.costs())
        _show_cost(chat, lambda _room: costs)
        return
    info = chat.shown_session()
    if info is None:
        return
    session_id = info.id
    messages = await client.messages.list(session_id)
    totals = await client.sessions.totals(session_id)
    shares = shares_table(await asyncio.to_thread(time_shares, messages), _BAR)
    answers = list(own_answers(info, (one.info for one in messages)))
    plan = plan_text(answers)
    if plan:
        current = next((one for one in await client.sign_ins.accounts() if one.is_current), None)
        plan = plan_text(answers, current.label if current else "")
    try:
        view = await client.context.items(session_id)
    except OpencodeError as error:  # the agent or the model of the session is gone
        more = [f"Budget and prefix are not known: {error}"]
    else:
        more = [one for one in (budget_text(view.budgets), prefix_text(view.prefix, chat.control.now())) if one]
    below = [*filter(None, [shares, plan]), *more]
    _show_cost(chat, lambda room: "\n\n".join([cost_text(answers, totals, room), *below]))


def _show_cost(chat: Chat, fit: Callable[[int], str]) -> None:
    """Show costs that `fit` returns for a width in cells, again after each resize."""

    def drawn(room: int) -> str:
        return fit(room).translate(AS_ASCII) if chat.app.look.glyphs is ASCII else fit(room)

    chat.open_text(FullText("Cost", drawn(chat.app.size.width - EDGES), fit=drawn))


@action("doctor_view", loads="what doctor finds")
async def view_doctor(chat: Chat) -> None:
    """Check the installation and show the report."""
    if not chat.control.is_alone:
        chat.show_note("note", "Not available here", "run `opencode-tui doctor` on the server")
        return
    folder = chat.control.client.directory
    if not await asyncio.to_thread(os.path.isdir, folder):
        raise OpencodeError(f"{folder} no longer exists; quit, and start in another folder")
    process = await asyncio.create_subprocess_exec(
        *python_command("-m", "opencode_tui", "doctor"),
        cwd=folder,
        env={**python_environ(os.environ, Path(folder)), "NO_COLOR": "1"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        raise
    chat.open_text(FullText("Doctor", output.decode("utf-8", "replace").rstrip()))


def cost_text(answers: Sequence[AssistantMessage], totals: SessionTotals, room: int) -> str:
    """Return the requests, tokens and cost of a session by model, and the totals with its subagent sessions.

    In less than `room` cells the figures of a model follow on a row of their own.
    """
    rows: dict[str, list[Decimal]] = {}
    for info in answers:
        row = rows.setdefault(f"{info.provider_id}/{info.model_id}", [Decimal(0)] * 5)
        cached = info.tokens.cache.read + info.tokens.cache.write
        figures = (1, info.tokens.input, info.tokens.output, cached, Decimal(str(info.cost)))
        rows[f"{info.provider_id}/{info.model_id}"] = [a + b for a, b in zip(row, figures, strict=True)]
    width = max([len("with subagents"), *(len(name) for name in rows)]) + 2
    plans = {name: plan_words(name.partition("/")[0]) for name, row in rows.items() if not row[4]}
    last = max([9, *(len(plan) + 2 for plan in plans.values())])
    figure = 10 if width + 40 + last <= room else 9
    is_broken = width + 4 * figure + last > room

    def line(name: str, steps: object, given: str, answered: str, cached: str, cost: str) -> str:
        figures = "".join(pad(text, figure, is_right=True) for text in (str(steps), given, answered, cached))
        return (f"{name}\n" if is_broken else pad(name, width)) + figures + pad(cost, last, is_right=True)

    highest = max((float(row[4]) for row in rows.values()), default=0.0)
    lines = [line("Model", "requests", "input", "output", "cached", "cost")]
    for name, (steps, given, answered, cached, cost) in rows.items():
        tokens = (amount(int(given)), amount(int(answered)), amount(int(cached)))
        has_room = is_broken or width + 4 * figure + last + 2 + _BAR <= room
        drawn = f"  {bar(float(cost), highest, _BAR)}" if len(rows) > 1 and highest and has_room else ""
        lines.append(line(name, int(steps), *tokens, plans.get(name) or money(cost)) + drawn)
    paid = next(filter(None, plans.values()), "") if not totals.cost else ""
    sums = (amount(totals.input), amount(totals.output), amount(totals.cached), paid or money(totals.cost))
    return "\n".join([*lines, "", line("with subagents", totals.steps, *sums)])


def all_costs_text(sessions: Mapping[str, ListedSession], costs: Mapping[str, float]) -> str:
    """Return what the sessions cost in all, and the most expensive ones with their subagent sessions."""
    sums: dict[str, Decimal] = {}
    for session_id, cost in costs.items():
        root = _root(session_id, sessions)
        sums[root] = sums.get(root, Decimal(0)) + Decimal(str(cost))
    count = sum(_root(one, sessions) == one for one in sessions)
    lines = [f"{plural(count, 'session')} of this project cost {money(sum(sums.values(), Decimal(0)))}"]
    most = sorted((one for one in sums.items() if one[0] in sessions), key=lambda one: -one[1])[:MOST_COSTS]
    highest = float(most[0][1]) if most else 0.0
    lines += ["", *(_cost_row(cost, highest, name_of(sessions[one])[1]) for one, cost in most)]
    return "\n".join([*lines, "", "By model and tool: opencode-tui stats"])


_BAR = 12
"""Cells of the longest bar."""


def _cost_row(cost: Decimal, highest: float, name: str) -> str:
    return f"{pad(money(cost), 12, is_right=True)}  {pad(bar(float(cost), highest, _BAR), _BAR)}  {name}"


def _root(session_id: str, sessions: Mapping[str, ListedSession]) -> str:
    """Return the session that a subagent session works for in the end, itself for any other."""
    while (info := sessions.get(session_id)) is not None and info.parent_id in sessions:
        session_id = info.parent_id
    return session_id
