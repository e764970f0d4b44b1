"""Settings from what was typed: options, a JSON file, and NAME=VALUE for TRL.

An option beats the file, the file beats the preset. Nothing unknown is dropped: it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from workbench.errors import DataError, UsageError
from workbench.presets import preset as recipe_preset
from workbench.schema import Recipe
from workbench.training.plan import Settings, settings
from workbench.training.presets import preset

__all__ = ["settings_of"]


def settings_of(
    name: str, options: dict[str, Any], config: Path | None = None, trl: Sequence[str] = ()
) -> Settings:
    """The settings of a preset with what was chosen instead; options that are None were not given.

    `recipe` is a preset's name, `k` its K_E; a file may have a whole recipe. Raises UsageError for
    names that nothing is called and values of another type, naming them; DataError for a file that
    is no JSON object.
    """
    given = _read(config) if config else {}
    passed = given.pop("trl", {})
    if not isinstance(passed, dict):
        raise UsageError(f"{config}: `trl` is an object of GRPOConfig's options")
    given |= {key: value for key, value in options.items() if value is not None}
    given["recipe"] = _recipe(
        given.pop("recipe", None) or preset(name).recipe, given.pop("k", None)
    )
    made = settings(given, name, {**passed, **dict(map(_pair, trl))})
    try:
        return msgspec.convert(msgspec.to_builtins(made), Settings)
    except msgspec.ValidationError as error:
        raise UsageError(f"training settings: {error}") from error


def _recipe(said: Any, k: int | None) -> Any:
    whole = recipe_preset(said) if isinstance(said, str) else said
    if isinstance(whole, dict):
        unknown = sorted(whole.keys() - set(Recipe.__struct_fields__))
        if unknown:
            raise UsageError(f"a recipe has no {unknown[0]!r}")
        whole = msgspec.convert(whole, Recipe)
    return whole if k is None else msgspec.structs.replace(whole, k=k)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise DataError(f"{path} holds no JSON object of settings")
    return found


def _pair(text: str) -> tuple[str, Any]:
    """NAME=VALUE; the value is JSON, or else the text itself."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--trl takes NAME=VALUE, not {text!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
