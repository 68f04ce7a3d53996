"""Which failures of a run a handler of Python catches, by their codes."""

from __future__ import annotations

import json
from typing import Any

from dspy.utils import exceptions

from .refusal import refuse

#: failures of models, as DSPy raises them
OF_MODELS: dict[type[BaseException], list[str]] = {
    exceptions.LMRateLimitError: ["rate_limited"],
    exceptions.LMTimeoutError: ["timeout"],
    exceptions.LMBillingError: ["provider_quota_exhausted"],
    exceptions.LMError: ["lm_error", "rate_limited", "provider_quota_exhausted", "answer_filtered", "timeout"],
    exceptions.AdapterParseError: ["parse_error", "constraint_failed", "answer_incomplete"],
}
#: what ops raise in Python
OF_OPS = (
    ValueError, IndexError, KeyError, LookupError, TypeError, AttributeError, ZeroDivisionError, ArithmeticError,
    json.JSONDecodeError,
)  # fmt: skip
ALL = (Exception, BaseException)
WAY_OUT = (
    "Catch `Exception`, an error of `dspy.utils.exceptions`, or what Python's functions raise where no model is called."
)


def codes_of(caught: Any, has_models: bool) -> list[str] | None:
    """The codes that handlers of these exceptions catch; none for all."""
    kinds = caught if isinstance(caught, tuple) else (caught,)
    codes: list[str] = []
    for kind in kinds:
        if kind in ALL:
            return None
        if kind is exceptions.DSPyError:
            codes += OF_MODELS[exceptions.LMError] + OF_MODELS[exceptions.AdapterParseError]
        elif kind in OF_MODELS:
            codes += OF_MODELS[kind]
        elif kind in OF_OPS and not has_models:
            codes += ["op_failed", "parse_error"]
        else:
            refuse(f"catches `{getattr(kind, '__name__', kind)}` of what may fail in a run", WAY_OUT)
    return list(dict.fromkeys(codes))
