"""What all models of data share: the text that they allow, and how they are validated."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints
from typing_extensions import TypeAliasType

# What would move or hide text around it, on a terminal or on a page, by Unicode's categories:
# control, format (right to left, for one), private, surrogate, line ends. str.isprintable would
# also refuse no-break spaces, and characters that are newer than this Python.
_NOT_PRINTED = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def _printed(text: str) -> str:
    for character in text:
        if unicodedata.category(character) in _NOT_PRINTED:
            raise ValueError(
                f"contains the character U+{ord(character):04X}, which can't be printed"
            )
    return text


def printable(text: str) -> str:
    """Replace the characters that a `PrintableText` can't have by their escapes."""
    return "".join(
        f"\\u{ord(character):04x}" if unicodedata.category(character) in _NOT_PRINTED else character
        for character in text
    )


#: A text that may be shown as it is, escaped as its place demands. Files of results may come from
#: anyone.
PrintableText = TypeAliasType(
    "PrintableText", Annotated[str, StringConstraints(max_length=1000), AfterValidator(_printed)]
)


class FrozenModel(BaseModel):
    """A Pydantic model that is frozen and refuses unknown fields and non-finite numbers."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        ser_json_inf_nan="null",
        defer_build=True,  # build validators when a model is first used: many imports never do
    )
