"""What Schemathesis cannot take from the OpenAPI document: data that exists, and the exceptions.

Each exception is narrow and says why it is one. `run.sh` starts everything; `schemathesis.toml` has the rest.
"""

import json
import os
import pathlib
import re

import schemathesis
from hypothesis import strategies as st

# The ids of `data.py`, by the beginning of the path that they belong to.
KNOWN = json.loads(pathlib.Path(os.environ["DSRS_SCHEMATHESIS_DATA"]).read_text(encoding="utf-8"))

# Bodies of these types are texts to the document. Random text is never one of them.
schemathesis.openapi.media_type("application/jsonl", st.just(b'{"inputs": {"ticket": "Where is it?"}}\n'))
schemathesis.openapi.media_type("text/csv", st.just(b"ticket,mood\nWhere is it?,calm\n"))

# Codes of `errors` that say: this is not the form that the document describes.
FORM = {"unknown_field", "missing_field", "wrong_type", "invalid_value", "invalid_name", "too_large"}

# Refusals of a well-formed request that the document cannot express: (operation, pointer, code), why.
EXCEPTIONS = [
    # The schemas of configs belong to strategies and optimizers, which have routes of their own.
    (r".*", r".*/config(/.*)?", r".*"),
    # Notations: a text or a JSON Schema is read by a parser; an object without a JSON Schema keyword is a
    # field. Whether it is one decides which members it may have.
    (r".*", r".*/(signature|type|types|from|to|inputs)(/.*)?", r"(unknown_field|missing_field|wrong_type|invalid_value|invalid_name)"),
    # A metric names outputs of the graph and may hold other metrics, which have no schema of their own.
    (r".*", r"/metrics?(/.*)?", r"(unknown_field|missing_field|wrong_type|invalid_value)"),
    # Items and inputs have the types of a graph.
    (r".*", r"/(inputs|items|examples|dataset|trainset|valset|testset|value)(/.*)?", r"(unknown_field|missing_field|wrong_type|invalid_value)"),
    # So many problems have been found in examples that the rest is not read.
    (r".*", r"/examples", r"too_large"),
    # The sum of fractions is 1, and `split` is one of them.
    (r".*", r".*/(fractions|split)", r"invalid_value"),
    # A correction is for one of `runs`.
    (r"POST /v1/datasets/.*/from-runs", r"/(corrections|runs)(/.*)?", r"(invalid_value|unknown_field|missing_field|wrong_type)"),
    # A version of the dataset exists.
    (r"POST /v1/indexes.*", r"/version", r"invalid_value"),
    # A key ends in the future.
    (r"POST /v1/keys", r"/expires_at", r"invalid_value"),
    # A URL is read by a parser, and a setting lists where messages may go. A graph exists. `score` and the event
    # `score.below` need each other.
    (r"(POST|PATCH) /v1/webhooks.*", r"/(url|graph|score)", r"(invalid_value|missing_field)"),
    # Expressions and time zones are read by parsers. A graph exists, and its routes check the request of a schedule.
    (r"(POST|PATCH) /v1/schedules.*", r"/(cron|time_zone|graph|request(/.*)?)", r".*"),
    # Feedback has at least one of its members, and a score has a name. Corrected outputs have the types of the graph.
    (r"POST /v1/runs/\{id\}/feedback", r"(|/name|/category|/outputs(/.*)?|/source)", r"(missing_field|unknown_field|invalid_value|wrong_type)"),
    # A route lists the optimizers.
    (r"POST /v1/graphs/\{graph\}/optimizations", r"/optimizer", r"invalid_value"),
    # The limit of concurrency is a setting.
    (r".*", r"/concurrency", r"invalid_value"),
    # Paths of predictors, fields of demos and the size of vectors depend on the graph.
    (r"(PUT|PATCH) .*|POST .*/render", r"/(predictors|demos|nearest|decisions|state)(/.*)?", r"(unknown_field|missing_field|invalid_value|wrong_type)"),
    # An edit names nodes and fields of the graph.
    (r"PATCH /v1/graphs/\{graph\}", r"/edits/.*", r"(unknown_field|missing_field|invalid_value|invalid_name|wrong_type)"),
    # Some members and headers are written by the server, or direct a gateway.
    (r".*", r".*/lm/extra_(body|headers)", r"invalid_value"),
    # A chat model names an input and an output of the graph.
    (r".*", r"/expose/openai/(input|output)", r"(unknown_field|invalid_value)"),
    # Edges and outputs select fields of nodes, in a notation of their own.
    (r".*", r"/(edges|outputs)/.*", r"(unknown_field|invalid_value)"),
]

# Parameters of uploads that are not JSON. OpenAPI cannot bind a parameter to a media type.
OF_LINES = ("name", "description", "inputs", "expected", "version", "state_version", "timeout_ms", "concurrency", "dedupe")


def is_positive(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


@schemathesis.hook
def before_call(context, case, kwargs):
    """Gives well-formed requests what only a real client has."""
    if not is_positive(case):
        return
    query = case.query = dict(case.query or {})
    # A cursor is the server's own: only a page of the list makes one.
    query.pop("cursor", None)
    if case.method in ("POST", "PUT") and case.media_type == "application/json":
        for name in OF_LINES:
            query.pop(name, None)
    if case.media_type == "text/csv":
        query.update(inputs="ticket", expected="mood")
    elif case.media_type == "application/jsonl":
        for name in ("inputs", "expected", "concurrency"):
            query.pop(name, None)
    if case.path == "/v1/datasets" and case.media_type in ("text/csv", "application/jsonl"):
        query.setdefault("name", "lines")
    # A text of JSON, which no pattern describes.
    if (case.headers or {}).get("X-Dsrs-Metadata"):
        case.headers["X-Dsrs-Metadata"] = '{"channel": "mail", "ticket": 7}'
    # A score that is narrowed by has a name.
    if {"min_score", "max_score", "category", "source"} & query.keys():
        query.setdefault("score", "helpful")
    if case.path == "/v1/usage":
        # Sums are by tag or by model, and end after they begin.
        query.pop("tag", None)
        query.pop("until", None)
        if "tag" in str(query.get("by", "")):
            query.pop("model", None)
            query["by"] = ["tag"]
    # A download has no pages.
    if query.get("format") == "jsonl":
        query.pop("limit", None)
    use_known_ids(case)


def use_known_ids(case):
    """Every other random id becomes one that exists."""
    given = (case.path_parameters or {}).get("id")
    known = next((ids for start, ids in KNOWN.items() if case.path.startswith(start)), [])
    if given and known and not hash_of(given) % 2:
        case.path_parameters["id"] = known[hash_of(given) // 2 % len(known)]
    against = (case.query or {}).get("against")
    if isinstance(against, str) and "/evaluations/" in case.path and known:
        case.query["against"] = known[-1]


def matches(rule, text):
    return re.fullmatch(rule, text, re.DOTALL)


def hash_of(text):
    return sum(str(text).encode())


@schemathesis.check
def refusals_are_not_of_form(ctx, response, case):
    """A request that fits the document is never refused for its form."""
    if not is_positive(case) or response.status_code != 422:
        return
    for error in response.json().get("errors", []):
        refusal = (case.operation.label, error["pointer"], error["code"])
        excepted = any(all(map(matches, rule, refusal)) for rule in EXCEPTIONS)
        assert error["code"] not in FORM or excepted, "refused for its form: %s" % error
