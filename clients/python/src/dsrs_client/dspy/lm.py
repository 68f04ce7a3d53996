"""LM settings of a predictor: its config, its own LM and that of `dspy.context`, as settings of the node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dspy

from .leaf import COMPLETED, Leaf, refuse_completions
from .note import Note, add_note
from .refusal import refuse

SETTINGS = ("temperature", "max_tokens", "top_p", "seed", "stop", "reasoning_effort")
#: what DSPy calls `max_tokens` for OpenAI's reasoning models
REASONING_LIMIT = "max_completion_tokens"
#: settings of an LM that say where it is and what DSPy does with its answers
OF_THE_CALLER = {
    "n", "num_generations", "rollout_id", "api_key", "api_base", "base_url", "api_version", "model_list", "cache",
    "timeout", "num_retries",
}  # fmt: skip

#: adapters that write the same fields in another notation; any other one may ask or answer something else
NOTATIONS = (dspy.ChatAdapter, dspy.JSONAdapter, dspy.XMLAdapter)


class Models:
    """Which alias each LM of the program is."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self.aliases = aliases
        self.notes: list[Note] = []
        #: what the caller of `push` has configured for all programs
        self.configured, self.adapter = dspy.settings.lm, dspy.settings.adapter
        self._seen: list[Any] = []
        self._named = False
        self._note_adapter(self.adapter)
        if settings := known_settings(getattr(self.configured, "kwargs", {})):
            what = f"settings of the configured model are not taken over: {_listed(settings)}"
            self._note(what, "Give them to the predictors, or configure the model without them.")

    def settings(self, leaf: Leaf, arguments: dict[str, Any]) -> dict[str, Any]:
        """The settings for a call. Takes DSPy's `config` and `lm` out of the arguments."""
        if not leaf.inner:
            return {}
        predictor = leaf.inner[0].predictor
        config = {**predictor.config, **arguments.pop("config", {})}
        for name in ("demos", "signature"):
            if name in arguments and name not in leaf.signature.input_fields:
                refuse(f"gives a predictor other `{name}` for one call; make it a predictor of its own")
        lm = arguments.pop("lm", None) or predictor.lm or self._of_context()
        own = getattr(lm, "kwargs", {})
        asked = {} if leaf.strategy in COMPLETED else config
        refuse_completions({"n": own.get("n") or own.get("num_generations"), **asked})
        if left_out := sorted(name for name, value in {**own, **config}.items() if _is_unknown(name, value)):
            what = f"settings are left out that a graph does not have: {', '.join(left_out)}"
            self._note(what, "Remove them, or set them for the model of the server (docs/models.md).")
        self._note_adapter(dspy.settings.adapter)
        settings = {**known_settings(own), **known_settings(config)}
        alias = self._alias(lm)
        return {"model": alias, **settings} if alias else settings

    def _of_context(self) -> Any:
        """The LM of `dspy.context` within the program; the configured one is a matter of the caller."""
        return dspy.settings.lm if dspy.settings.lm is not self.configured else None

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
            what = f"the model `{model}` is not taken over; nodes use the alias `default`"
            self._note(what, f"Say which alias it is: `models={{{model!r}: 'default'}}`.")
        return None

    def _note_adapter(self, adapter: Any) -> None:
        if adapter is not None and type(adapter) is not dspy.ChatAdapter:
            way_out = None if type(adapter) in NOTATIONS else "Configure `dspy.ChatAdapter`."
            self._note(f"the adapter `{type(adapter).__name__}` is left out; the server has its own", way_out)

    def _note(self, text: str, way_out: str | None) -> None:
        add_note(self.notes, Note(text, way_out))


def known_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a graph has, too."""
    known = {name: settings[name] for name in SETTINGS if settings.get(name) is not None}
    if "max_tokens" not in known and settings.get(REASONING_LIMIT) is not None:
        known["max_tokens"] = settings[REASONING_LIMIT]
    return known


def _is_unknown(name: str, value: Any) -> bool:
    return value is not None and name not in (*SETTINGS, REASONING_LIMIT) and name not in OF_THE_CALLER


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())
