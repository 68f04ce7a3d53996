"""Records src/http/protocol/answers.json: one real answer of every route, shown as its example in the OpenAPI document.

    python3 scripts/openapi_answers.py http://127.0.0.1:8080

Wants a running server without a graph `support-reply`, on a model that answers, not at once
(../shared/fakelm with `--latency-ms 500` will do): a run is cancelled while it waits for it. The requests
are the examples that the server's own document shows. Run `cargo run -- openapi > openapi/openapi.json` after it.
"""

import json
import pathlib
import sys
import time
import urllib.request

BASE = sys.argv[1].rstrip("/")
FILE = pathlib.Path(__file__).resolve().parent.parent / "src/http/protocol/answers.json"
GRAPH = "/v1/graphs/support-reply"
recorded = {}


def call(operation, method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        found = json.load(answer)
    if operation:
        recorded[operation] = found
    return found


document = call(None, "GET", "/openapi.json")


def example(method, path):
    return document["paths"][path][method]["requestBody"]["content"]["application/json"]["example"]


graph = example("post", "/v1/graphs")
state = example("put", "/v1/graphs/{graph}/state")
call("graph_validate", "POST", "/v1/graphs/validate", graph)
call("graph_create", "POST", "/v1/graphs", graph)
call("state_put", "PUT", GRAPH + "/state", state)
call("graph_put", "PUT", GRAPH, dict(graph, description="Draft a polite reply to a ticket"))
call("graph_get", "GET", GRAPH)
call("graph_list", "GET", "/v1/graphs")
call("version_list", "GET", GRAPH + "/versions")
call("version_get", "GET", GRAPH + "/versions/1")
call("graph_render", "POST", GRAPH + "/render", example("post", "/v1/graphs/{graph}/render"))
run = call("run_execute", "POST", GRAPH + "/execute", example("post", "/v1/graphs/{graph}/execute"))
call("run_get", "GET", "/v1/runs/" + run["id"])
run = call("run_start", "POST", GRAPH + "/runs", example("post", "/v1/graphs/{graph}/runs"))
call("run_cancel", "POST", "/v1/runs/" + run["id"] + "/cancel")
call("run_resume", "POST", "/v1/runs/" + run["id"] + "/resume", example("post", "/v1/runs/{id}/resume"))
call("run_list", "GET", "/v1/runs")
letter = {"approve": {"strategy": "await", "signature": "letter -> approved: bool"}}
call(None, "POST", "/v1/graphs", {"name": "letter", "nodes": letter})
run = call(None, "POST", "/v1/graphs/letter/execute", {"inputs": {"letter": "Dear customer"}})
call("run_signal", "POST", "/v1/runs/" + run["id"] + "/signal", example("post", "/v1/runs/{id}/signal"))
batch = call("batch_start", "POST", GRAPH + "/batches", example("post", "/v1/graphs/{graph}/batches"))
while call("batch_get", "GET", "/v1/batches/" + batch["id"])["finished_at"] is None:
    time.sleep(0.2)
call("batch_results", "GET", "/v1/batches/" + batch["id"] + "/results")
batch = call(None, "POST", GRAPH + "/batches", example("post", "/v1/graphs/{graph}/batches"))
call("batch_cancel", "POST", "/v1/batches/" + batch["id"] + "/cancel")
call("batch_list", "GET", "/v1/batches")
tickets = example("post", "/v1/datasets")
call("dataset_create", "POST", "/v1/datasets", tickets)
more = {"inputs": {"ticket": "Thank you!"}, "expected": {"mood": "calm"}, "split": "val"}
call("dataset_put", "PUT", "/v1/datasets/tickets", dict(tickets, examples=tickets["examples"] + [more]))
chosen = example("post", "/v1/datasets/{dataset}/from-runs")
run = call(None, "POST", GRAPH + "/execute", example("post", "/v1/graphs/{graph}/execute"))
chosen = json.loads(json.dumps(chosen).replace(chosen["runs"][0], run["id"]))
call("dataset_from_runs", "POST", "/v1/datasets/tickets/from-runs", chosen)
call("dataset_get", "GET", "/v1/datasets/tickets")
call("dataset_list", "GET", "/v1/datasets")
call("dataset_versions", "GET", "/v1/datasets/tickets/versions")
call("dataset_examples", "GET", "/v1/datasets/tickets/examples?limit=2")
call("dataset_check", "POST", "/v1/datasets/tickets/check", example("post", "/v1/datasets/{dataset}/check"))
evaluated = example("post", "/v1/graphs/{graph}/evaluations")
before = call("evaluation_start", "POST", GRAPH + "/evaluations", evaluated)
while call("evaluation_get", "GET", "/v1/evaluations/" + before["id"])["finished_at"] is None:
    time.sleep(0.2)
call("evaluation_results", "GET", "/v1/evaluations/" + before["id"] + "/results")
after = call(None, "POST", GRAPH + "/evaluations", dict(evaluated, metric={"contains": {"field": "mood"}}))
while call(None, "GET", "/v1/evaluations/" + after["id"])["finished_at"] is None:
    time.sleep(0.2)
call("evaluation_comparison", "GET", "/v1/evaluations/" + after["id"] + "/comparison?against=" + before["id"])
stopped = call(None, "POST", GRAPH + "/evaluations", evaluated)
call("evaluation_cancel", "POST", "/v1/evaluations/" + stopped["id"] + "/cancel")
call("evaluation_list", "GET", "/v1/evaluations?graph=support-reply&limit=1")
optimization = call("optimization_start", "POST", GRAPH + "/optimizations", example("post", "/v1/graphs/{graph}/optimizations"))
optimization = "/v1/optimizations/" + optimization["id"]
while call("optimization_get", "GET", optimization)["finished_at"] is None:
    time.sleep(0.2)
call("optimization_candidate_list", "GET", optimization + "/candidates")
call("optimization_candidate_get", "GET", optimization + "/candidates/1")
call("optimization_activate", "POST", optimization + "/activate")
running = call(None, "POST", GRAPH + "/optimizations", example("post", "/v1/graphs/{graph}/optimizations"))
call("optimization_cancel", "POST", "/v1/optimizations/" + running["id"] + "/cancel")
call("optimization_list", "GET", "/v1/optimizations")
call("optimizer_list", "GET", "/v1/optimizers")
call("optimizer_get", "GET", "/v1/optimizers/labeled_few_shot")
call("predictor_list", "GET", GRAPH + "/predictors")
call("predictor_get", "GET", GRAPH + "/predictors/triage")
call("predictor_patch", "PATCH", GRAPH + "/predictors/triage", example("patch", "/v1/graphs/{graph}/predictors/{path}"))
call("state_get", "GET", GRAPH + "/state")
call("state_version_list", "GET", GRAPH + "/state/versions")
call("state_version_get", "GET", GRAPH + "/state/versions/3")
call("state_version_diff", "GET", GRAPH + "/state/versions/2/diff")
call("state_activate", "POST", GRAPH + "/state/versions/3/activate")
call("state_activation_list", "GET", GRAPH + "/state/activations")
call("graph_patch", "PATCH", GRAPH, example("patch", "/v1/graphs/{graph}"))
call("version_diff", "GET", GRAPH + "/versions/3/diff")
call("strategy_list", "GET", "/v1/strategies")
call("strategy_get", "GET", "/v1/strategies/chain_of_thought")
call("strategy_preview", "POST", "/v1/strategies/chain_of_thought/preview", example("post", "/v1/strategies/{name}/preview"))
call("model_list", "GET", "/v1/models")
call("type_assignable", "POST", "/v1/types/assignable", example("post", "/v1/types/assignable"))
call("parse", "POST", "/v1/parse", example("post", "/v1/parse"))
call("healthz", "GET", "/healthz")
call("readyz", "GET", "/readyz")
FILE.write_text(json.dumps(recorded, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
print("%d answers in %s" % (len(recorded), FILE))
