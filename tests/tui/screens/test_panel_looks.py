"""Pictures of login, memory, rules, pages of facts, marks and trash in the list of sessions, export and import."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from opencode_tui.schema.api.catalog import ProviderSummary
from opencode_tui.schema.api.context import BudgetUse, ContextView, PrefixChange, PrefixView
from opencode_tui.schema.api.grants import PermissionRules, StoredGrant
from opencode_tui.schema.api.importing import ImportStore
from opencode_tui.schema.api.sign_in import SignInAccount
from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.session.prefix import PrefixBreak
from opencode_tui.schema.totals import SessionTotals
from opencode_tui.tui.conversation.tools import FullText
from tests.support.terminal.conversation import ROOT, SESSION
from tests.support.terminal.scripted_client import Script
from tests.tui.screens.test_looks import (
    DARK,
    HOUR,
    LIGHT,
    MINUTE,
    NOW_MS,
    PLAIN,
    Act,
    Situation,
    chat_of,
    idle,
    listen,
    opened_app,
    press,
    write,
)
from tests.tui.screens.test_page_looks import many_sessions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("jumping_clock")]

OWN = "/home/you/.config/opencode-tui/opencode.json"
DOCTOR = """\
ok    store     /home/you/.local/share/opencode-tui (version 3)
ok    git       2.39.5
ok    undo      recorded for /home/you/src/csvkit
warn  sandbox   bubblewrap is missing: commands run in Landlock only; install bubblewrap
fail  settings  opencode.json line 4: 'modle' is not a setting; did you mean 'model'?
"""


def sent(text: str, *after: Act) -> Act:
    """Send a text, then do the rest."""

    async def act(pilot: Pilot[Any]) -> None:
        await write(text)(pilot)
        await press("enter")(pilot)
        for one in after:
            await one(pilot)

    return act


async def doctor(pilot: Pilot[Any]) -> None:
    """Show what the check of the installation printed."""
    chat_of(pilot).open_text(FullText("Doctor", DOCTOR))
    await pilot.pause(0.2)


def providers() -> Script:
    """Providers with and without a key."""
    script = idle()
    names = {
        "anthropic": "Anthropic",
        "openai": "OpenAI",
        "groq": "Groq",
        "cohere": "Cohere",
        "github-copilot": "GitHub Copilot",
    }
    names["zhipu"] = "智谱 AI"
    script.providers = [
        ProviderSummary(id=name, name=shown, is_ready=name == "anthropic") for name, shown in names.items()
    ]
    return script


def accounts() -> Script:
    """Accounts of ChatGPT, two with the same address, and the address of a sign-in."""
    script = providers()
    script.accounts = [
        SignInAccount(id="a", label="ada@example.com", is_signed_in=True, is_current=True, may_use_plan=True),
        SignInAccount(id="b", label="ada@example.com (2)", is_signed_in=True, is_current=False, may_use_plan=False),
        SignInAccount(
            id="c",
            label="bob@example.com",
            is_signed_in=False,
            is_current=False,
            may_use_plan=True,
            ended="invalid_grant",
        ),
    ]
    return script


def signing_in() -> Script:
    """The address of a sign-in."""
    script = providers()
    script.sign_in_url = (
        "https://auth.openai.com/api/accounts/authorize?response_type=code&client_id=dynamic_agent_client&redirect_uri="
        "http%3A%2F%2F127.0.0.1%3A1455%2Fauth%2Fcallback&scope=openid+profile+email+offline_access+resource.invoke+"
        "chatgpt.tokens.use.direct&resource=https%3A%2F%2Fapi.openai.com%2Fv1&state=VNy6lXrR&nonce=Xg25wobj&"
        "code_challenge=9p9M3Rhp8SqeU64ZxuPOLQ436&code_challenge_method=S256"
    )
    return script


def facts() -> Script:
    """A session's totals, rules of several places, settings with a warning."""
    script = idle()
    script.totals = SessionTotals(steps=14, input=410_000, output=18_200, cached=352_000, cost=0.47)
    rules: list[tuple[str, str, Any, str]] = [
        ("bash", "*", "allow", ""),
        ("bash", "git push *", "ask", OWN),
        ("edit", "*", "allow", ""),
        ("edit", "src/csvkit/generated/*", "deny", f"{ROOT}/opencode.json"),
    ]
    script.rules = PermissionRules(
        agent="build",
        rules=[Rule(permission=name, pattern=pattern, action=action) for name, pattern, action, _ in rules],
        sources=[source for *_, source in rules],
        stored=[
            StoredGrant(
                permission="bash",
                pattern=pattern,
                action="allow",
                is_on=is_on,
                is_outside=outside,
                used=used,
                last_used=NOW_MS,
            )
            for pattern, is_on, outside, used in (
                ("npm install *", True, True, 14),
                ("gh pr *", False, False, 3),
                ("make test", True, False, 0),
            )
        ],
        grants=[Rule(permission="bash", pattern="npm install *", action="allow")],
    )
    script.settings = {"model": "anthropic/claude-sonnet-4", "permission": {"bash": {"git push *": "ask"}}}
    model = ModelRef(provider_id="anthropic", model_id="claude-sonnet-4")
    script.context = ContextView(session_id=SESSION, model=model, agent="build", tokens=104_000)
    return script


