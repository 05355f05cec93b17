"""The models that an account may use: the answer of `GET /v1/models`, which is not OpenAI's usual list.

    {"models": [{slug, display_name, visibility, context_window, supported_reasoning_levels: [{effort}], default_reasoning_level,
                 input_modalities}]}

Source: developers.openai.com/siwc/token-sharing-open-source/models-and-inference.
Models of another visibility than `list` are left out;
the order counts.
"""

from opencode_tui.config.auth import CHATGPT
from opencode_tui.engine.provider.chatgpt.accounts import Account, Accounts, models_of
from opencode_tui.engine.provider.chatgpt.service import AnswerLostError, NotSentError, Service, ask, sign_in_again
from opencode_tui.engine.provider.decode.response import as_count, as_list, as_text
from opencode_tui.engine.provider.provider import Endpoint, Provider
from opencode_tui.schema.api.catalog import ProviderSummary
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.model import Cost, Limit, Model
from opencode_tui.schema.record import JsonObject

NAME = "ChatGPT plan"
MAX_AGE_S = 86_400
"""Seconds after which the list is read again."""

_FIELDS = (
    "slug",
    "display_name",
    "context_window",
    "supported_reasoning_levels",
    "default_reasoning_level",
    "input_modalities",
)


def read_models(accounts: Accounts, account: Account) -> bool:
    """Return whether the models of an account were read and stored. Blocks for a request."""
    try:
        answer = ask(f"{accounts.service.api}/models", token=account.access_token)
    except (NotSentError, AnswerLostError):
        return False
    listed = [as_object(one) for one in as_list((answer.body or {}).get("models"))]
    shown = [one for one in listed if one.get("visibility") == "list" and as_text(one.get("slug"))]
    if answer.status != 200 or not shown:
        return False
    accounts.store_models(account, [{name: one[name] for name in _FIELDS if name in one} for one in shown])
    return True


class ChatGptProvider(Provider):
    """The provider `chatgpt`: the models of the account in use. No setting sends its tokens to another address."""

    entry: JsonObject = {}  # noqa: RUF012 - replaced for each instance, directly after it was made
    service: Service = Service()

    @property
    def is_ready(self) -> bool:
        """Whether an account is signed in that may use its plan."""
        return self._stored_key() is not None

    @property
    def has_address(self) -> bool:
        """Whether requests can reach it."""
        return True

    def summary(self) -> ProviderSummary:
        """Return a summary without tokens."""
        return ProviderSummary(
            id=self.id, name=NAME, source="api", is_ready=self.is_ready, default_model=self.preferred_model(),
            base_url=self.service.api,
        )  # fmt: skip

    def model_ids(self) -> list[str]:
        """Return the models of the account, in the order of the catalog."""
        return [name for one in models_of(self.entry) if self._is_allowed(name := as_text(one.get("slug")))]

    def model(self, model_id: str) -> Model | None:
        """Return one model, None for one that the account does not have."""
        found = next((one for one in models_of(self.entry) if one.get("slug") == model_id), None)
        if found is None or not self._is_allowed(model_id):
            return None
        levels = [as_text(as_object(one).get("effort")) for one in as_list(found.get("supported_reasoning_levels"))]
        default = as_text(found.get("default_reasoning_level"))
        model = Model(
            provider_id=self.id,
            model_id=model_id,
            name=as_text(found.get("display_name")) or model_id,
            adapter="chatgpt",
            api_id=model_id,
            limit=Limit(context=as_count(found.get("context_window"))),
            cost=Cost(is_known=True),
            reasoning=any(level not in ("", "none") for level in levels),
            attachment="image" in as_list(found.get("input_modalities")),
            temperature=False,
            variants={level: {"reasoningEffort": level} for level in levels if level},
            default_variant=default if default and default in levels else None,
        )
        return self._with_settings(model, self._own_models.get(model_id) or {})

    def preferred_model(self) -> str | None:
        """Return the first model of the catalog."""
        return next(iter(self.model_ids()), None)

    def endpoint(self) -> Endpoint:
        """Return the address and the access token as it is now. Raises AuthError when no one is signed in."""
        token = self._stored_key()
        if token is None:
            raise sign_in_again("nobody is signed in who may use a plan")
        return Endpoint(provider_id=CHATGPT, base_url=self.service.api, api_key=token)
