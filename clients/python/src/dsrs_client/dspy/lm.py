"""LM settings of a predictor: its config and its own LM, as settings of the node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dspy

from .leaf import Leaf, refuse_completions
from .refusal import refuse

SETTINGS = ("temperature", "max_tokens", "top_p", "seed", "stop")


class Models:
    """Which alias each LM of the program is."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self.aliases = aliases
        self.notes: list[str] = []
        self._seen: list[Any] = []
        self._named = False

    def settings(self, leaf: Leaf, arguments: dict[str, Any]) -> dict[str, Any]:
        """The settings for a call. Takes DSPy's `config` and `lm` out of the arguments."""
        if not leaf.inner:
            return {}
        predictor = leaf.inner[0].predictor
        config = {**predictor.config, **arguments.pop("config", {})}
        for name in ("demos", "signature"):
            if name in arguments and name not in leaf.signature.input_fields:
                refuse(f"gives a predictor other `{name}` for one call; make it a predictor of its own")
        refuse_completions(config)
        lm = arguments.pop("lm", None) or predictor.lm
        if left_out := sorted(set(config) - {*SETTINGS, "n", "rollout_id"}):
            self.notes.append(f"settings are left out that a graph does not have: {', '.join(left_out)}")
        settings = {**known_settings(getattr(lm, "kwargs", {})), **known_settings(config)}
        alias = self._alias(lm)
        return {"model": alias, **settings} if alias else settings

    def _alias(self, lm: Any) -> str | None:
        used = lm or dspy.settings.lm
        model = getattr(used, "model", None)
        if model is not None and model in self.aliases:
            return self.aliases[model]
        if used is not None and all(used is not other for other in self._seen):
            self._seen.append(used)
        if len({getattr(other, "model", None) for other in self._seen}) > 1:
            names = ", ".join(f"`{other.model}`" for other in self._seen)
            refuse(f"uses several models ({names})", f"Say which alias each is: `models={{{model!r}: 'default'}}`.")
        if lm is not None and model is not None and not self._named:
            self._named = True
            self.notes.append(f"the model `{model}` is not taken over; nodes use the alias `default`")
        return None


def known_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a graph has, too."""
    return {name: settings[name] for name in SETTINGS if settings.get(name) is not None}
