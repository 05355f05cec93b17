"""Strict readers of chat-completion requests, one for each provider: a field that its SDK's types do not have is rejected.

The order and pairing of messages is checked by `strict_openai`. Sources: the types of the packages named beside each provider,
or its reference where it has no package.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.provider import reasoning_efforts, strict_openai

_COMMON = frozenset(
    {
        "model",
        "messages",
        "stream",
        "temperature",
        "top_p",
        "max_tokens",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "stop",
    }
)
_TOOL = frozenset({"name", "description", "parameters", "strict"})


@dataclass(frozen=True)
class Rules:
    """What a provider accepts: `fields` of the body, `thoughts` of an assistant message, `parts` of the user's content."""

    fields: frozenset[str]
    thoughts: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset({"text", "image_url"})
    roles: frozenset[str] = frozenset({"system", "user", "assistant", "tool"})
    cache_marks: bool = False
    efforts: frozenset[str] = field(default_factory=frozenset)
    needs_thoughts: str = ""
    """Whether each answer needs `reasoning_content`: `any`, also an empty one, or `filled`; empty for no."""


def _rules(*fields: str, **more: Any) -> Rules:
    return Rules(_COMMON | frozenset(fields), **{name: _frozen(value) for name, value in more.items()})


def _frozen(value: Any) -> Any:
    return frozenset(value) if isinstance(value, set) else value


RULES: Mapping[str, Rules] = {
    # PyPI mistralai 3.7.0: models/chatcompletionstreamrequest.py, assistantmessage.py, contentchunk.py. The server on other fields:
    # {"type": "extra_forbidden", "loc": ["body", "stream_options", "include_usage"]} (avante-corp/avante.nvim#2347).
    "mistral": _rules(
        *("random_seed", "metadata", "response_format", "presence_penalty", "frequency_penalty", "n", "prediction"),
        *("reasoning_effort", "prompt_mode", "prompt_cache_key", "service_tier", "safe_prompt"),
        efforts={"none", "low", "medium", "high"},
    ),
    # PyPI groq 1.7.0: types/chat/completion_create_params.py, chat_completion_assistant_message_param.py,
    # chat_completion_content_part_param.py.
    "groq": _rules(
        *(
            "max_completion_tokens",
            "reasoning_effort",
            "reasoning_format",
            "include_reasoning",
            "response_format",
            "seed",
            "user",
        ),
        *("service_tier", "store", "metadata", "n", "logprobs", "top_logprobs", "logit_bias", "presence_penalty"),
        thoughts={"reasoning"},
        efforts={"none", "default", "low", "medium", "high"},
    ),
    # PyPI perplexityai 0.46.1: types/chat/completion_create_params.py, shared_params/chat_message_input.py.
    "perplexity": _rules(
        *(
            "reasoning_effort",
            "response_format",
            "web_search_options",
            "search_mode",
            "disable_search",
            "top_k",
            "stream_mode",
        ),
        efforts={"minimal", "low", "medium", "high"},
    ),
    # PyPI openrouter 1.3.84: components/chatrequest.py, chatassistantmessage.py, chatcontentitems.py; reasoning_content as in
    # https://openrouter.ai/docs/use-cases/reasoning-tokens (another name of reasoning).
    "openrouter": _rules(
        *(
            "stream_options",
            "max_completion_tokens",
            "reasoning",
            "reasoning_effort",
            "provider",
            "models",
            "plugins",
            "user",
        ),
        *("prompt_cache_key", "session_id", "metadata", "response_format", "seed", "service_tier", "top_k", "usage"),
        thoughts={"reasoning", "reasoning_details", "reasoning_content"},
        parts={"text", "image_url", "file", "input_audio", "video_url"},
        roles={"system", "developer", "user", "assistant", "tool"},
        cache_marks=True,
    ),
    # https://docs.x.ai/docs/api-reference#chat-completions
    "xai": _rules(
        *(
            "stream_options",
            "max_completion_tokens",
            "reasoning_effort",
            "response_format",
            "seed",
            "user",
            "search_parameters",
        ),
        *("deferred", "logprobs", "top_logprobs", "n", "presence_penalty", "frequency_penalty"),
        thoughts={"reasoning_content"},
        efforts={"none", "low", "medium", "high", "xhigh"},
    ),
    # https://api-docs.deepseek.com/api/create-chat-completion and /guides/thinking_mode: content is text.
    "deepseek": _rules(
        *("stream_options", "thinking", "reasoning_effort", "response_format", "logprobs", "top_logprobs", "user_id"),
        *("presence_penalty", "frequency_penalty"),
        thoughts={"reasoning_content"},
        parts={"text"},
        efforts={"low", "medium", "high", "max"},
        needs_thoughts="any",
    ),
    # https://platform.kimi.ai/docs/api/chat; on the thoughts: theopenco/llmgateway#2093, MoonshotAI/kimi-cli#2498.
    "moonshotai": _rules(
        *("stream_options", "thinking", "reasoning_effort", "response_format", "prompt_cache_key", "safety_identifier"),
        *("max_completion_tokens", "n", "presence_penalty", "frequency_penalty"),
        thoughts={"reasoning_content"},
        parts={"text", "image_url", "file"},
        efforts={"low", "high", "max"},
        needs_thoughts="filled",
    ),
    # PyPI cerebras_cloud_sdk 1.91.0: types/chat/completion_create_params.py.
    "cerebras": _rules(
        *(
            "stream_options",
            "max_completion_tokens",
            "reasoning_effort",
            "reasoning_format",
            "response_format",
            "seed",
            "user",
        ),
        *("prompt_cache_key", "service_tier", "clear_thinking", "disable_reasoning"),
        thoughts={"reasoning"},
        roles={"system", "developer", "user", "assistant", "tool"},
        efforts={"none", "low", "medium", "high"},
    ),
}


