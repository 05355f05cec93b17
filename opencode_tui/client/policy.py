"""How permission requests are answered. A command on the engine of another terminal needs this much of the engine."""

from typing import Literal

from opencode_tui.engine.permission.policy import AskPerson, Policy, RefuseQuestions

__all__ = ["AskPerson", "Policy", "choose_policy"]


def choose_policy(*, auto: Literal["inside", "outside"] | None, has_terminal: bool) -> Policy:
    """Return how permission requests are answered: by a user, not at all, or automatically (inside the sandbox or also outside)."""
    otherwise: Policy = AskPerson() if has_terminal else RefuseQuestions()
    return otherwise if auto is None else otherwise.automatic(outside=auto == "outside")
