"""Providers that need no address in the settings: their names, URLs, and the environment variables of their keys.

Providers with a base URL use one of the direct formats; the others go through litellm, with litellm's name for them. Any other
provider of litellm's table works too, with the variable `<NAME>_API_KEY`. The default model is chosen in this order.
"""

from msgspec import Struct

from opencode_tui.schema.model import Adapter


class KnownProvider(Struct, frozen=True):
    """A provider. `tables` are its names in litellm's table.

    `preferred` are IDs of tool-calling models, best first: the default models for users with a key, as far as they are listed and
    not retired; the last one where no list is known. With `is_named_by_customer` models have names of the customer's own, so that
    there is no default. With `has_list` its own list of models, `/models` below its address, is read.
    """

    id: str
    name: str
    adapter: Adapter = "litellm"
    base_url: str | None = None
    variables: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    litellm: str = ""
    is_named_by_customer: bool = False
    needs_key: bool = True
    has_list: bool = False
    preferred: tuple[str, ...] = ()


KNOWN: tuple[KnownProvider, ...] = (
    KnownProvider(
        "anthropic",
        "Anthropic",
        "anthropic",
        "https://api.anthropic.com/v1",
        ("ANTHROPIC_API_KEY",),
        ("anthropic",),
        "anthropic",
        preferred=("claude-sonnet-5-5", "claude-sonnet-5", "claude-sonnet-4-6", "claude-sonnet-4-5"),
    ),
    KnownProvider(
        "openai",
        "OpenAI",
        "responses",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        ("openai",),
        "openai",
        preferred=("gpt-5.6", "gpt-5.2", "gpt-5.1", "gpt-5", "gpt-4.1"),
    ),
    KnownProvider(
        "google",
        "Google Gemini",
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        variables=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
        tables=("gemini",),
        litellm="gemini",
        preferred=("gemini-3.1-pro-preview", "gemini-3.5-flash", "gemini-2.5-pro", "gemini-2.5-flash"),
    ),
    KnownProvider(
        "openrouter",
        "OpenRouter",
        "openai",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        ("openrouter",),
        "openrouter",
        has_list=True,
        preferred=("anthropic/claude-sonnet-5.5", "anthropic/claude-sonnet-5", "anthropic/claude-sonnet-4.6"),
    ),
    KnownProvider(
        "deepseek",
        "DeepSeek",
        "openai",
        "https://api.deepseek.com/v1",
        ("DEEPSEEK_API_KEY",),
        ("deepseek",),
        "deepseek",
        preferred=("deepseek-v4-pro", "deepseek-chat"),
    ),
    KnownProvider(
        "xai",
        "xAI",
        "openai",
        "https://api.x.ai/v1",
        ("XAI_API_KEY",),
        ("xai",),
        "xai",
        preferred=("grok-4.7", "grok-4.5", "grok-4.3"),
    ),
    KnownProvider(
        "mistral",
        "Mistral",
        "openai",
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        ("mistral",),
        "mistral",
        preferred=("devstral-latest", "mistral-large-latest"),
    ),
    KnownProvider(
        "groq",
        "Groq",
        "openai",
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        ("groq",),
        "groq",
        preferred=("openai/gpt-oss-120b",),
    ),
    KnownProvider(
        "cerebras",
        "Cerebras",
        "openai",
        "https://api.cerebras.ai/v1",
        ("CEREBRAS_API_KEY",),
        ("cerebras",),
        "cerebras",
        preferred=("gpt-oss-120b",),
    ),
    KnownProvider(
        "togetherai",
        "Together AI",
        "openai",
        "https://api.together.xyz/v1",
        ("TOGETHER_API_KEY",),
        ("together_ai",),
        "together_ai",
        preferred=("zai-org/GLM-4.6", "openai/gpt-oss-120b"),
    ),
    KnownProvider(
        "fireworks-ai",
        "Fireworks AI",
        "openai",
        "https://api.fireworks.ai/inference/v1",
        ("FIREWORKS_API_KEY",),
        ("fireworks_ai",),
        "fireworks_ai",
        preferred=("accounts/fireworks/models/kimi-k2-instruct", "accounts/fireworks/models/gpt-oss-120b"),
    ),
    KnownProvider(
        "moonshotai",
        "Moonshot AI",
        "openai",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY",),
        ("moonshot",),
        "moonshot",
        preferred=("kimi-k3", "kimi-k2.6", "kimi-k2.5"),
    ),
    KnownProvider(  # Source: https://www.kimi.com/code/docs: keys of the plan, in coding agents of others too
        "kimi-for-coding",
        "Kimi Code",
        "openai",
        "https://api.kimi.com/coding/v1",
        ("KIMI_API_KEY",),
        litellm="moonshot",
        preferred=("k3", "kimi-for-coding"),
    ),
    KnownProvider(
        "zai",
        "Z.AI",
        "openai",
        "https://api.z.ai/api/paas/v4",
        ("ZAI_API_KEY",),
        ("zai",),
        "zai",
        preferred=("glm-5.3", "glm-5", "glm-4.6"),
    ),
    KnownProvider(
        "nvidia",
        "NVIDIA",
        "openai",
        "https://integrate.api.nvidia.com/v1",
        ("NVIDIA_API_KEY",),
        ("nvidia_nim",),
        "nvidia_nim",
        has_list=True,
        preferred=("openai/gpt-oss-120b",),
    ),
    KnownProvider(
        "huggingface",
        "Hugging Face",
        "openai",
        "https://router.huggingface.co/v1",
        ("HF_TOKEN",),
        ("huggingface",),
        "huggingface",
        has_list=True,
        preferred=("openai/gpt-oss-120b",),
    ),
    KnownProvider(
        "google-vertex",
        "Google Vertex AI",
        tables=("vertex_ai",),
        litellm="vertex_ai",
        needs_key=False,
        preferred=("gemini-3.1-pro-preview", "gemini-3.5-flash"),
    ),
    KnownProvider(
        "amazon-bedrock",
        "Amazon Bedrock",
        variables=("AWS_BEARER_TOKEN_BEDROCK",),
        tables=("bedrock", "bedrock_converse"),
        litellm="bedrock",
        needs_key=False,
        # Newer models answer through inference profiles only; the global one exists in every commercial region. Source:
        # https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html
        preferred=(
            "global.anthropic.claude-sonnet-5-5",
            "global.anthropic.claude-sonnet-5",
            "global.anthropic.claude-sonnet-4-6",
        ),
    ),
    KnownProvider(
        "azure",
        "Azure OpenAI",
        variables=("AZURE_API_KEY",),
        tables=("azure",),
        litellm="azure",
        is_named_by_customer=True,
    ),
    KnownProvider(
        "github-copilot",
        "GitHub Copilot",
        tables=("github_copilot",),
        litellm="github_copilot",
        needs_key=False,
        preferred=("claude-sonnet-5.5", "claude-sonnet-5", "gpt-5.5"),
    ),
    KnownProvider(
        "ollama",
        "Ollama (on this computer)",
        "openai",
        "http://127.0.0.1:11434/v1",
        litellm="ollama_chat",
        needs_key=False,
    ),
    KnownProvider(
        "lmstudio",
        "LM Studio (on this computer)",
        "openai",
        "http://127.0.0.1:1234/v1",
        litellm="lm_studio",
        needs_key=False,
    ),
    KnownProvider(
        "llamacpp",
        "llama.cpp (on this computer)",
        "openai",
        "http://127.0.0.1:8080/v1",
        litellm="openai",
        needs_key=False,
    ),
    KnownProvider(
        "vllm",
        "vLLM (on this computer)",
        "openai",
        "http://127.0.0.1:8000/v1",
        litellm="hosted_vllm",
        needs_key=False,
    ),
)

_BY_ID = {provider.id: provider for provider in KNOWN}
_BY_TABLE = {table: provider for provider in KNOWN for table in provider.tables}


def find_known(provider_id: str) -> KnownProvider | None:
    """Return the provider with this ID or litellm name."""
    return _BY_ID.get(provider_id) or _BY_TABLE.get(provider_id)


def through_litellm(provider_id: str) -> KnownProvider:
    """Return a provider that only litellm knows."""
    variable = provider_id.upper().replace("-", "_").replace(".", "_") + "_API_KEY"
    return KnownProvider(
        provider_id, provider_id, variables=(variable,), tables=(provider_id,), litellm=provider_id, needs_key=False
    )
