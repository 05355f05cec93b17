"""Actions that show facts on a page: cost, permission rules, settings, the check of the installation."""

import asyncio
import json
import os
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from opencode_tui.programs import python_command, python_environ
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.permission import PermissionRules, Rule
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.totals import SessionTotals
from opencode_tui.text.cells import pad
from opencode_tui.text.permission import short_source
from opencode_tui.text.plan import plan_text
from opencode_tui.text.prefix import budget_text, prefix_text
from opencode_tui.text.quantity import amount, money, plan_words, plural
from opencode_tui.tui.conversation.tools.tool import FullText
from opencode_tui.tui.screen_api import ChatApi
from opencode_tui.tui.state.controller import SessionController


class FactActions(Struct, frozen=True):
    """Loads the facts and shows them as text."""

    screen: ChatApi
    control: SessionController

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {
            "cost_view": lambda: self.screen.do(self._cost()),
            "permissions_view": lambda: self.screen.do(self._permissions()),
            "config_view": lambda: self.screen.do(self._settings()),
            "doctor_view": lambda: self.screen.do(self._doctor()),
        }

    async def _cost(self) -> None:
        session_id = self.control.session_id
        if session_id is None:
            self.screen.show_note("note", "No session yet", "send a message to start one")
            return
        client = self.control.client
        messages = await client.messages.list(session_id)
        text = cost_text(messages, await client.sessions.totals(session_id))
        plan = plan_text(one.info for one in messages)
        if plan:
            current = next((one for one in await client.sign_ins.accounts() if one.is_current), None)
            plan = plan_text((one.info for one in messages), current.label if current else "")
        try:
            view = await client.context.items(session_id)
        except OpencodeError as error:  # the agent or the model of the session is gone
            more = [f"Budget and prefix are not known: {error}"]
        else:
            more = [one for one in (budget_text(view.budgets), prefix_text(view.prefix)) if one]
        self.screen.open_text(FullText("Cost", "\n\n".join([text, *filter(None, [plan]), *more])))

    async def _permissions(self) -> None:
        rules = await self.control.client.rules.list(self.control.choice.agent)
        places = await self.control.client.project.places()
        self.screen.open_text(FullText("Permissions", rules_text(rules, places)))

    async def _settings(self) -> None:
        settings = await self.control.client.settings.effective()
        lines = [json.dumps(settings, indent=2, ensure_ascii=False)]
        for head, entries in (("Warnings", self.control.warnings), ("Inactive", self.control.ignored)):
            lines += ["", head, *(f"  {' '.join(one.split())}" for one in entries)] if entries else []
        self.screen.open_text(FullText("Settings", "\n".join(lines)))

    async def _doctor(self) -> None:
        if not self.control.is_alone:
            self.screen.show_note("note", "Not available here", "run `opencode-tui doctor` on the server")
            return
        self.screen.show_note("note", "Checking the installation")
        process = await asyncio.create_subprocess_exec(
            *python_command("-m", "opencode_tui", "doctor"),
            cwd=self.control.client.directory,
            env={**python_environ(os.environ), "NO_COLOR": "1"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        self.screen.clear_note()
        self.screen.open_text(FullText("Doctor", output.decode("utf-8", "replace").rstrip()))


def cost_text(messages: Sequence[MessageWithParts], totals: SessionTotals) -> str:
    """Return the requests, tokens and cost of a session by model, and the totals with its subagent sessions."""
    rows: dict[str, list[Decimal]] = {}
    for message in messages:
        info = message.info
        if isinstance(info, AssistantMessage):
            row = rows.setdefault(f"{info.provider_id}/{info.model_id}", [Decimal(0)] * 5)
            cached = info.tokens.cache.read + info.tokens.cache.write
            figures = (1, info.tokens.input, info.tokens.output, cached, Decimal(str(info.cost)))
            rows[f"{info.provider_id}/{info.model_id}"] = [a + b for a, b in zip(row, figures, strict=True)]
    width = max([len("with subagents"), *(len(name) for name in rows)]) + 2
    plans = {name: plan_words(name.partition("/")[0]) for name, row in rows.items() if not row[4]}
    last = max([12, *(len(plan) + 2 for plan in plans.values())])

    def line(name: str, steps: object, given: str, answered: str, cached: str, cost: str) -> str:
        figures = "".join(pad(text, 12, is_right=True) for text in (str(steps), given, answered, cached))
        return pad(name, width) + figures + pad(cost, last, is_right=True)

    lines = [line("Model", "requests", "input", "output", "cached", "cost")]
    for name, (steps, given, answered, cached, cost) in rows.items():
        tokens = (amount(int(given)), amount(int(answered)), amount(int(cached)))
        lines.append(line(name, int(steps), *tokens, plans.get(name) or money(cost)))
    paid = next(filter(None, plans.values()), "") if not totals.cost else ""
    sums = (amount(totals.input), amount(totals.output), amount(totals.cached), paid or money(totals.cost))
    return "\n".join([*lines, "", line("with subagents", totals.steps, *sums)])


def rules_text(rules: PermissionRules, places: Places) -> str:
    """Return the rules of an agent, of which the last match wins, and what is always allowed in this project."""
    sources = [*rules.sources, *[""] * len(rules.rules)]
    lines = [f"Rules for agent {rules.agent} (last match wins)"]
    lines += [_rule(one, source, places) for one, source in zip(rules.rules, sources, strict=False)]
    lines += ["", f"Always allowed in this project ({plural(len(rules.grants), 'rule')})"]
    lines += [_rule(one, "", places) for one in rules.grants]
    return "\n".join([*lines, "", "Revoke one:", "  opencode-tui permission revoke PERMISSION PATTERN"])


def _rule(rule: Rule, source: str, places: Places) -> str:
    row = f"  {pad(rule.action, 7)}{pad(rule.permission, 20)}{pad(rule.pattern, 40)} {short_source(source, places)}"
    return row.rstrip()  # the action first: a narrow window cuts the end