def violations(provider: str, body: dict[str, Any]) -> list[str]:
    """Return what this provider rejects of a request."""
    rules = RULES[provider]
    found = [*_efforts(body), *_fields(body, rules)]
    for tool in body.get("tools", []):
        found += [f"tools.{name}: not permitted" for name in tool.keys() - {"type", "function"}]
        found += [f"tools.function.{name}: not permitted" for name in tool.get("function", {}).keys() - _TOOL]
    return [*found, *strict_openai.violations(body)]


def _fields(body: dict[str, Any], rules: Rules) -> list[str]:
    found = [f"body.{name}: not permitted" for name in body if name not in rules.fields]
    if rules.efforts and (effort := body.get("reasoning_effort")) is not None and effort not in rules.efforts:
        found.append(f"body.reasoning_effort: {effort!r}")
    for index, message in enumerate(body.get("messages", [])):
        found += [f"messages[{index}].{problem}" for problem in _message(message, rules)]
    return found


def _efforts(body: dict[str, Any]) -> list[str]:
    """Return what the body asks for in reasoning that its model does not have: npm @earendil-works/pi-ai 1.6.0, `data/*.json`."""
    asked = body.get("reasoning_effort") or body.get("reasoning", {}).get("effort")
    return [] if asked is None else reasoning_efforts.violations(body["model"], asked)


def _message(message: dict[str, Any], rules: Rules) -> list[str]:
    role = message.get("role")
    allowed = {"role", "content"} | (
        {"tool_calls", "name"} | rules.thoughts
        if role == "assistant"
        else {"tool_call_id"}
        if role == "tool"
        else {"name"}
    )
    found = [f"{name}: not permitted" for name in message if name not in allowed]
    thought = message.get("reasoning_content")
    if (
        role == "assistant"
        and rules.needs_thoughts
        and not (thought if rules.needs_thoughts == "filled" else thought is not None)
    ):
        found.append("reasoning_content: must be passed back")
    if role not in rules.roles:
        found.append(f"role: {role!r}")
    for part in message["content"] if isinstance(message.get("content"), list) else []:
        kind = part.get("type")
        if kind not in rules.parts:
            found.append(f"content: a part {kind!r}")
        marks = {"cache_control"} if rules.cache_marks else set[str]()
        found += [f"content.{name}: not permitted" for name in part.keys() - {"type", kind, *marks}]
    for call in message.get("tool_calls") or []:
        found += [f"tool_calls.{name}: not permitted" for name in call.keys() - {"id", "type", "function", "index"}]
        found += [
            f"tool_calls.function.{name}: not permitted" for name in call["function"].keys() - {"name", "arguments"}
        ]
    return found
