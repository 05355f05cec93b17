"""Strict fakes of servers of models on this machine: the documented answers, and errors for everything else."""

from typing import Any

from tests.support.provider.json_server import Route, always

# The bodies are those of https://docs.ollama.com/api, shortened.
TAGS = {
    "models": [
        *({"name": name, "model": name, "size": 1} for name in ("qwen3:8b", "llava:7b", "embed:1", "gemma3:4b")),
        {
            "name": "glm:cloud",
            "model": "glm:cloud",
            "size": 1,
            "remote_model": "glm",
            "remote_host": "https://ollama.com:443",
        },
    ]
}
LOADED = {"models": [{"name": "qwen3:8b", "model": "qwen3:8b", "size_vram": 1, "context_length": 32768}]}


def show(body: dict[str, Any], _: dict[str, str]) -> tuple[int, Any]:
    """Answer as `/api/show`, which knows the field `model` only."""
    if body.keys() != {"model"}:
        return 400, {"error": "invalid request"}
    shown = {
        "qwen3:8b": ("qwen3", 40960, "", ["completion", "tools", "thinking"]),
        "llava:7b": ("llama", 32768, "num_ctx    8192\nstop    x", ["completion", "vision"]),
        "embed:1": ("bert", 512, "", ["embedding"]),
        "gemma3:4b": ("gemma3", 131072, "", ["completion", "tools"]),
        "glm:cloud": ("glm", 202752, "", ["completion", "tools"]),
    }.get(body["model"])
    if shown is None:
        return 404, {"error": "model not found"}
    family, context, parameters, can = shown
    info = {"general.architecture": family, f"{family}.context_length": context}
    return 200, {"parameters": parameters, "model_info": info, "capabilities": can}


OLLAMA: dict[str, Route] = {"GET /api/tags": always(TAGS), "GET /api/ps": always(LOADED), "POST /api/show": show}
# https://lmstudio.ai/docs/developer/rest/list
LMSTUDIO: dict[str, Route] = {
    "GET /api/v1/models": always(
        {
            "models": [
                {
                    "type": "llm",
                    "key": "qwen",
                    "loaded_instances": [{"id": "qwen", "config": {"context_length": 20000}}],
                    "max_context_length": 40960,
                    "capabilities": {"vision": False, "trained_for_tool_use": True},
                },
                {
                    "type": "llm",
                    "key": "see",
                    "loaded_instances": [],
                    "max_context_length": 32768,
                    "capabilities": {"vision": True, "trained_for_tool_use": False},
                },
                {"type": "embedding", "key": "vectors", "loaded_instances": [], "max_context_length": 2048},
            ]
        }
    )
}
OLD_LMSTUDIO: dict[str, Route] = {
    "GET /api/v1/models": always({"error": "Unexpected endpoint or method. (GET /api/v1/models)"}, 404),
    "GET /api/v0/models": always(
        {
            "object": "list",
            "data": [
                {
                    "id": "qwen",
                    "type": "llm",
                    "state": "loaded",
                    "max_context_length": 40960,
                    "loaded_context_length": 20000,
                },
                {"id": "see", "type": "vlm", "state": "not-loaded", "max_context_length": 32768},
                {"id": "vectors", "type": "embeddings", "max_context_length": 2048},
            ],
        }
    ),
}
LLAMACPP: dict[str, Route] = {
    "GET /props": always(
        {"default_generation_settings": {"n_ctx": 16384}, "total_slots": 1, "modalities": {"vision": False}}
    ),
    "GET /v1/models": always({"object": "list", "data": [{"id": "tiny.gguf", "owned_by": "llamacpp"}]}),
}
# The README of llama.cpp's server, "Using multiple models": a router has no model of its own.
ROUTER: dict[str, Route] = {
    "GET /props": always({"role": "router", "max_instances": 4, "default_generation_settings": {"n_ctx": 0}}),
    "GET /v1/models": always(
        {
            "object": "list",
            "data": [
                {
                    "id": "org/see:Q4",
                    "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
                    "status": {"value": "loaded", "args": ["llama-server"]},
                },
                {"id": "other", "status": {"value": "unloaded"}},
                {
                    "id": "judge",
                    "architecture": {"input_modalities": ["text"], "output_modalities": ["decisions"]},
                    "status": {"value": "unloaded"},
                },
            ],
        }
    ),
    "GET /props?model=org%2Fsee%3AQ4&autoload=false": always({"default_generation_settings": {"n_ctx": 24576}}),
}
VLLM: dict[str, Route] = {
    "GET /v1/models": always({"object": "list", "data": [{"id": "org/m", "owned_by": "vllm", "max_model_len": 65536}]})
}
