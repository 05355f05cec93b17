"""The sentence that the user reads of a failed request: the provider's own reason, then a remedy that works with this program.

An answer that is whole but no answer has one too: the model refused, or ended without a text or a call.
"""

from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.engine.provider.known_provider import find_known
from opencode_tui.schema.error import with_remedy
from opencode_tui.schema.session.stored_error import EMPTY, REFUSED, STOPPED, ApiData, StoredApiError

if TYPE_CHECKING:
    from opencode_tui.engine.provider.llm import FinishStep
    from opencode_tui.schema.session.message import AssistantMessage

_MAX_DETAIL = 600


class Advice(Struct, frozen=True):
    """The words for one cause. `lead` is put before the provider's reason, `phrase` replaces a reason that says nothing.

    `{p}` is the provider's ID, `{m}` that of the model, `{s}` its server on this machine with the command that starts it. Every
    command, key and setting in a remedy exists (tests/engine/provider/test_remedies.py).
    """

    phrase: str
    remedy: str
    lead: str = ""


_OTHER_MODEL = "switch the model (/models, or -m)"
_AGAIN = f"try again later, or {_OTHER_MODEL}"

ADVICE: dict[str, Advice] = {
    "auth": Advice("no reason given", "run `opencode-tui auth login {p}`", lead="rejected the API key: "),
    "aws": Advice(
        "no reason given",
        "renew the AWS credentials (`aws sso login`, or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN),"
        " then start opencode-tui again",
        lead="rejected the AWS credentials: ",
    ),
    "aws_settings": Advice(
        "no reason given",
        "correct `region` and `profile` in the options of {p}, or AWS_REGION and AWS_PROFILE, then start opencode-tui again",
    ),
    "no_resource": Advice(
        "no address is known",
        "set `resourceName` in the options of {p}, or AZURE_RESOURCE_NAME, then start opencode-tui again",
    ),
    "missing_part": Advice(
        "a Python package is missing",
        "install the package that has it into the environment of opencode-tui (for Vertex AI `pip install google-auth`), then start"
        " opencode-tui again",
    ),
    "google_login": Advice(
        "no reason given", "run `gcloud auth application-default login`", lead="rejected the Google credentials: "
    ),
    "permission": Advice(
        "the account has no permission for this request",
        f"give the key's account or project this permission at {{p}}, log in with another key (`opencode-tui auth login {{p}}`),"
        f" or {_OTHER_MODEL}",
    ),
    "verification": Advice(
        "the organization is not verified",
        f"verify your organization with {{p}} (takes effect within about 15 minutes), or {_OTHER_MODEL}",
    ),
    "region": Advice(
        "not available in this country or region", f"use a provider that serves your location: {_OTHER_MODEL}"
    ),
    "proxy": Advice(
        "the proxy requires a login",
        "put the proxy's user and password into HTTPS_PROXY, then start opencode-tui again",
    ),
    "quota": Advice(
        "no credit or quota is left",
        f"add credit or raise the limit in the billing settings of {{p}}, or {_OTHER_MODEL}",
        lead="quota exceeded: ",
    ),
    "daily_limit": Advice("the limit per day is used up", f"wait until the limit per day is reset, or {_OTHER_MODEL}"),
    "rate_limit": Advice("too many requests or tokens in a short time", f"wait a little, or {_OTHER_MODEL}"),
    "overloaded": Advice("the provider is overloaded", _AGAIN),
    "timeout": Advice("the provider did not answer in time", _AGAIN),
    "api": Advice("an error inside the provider", _AGAIN),
    "stream_truncated": Advice("the response was cut off", f"check the network and any proxy, or {_OTHER_MODEL}"),
    "network": Advice(
        "the provider cannot be reached", "check the network, any proxy, and provider.{p}.options.baseURL"
    ),
    "local": Advice("nothing listens at this address", "start {s}, or check provider.{p}.options.baseURL"),
    "process": Advice(
        "the process of litellm, through which this provider is called, does not work",
        f"read its log, reinstall opencode-tui if a part of it is missing, or {_OTHER_MODEL}",
    ),
    "no_address": Advice("no address is known", "set provider.{p}.options.baseURL"),
    "untrusted": Advice(
        "settings of this folder are ignored",
        "review them with `opencode-tui trust`, or put provider.{p} into your own settings",
    ),
    "overflow": Advice(
        "the request is too large",
        "run /compact, or switch to a model with a larger context (/models, or -m)",
        lead="the request exceeds the model's context window: ",
    ),
    "overflow_account": Advice(
        "the request is too large for this account",
        "run /compact, raise the account's limit at {p}, or switch the model (/models, or -m)",
        lead="the request exceeds the account's limit for one request: ",
    ),
    "output_limit": Advice(
        "more output was requested than the model can write",
        "set provider.{p}.models.{m}.limit.output to at most what the model allows",
    ),
    "media": Advice(
        "an image or document was rejected",
        "attach a smaller or another file; the rejected ones are left out from now on",
    ),
    "history": Advice(
        "the history of messages was rejected",
        "run /compact, which replaces old messages by a summary, or undo the last message with /undo",
    ),
    "tools": Advice(
        "the definition of a tool was rejected",
        "switch the tool off (tools.NAME: false in the settings; mcp.NAME.enabled: false for a server's tools),"
        f" or {_OTHER_MODEL}",
    ),
    "bad_call": Advice(
        "a tool or arguments that do not fit",
        f"send `continue`, or {_OTHER_MODEL}",
        lead="a tool call was rejected: ",
    ),
    "no_tools": Advice(
        "the model calls no tools", "switch to a model that calls tools (/models, or -m; `opencode-tui models {p}`)"
    ),
    "needs_responses": Advice(
        "the model calls tools through the Responses API only",
        "set provider.{p}.options.adapter: responses; where the address has no Responses, provider.{p}.models.{m}.options."
        "reasoning_effort: none calls tools without reasoning",
    ),
    "parameter": Advice(
        "an option of the request was rejected",
        "remove the option from provider.{p}.models.{m}.options and agent.NAME.options (null there removes a field that is always"
        " sent), or choose another variant (ctrl+t;"
        " --variant provider, or provider.{p}.models.{m}.variant: provider, sends none);"
        " provider.{p}.models.{m}.temperature: false stops sending a temperature",
    ),
    "model": Advice("the model is not available", f"{_OTHER_MODEL}; `opencode-tui models {{p}}` lists the known ones"),
    "access": Advice(
        "the account has no access to the model",
        f"request access to the model in the console of {{p}}, or {_OTHER_MODEL}",
    ),
    "profile": Advice(
        "the model needs an inference profile",
        "put the region's prefix before the model's ID, as in -m {p}/us.MODEL (or eu., apac., global.), or use the profile's ARN",
    ),
    "deployment": Advice(
        "there is no such deployment",
        "use the name of a deployment as the model's ID (provider.{p}.models.NAME, -m {p}/NAME),"
        " and check provider.{p}.options.baseURL",
    ),
    "privacy": Advice(
        "the privacy settings of the account exclude every endpoint of the model",
        f"change the privacy settings of the account at {{p}}, or {_OTHER_MODEL}",
    ),
    "invalid_prompt": Advice(
        "the provider's content filter stopped the request", f"rephrase the request, or {_OTHER_MODEL}"
    ),
    "refused": Advice(
        "the model refused to answer", f"take the request back with /undo and rephrase it, or {_OTHER_MODEL}"
    ),
    "empty": Advice("the model ended without an answer", f"send `continue`, or {_OTHER_MODEL}"),
    "uncalled": Advice("the model announced a tool call and sent none", f"send `continue`, or {_OTHER_MODEL}"),
    "stopped": Advice("the provider stopped the answer before its end", f"send `continue`, or {_OTHER_MODEL}"),
    "page": Advice(
        "a web page in place of a response",
        "check provider.{p}.options.baseURL, and the network: a proxy or a login page may have answered",
    ),
    "protocol": Advice("not a model response", "check provider.{p}.options.baseURL"),
    "address": Advice(
        "there is nothing at this address", "check provider.{p}.options.baseURL, or switch the model (/models, or -m)"
    ),
    "invalid_request": Advice(
        "the provider rejected the request",
        f"check provider.{{p}}.models.{{m}}.options, run /compact, or {_OTHER_MODEL}",
    ),
    "unknown": Advice("the provider reported an error without a message", _AGAIN),
}


