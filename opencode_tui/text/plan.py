"""What of a session counts into a plan, in words."""

from collections.abc import Iterable

from opencode_tui.schema.api.sign_in import USAGE_PAGE
from opencode_tui.schema.session.message import AnyMessage, AssistantMessage
from opencode_tui.schema.session.stored_error import has_reached_plan
from opencode_tui.text.quantity import amount, plan_words, plural


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
