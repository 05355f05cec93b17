"""Pure: what a request to a cloud needs in addition to a key: region and profile, project and location, the name of a resource.

The options and variables have OpenCode's names, the arguments those of litellm. Sources: github.com/anomalyco/opencode,
packages/opencode/src/provider/provider.ts (2026-10); litellm 1.106.2: llms/bedrock/base_aws_llm.py, main.py, and
llms/vertex_ai/vertex_llm_base.py.
"""

from collections.abc import Mapping

from msgspec import Struct

from opencode_tui.engine.provider.decode.response import as_text
from opencode_tui.schema.record import JsonObject


class _Argument(Struct, frozen=True):
    """An argument of litellm: the option of the settings, else the first variable that is set."""

    name: str
    option: str
    variables: tuple[str, ...] = ()


_PROFILE = "aws_profile_name"
_ARGUMENTS = {
    "bedrock": (
        _Argument("aws_region_name", "region"),  # litellm reads the variables itself
        _Argument(_PROFILE, "profile"),
        _Argument("aws_bedrock_runtime_endpoint", "endpoint"),
    ),
    "vertex_ai": (
        _Argument(
            "vertex_project",
            "project",
            ("VERTEXAI_PROJECT", "GOOGLE_VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT"),
        ),
        _Argument(
            "vertex_location",
            "location",
            ("VERTEXAI_LOCATION", "GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION", "VERTEX_LOCATION"),
        ),
    ),
    "azure": (_Argument("api_version", "apiVersion"),),
}
_PACKAGES = {
    "@ai-sdk/amazon-bedrock": "bedrock",
    "@ai-sdk/azure": "azure",
    "@ai-sdk/google-vertex": "vertex_ai",
    "@ai-sdk/google-vertex/anthropic": "vertex_ai",
}


def find_cloud(package: str) -> str:
    """Return litellm's name of the cloud that a package of OpenCode speaks to; empty for any other package."""
    return _PACKAGES.get(package, "")


def cloud_arguments(cloud: str, options: JsonObject, environ: Mapping[str, str], *, has_key: bool) -> dict[str, str]:
    """Return litellm's arguments for a cloud by its name, from a provider's options and the environment; none for any other.

    A key of Bedrock counts in the place of a profile.
    """
    found = {
        one.name: value
        for one in _ARGUMENTS.get(cloud, ())
        if (value := _text(options.get(one.option)) or _first_of(one.variables, environ))
    }
    if has_key:
        found.pop(_PROFILE, None)
    if cloud == "azure" and (address := _azure_address(options, environ)):
        found["api_base"] = address
    return found


def _azure_address(options: JsonObject, environ: Mapping[str, str]) -> str:
    """Return the address of a resource of Azure; empty where none is named, or litellm reads another address itself."""
    named = _text(options.get("resourceName"))
    resource = named or ("" if environ.get("AZURE_API_BASE") else environ.get("AZURE_RESOURCE_NAME", "").strip())
    return f"https://{resource}.openai.azure.com" if resource else ""


def _first_of(variables: tuple[str, ...], environ: Mapping[str, str]) -> str:
    return next((value for name in variables if (value := environ.get(name, "").strip())), "")


def _text(value: object) -> str:
    return as_text(value).strip()