def remedy_for(cause: str, provider_id: str, *, key_setting: str = "", model_id: str = "", tool: str = "") -> str:
    """Return the remedy for a cause.

    `key_setting` is the setting that a rejected key is from; `model_id` and `tool` are empty for any model and any tool.
    """
    if cause == "auth" and key_setting:
        return f"correct {key_setting} in your settings (it overrides keys saved by `opencode-tui auth login`)"
    remedy = ADVICE[cause].remedy
    if "{s}" in remedy:
        known = find_known(provider_id)
        remedy = remedy.replace("{s}", known.local.start if known and known.local else "the server")
    if tool:
        remedy = remedy.replace("tools.NAME:", f"tools.{tool}:")
    return remedy.replace("{p}", provider_id).replace("{m}", model_id or "MODEL")


def phrase_for(cause: str, generic: str) -> str:
    """Return our words for a cause whose reason says nothing more than a status, after that reason."""
    phrase = ADVICE[cause].phrase
    return f"{generic.rstrip('.!')}: {phrase}" if generic and generic.lower() not in phrase else phrase


def title_for(cause: str, provider_id: str) -> str:
    """Return what went wrong without the provider's reason."""
    lead = ADVICE[cause].lead.removesuffix(": ")
    return f"{provider_id} {lead}" if lead else provider_id


def sentence(cause: str, provider_id: str, detail: str, *, status: int = 0) -> str:
    """Return what went wrong: provider, reason and status, without the remedy."""
    lead = ADVICE[cause].lead
    separator = " " if lead.startswith("rejected") else ": "
    return f"{provider_id}{separator}{lead}{detail}{f' (HTTP {status})' if status else ''}"


def describe_end(info: "AssistantMessage", finish: "FinishStep | None", *, has_answer: bool = False) -> StoredApiError:
    """Return what is said of an answer: it was refused or stopped, with the provider's reason, or it is empty."""
    is_refused = info.finish == "content-filter"
    lacks_call = finish is not None and finish.lacks_call
    cause = "refused" if is_refused else "uncalled" if lacks_call else "stopped" if has_answer else "empty"
    said = " ".join(finish.said.split())[:_MAX_DETAIL] if finish is not None else ""
    detail = phrase_for(cause, "")
    text = sentence(cause, info.provider_id, f"{detail}: {said}" if said else detail)
    remedy = remedy_for(cause, info.provider_id)
    if finish is not None and finish.model:
        remedy = f"switch to {info.provider_id}/{finish.model}, which the provider recommends for it (/models, or -m), or {remedy}"
    code = {"refused": REFUSED, "stopped": STOPPED}.get(cause, EMPTY)
    return StoredApiError(data=ApiData(message=with_remedy(text, remedy), metadata={"code": code}))