def budgeted() -> Script:
    """A session with budgets, whose requests did not always start with the one before."""
    script = facts()
    model = ModelRef(provider_id="anthropic", model_id="claude-sonnet-4")
    lost = PrefixBreak(
        message_id="msg_1", time=NOW_MS, model=str(model), cause="an output was pruned", place="message 8 (result)",
        kept=90_000, lost=48_000, tokens=12_000, cost=0.0324,
    )  # fmt: skip
    switched = lost.changed(cause=f"the model changed from openai/gpt-5 to {model}", place="the system text", cost=None)
    rules = PrefixChange(name=f"instruction:{ROOT}/AGENTS.md", text="…")
    prefix = PrefixView(
        since=NOW_MS, pending=[rules], requests=14, breaks=[lost, switched], lost_tokens=24_000, lost_cost=0.0324
    )
    budgets = [BudgetUse(scope="session", limit=5, spent=0.47), BudgetUse(scope="day", limit=20, spent=3.2)]
    script.context = ContextView(
        session_id=SESSION, model=model, agent="build", tokens=104_000, prefix=prefix, budgets=budgets
    )
    return script


def trash() -> Script:
    """Deleted sessions of two days."""
    script = many_sessions()

    def gone(name: str, title: str, ago: int, *more: str, size: int) -> TrashedSession:
        return TrashedSession(
            name=name, session_ids=[name, *more], title=title, project_id="p", directory=ROOT,
            updated=NOW_MS - ago - HOUR, deleted=NOW_MS - ago, messages=len(more) * 4 + 6, bytes=size,
        )  # fmt: skip

    script.trash = [
        gone("ses_a", "Try another parser", 4 * MINUTE, "ses_b", size=48_000),
        gone("ses_c", "CHANGELOG を自動生成する", 2 * HOUR, size=2_400_000),
        gone("ses_d", "", 30 * HOUR, size=900),
    ]
    return script


def stores() -> Script:
    """Stores of four programs."""
    script = idle()
    found: list[tuple[Any, str, str, int, int]] = [
        ("opencode", "OpenCode 1.1", "/home/you/.local/share/opencode/storage", 214, 212),
        ("opencode", "OpenCode 1.18", "/home/you/.local/share/opencode/opencode.db", 96, 96),
        ("claude", "Claude Code", "/home/you/.claude/projects", 431, 431),
        ("codex", "Codex", "/home/you/.codex/sessions", 57, 0),
    ]
    script.stores = [
        ImportStore(tool=tool, label=label, path=path, sessions=count, new=new)
        for tool, label, path, count, new in found
    ]
    return script


MARKED = press("ctrl+x", "l", "down", "space", "down", "down", "space")
TRASH = press("ctrl+x", "l", "ctrl+t", "ctrl+t", "down")

CONTINUE = (*"with", "space", *"chatgpt", "enter")
"""Keys that choose ChatGPT in the list of providers."""

SITUATIONS: dict[str, Situation] = {
    "login-providers": Situation(providers, (110, 30), DARK, sent("/login")),
    "login-providers-light-in-60-columns": Situation(providers, (60, 30), LIGHT, sent("/login")),
    "login-key": Situation(providers, (110, 30), DARK, sent("/login", press(*"anthr", "enter"), press(*"sk-secret"))),
    "login-in-the-browser": Situation(signing_in, (110, 30), DARK, sent("/login", press(*CONTINUE))),
    "login-in-the-browser-light-in-60-columns": Situation(
        signing_in, (60, 24), LIGHT, sent("/login", press(*CONTINUE))
    ),
    "login-accounts": Situation(accounts, (110, 30), DARK, sent("/login", press(*CONTINUE))),
    "login-sign-out": Situation(accounts, (110, 30), LIGHT, sent("/login", press(*CONTINUE, "ctrl+d"), listen())),
    "login-copilot": Situation(providers, (110, 30), DARK, sent("/login", press(*"copil", "enter"), listen())),
    "memory": Situation(idle, (60, 30), LIGHT, sent("/memory")),
    "rule-preview": Situation(idle, (110, 30), DARK, sent("# Never edit generated files", listen())),
    "rule-preview-light-in-60-columns": Situation(
        idle, (60, 30), LIGHT, sent("# Run `pytest -q` before every commit and name the failures", listen())
    ),
    "cost": Situation(facts, (100, 24), DARK, sent("/cost")),
    "cost-with-budgets": Situation(budgeted, (110, 26), DARK, sent("/cost")),
    "permissions-light-in-160-columns": Situation(facts, (160, 24), LIGHT, sent("/permissions")),
    "permissions-in-60-columns": Situation(facts, (60, 24), DARK, sent("/permissions")),
    "settings": Situation(facts, (60, 24), LIGHT, sent("/config")),
    "doctor": Situation(idle, (100, 24), DARK, doctor),
    "sessions-with-marks": Situation(many_sessions, (140, 35), DARK, MARKED),
    "sessions-with-marks-in-60-columns-and-ascii": Situation(many_sessions, (60, 35), PLAIN, MARKED),
    "trash-light": Situation(trash, (140, 30), LIGHT, TRASH),
    "export-formats": Situation(idle, (100, 30), DARK, press("ctrl+x", "x")),
    "import": Situation(stores, (100, 24), DARK, sent("/import", press("down", "space"))),
    "import-light-in-60-columns": Situation(stores, (60, 24), LIGHT, sent("/import")),
    "recent-session-chosen": Situation(idle, (110, 30), DARK, press("down", "down"), is_new=True),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_look(name: str, snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/you")
    app, act = opened_app(SITUATIONS[name])
    assert snap_compare(app, terminal_size=SITUATIONS[name].size, run_before=act)
