"""What kind of account a provider works with, in the words of lists."""

from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    "anthropic": "API key, no Claude plan",
    "amazon-bedrock": "Bedrock key or AWS sign-in",
    "azure": "key of your resource",
    "github-copilot": "with VS Code's identity",
    "google-vertex": "gcloud sign-in",
    "huggingface": "token",
    "kimi-for-coding": "key of a Kimi Code plan",
    "llamacpp": "no key needed",
    "lmstudio": "no key needed",
    "ollama": "no key needed",
    "vllm": "no key needed",
}

SIGN_INS: Mapping[str, tuple[str, str]] = {
    "chatgpt": ("Continue with ChatGPT", "your plan: Plus or Pro"),
    "openrouter": ("Continue with OpenRouter", "gets a key of your account"),
}
"""The sign-ins with the browser, by provider: the words of the choice, and what they need."""


def account_kind(provider_id: str) -> str:
    """Return what a provider wants."""
    return KINDS.get(provider_id, "API key")
