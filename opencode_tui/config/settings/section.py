"""What all sections of the settings share: strict types, OpenCode's key names, unknown keys kept apart so that they can be named.

The sentence under each field is its description in the JSON schema for editors (`config/check/json_schema.py`).
"""

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

MODEL_PATTERN = r"^[^/\s]+/[^\r\n]*[^\s]$"
LINE_PATTERN = r"^[^\r\n]*$"
URL_PATTERN = r"^https?://[^\s/]+\S*$"
COLOUR_PATTERN = r"^#[0-9a-fA-F]{6}$|^[a-z]+$"

ModelName = Annotated[str, Field(pattern=MODEL_PATTERN)]
Line = Annotated[str, Field(pattern=LINE_PATTERN)]
Url = Annotated[str, Field(pattern=URL_PATTERN)]
Words = Annotated[list[str], Field(min_length=1)]
"""A command: the program and its arguments."""
Tokens = Annotated[int, Field(ge=0, le=1_000_000_000)]
Milliseconds = Annotated[int, Field(gt=0, le=2_147_483_647)]
Price = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
"""USD per million tokens."""


class Section(BaseModel):
    """An object of the settings. `is_open`: keys that we do not know are meant for somebody else and no mistake."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, defer_build=True, protected_namespaces=())

    is_open: ClassVar[bool] = False
