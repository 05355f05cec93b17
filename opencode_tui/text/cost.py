"""What a session costs, its budgets, and what of it counts into a plan, in words."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from opencode_tui.schema.api.sign_in import USAGE_PAGE
from opencode_tui.schema.session.message import AnyMessage, AssistantMessage
from opencode_tui.schema.session.stored_error import has_reached_plan
from opencode_tui.text.quantity import amount, money, plural

if TYPE_CHECKING:
    from opencode_tui.schema.api.context import BudgetUse


def cost_words(spent: Decimal | float, budget: float, provider_id: str = "", *, is_reached: bool = False) -> str:
    """Return what a session costs, with its budget in USD if that is not 0, and the plan that pays for the model; empty without.

    With `is_reached` the limit of the plan is reached.
    """
    cost = f"{money(spent)} of {money(budget)}" if budget else money(spent) if spent else ""
    plan = plan_words(provider_id)
    reached = ": limit reached" if plan and is_reached else ""
    return " + ".join(word for word in (cost, f"{plan}{reached}") if word)


def plan_words(provider_id: str) -> str:
    """Return the plan into which the usage of a provider counts, in the place of money; empty for one that is paid by use."""
    return "your ChatGPT plan" if provider_id == "chatgpt" else ""


def budget_text(budgets: "Sequence[BudgetUse]") -> str:
    """Return a line for each budget."""
    return "\n".join(
        f"Budget of {'this session' if one.scope == 'session' else 'today'}: {money(one.spent)} of {money(one.limit)}"
        for one in budgets
    )


def plan_text(messages: Iterable[AnyMessage], account: str = "") -> str:
    """Return what of a session counts into a plan, and where its usage is managed; empty if nothing does.

    `account` is the label of the account that is in use. The route reports the end of a plan, and no usage that is left.
    """
    answers = [one for one in messages if isinstance(one, AssistantMessage) and plan_words(one.provider_id)]
    if not answers:
        return ""
    read = sum(one.tokens.prompt for one in answers)
    written = sum(one.tokens.output for one in answers)
    count = plural(len(answers), "request")
    lines = [
        f"Your ChatGPT plan: {count} of this session, {amount(read)} tokens in, {amount(written)} out.",
        *([f"Account in use: {account}."] if account else []),
        f"OpenAI reports no remaining usage to programs; {USAGE_PAGE} shows it and limits it.",
    ]
    if has_reached_plan(answers[-1].failure):
        lines.append("The limit is reached: raise it there, or choose another model (/models).")
    return "\n".join(lines)
