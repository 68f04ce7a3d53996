"""The main uses of the API with the Python client that openapi-python-client makes of the document. mypy --strict reads
it, and it runs against a server: DSRS_URL and, if the server has keys, DSRS_API_KEY."""

import json
import os
import time

from dsrs_server_client import AuthenticatedClient
from dsrs_server_client.api.datasets import dataset_create
from dsrs_server_client.api.evaluations import evaluation_get, evaluation_start
from dsrs_server_client.api.graphs import graph_create
from dsrs_server_client.api.runs import run_execute, run_list
from dsrs_server_client.api.state import predictor_patch, state_activate
from dsrs_server_client.models import (
    DatasetOfExamples,
    Evaluation,
    EvaluationBody,
    ExecuteBody,
    ExecuteBodyInputs,
    Graph,
    GraphBody,
    JobStatus,
    MetricName,
    NewDatasetOfExamples,
    PredictorPatch,
    Problem,
    ProblemCode,
    Run,
    RunPage,
    RunStatus,
)

client = AuthenticatedClient(base_url=os.environ["DSRS_URL"], token=os.environ.get("DSRS_API_KEY", "none"))


def post_a_graph() -> None:
    definition = {"name": "ask", "nodes": {"ask": {"strategy": "predict", "signature": "question -> answer"}}}
    graph = graph_create.sync(client=client, body=GraphBody.from_dict(definition))
    assert isinstance(graph, Graph) and graph.version == 1, graph


def execute_it() -> None:
    inputs = ExecuteBodyInputs.from_dict({"question": "Where is it?"})
    metadata = {"channel": "mail", "ticket": 7}
    body = ExecuteBody(inputs=inputs)
    run = run_execute.sync("ask", client=client, body=body, x_dsrs_metadata=json.dumps(metadata))
    assert isinstance(run, Run) and run.status is RunStatus.SUCCEEDED and run.outputs, run
    assert run.metadata.to_dict() == metadata, run.metadata
    runs = run_list.sync(client=client, graph="ask")
    assert isinstance(runs, RunPage) and runs.items[0].status is RunStatus.SUCCEEDED, runs


def read_a_problem() -> None:
    problem = run_execute.sync("ask", client=client, body=ExecuteBody(inputs=ExecuteBodyInputs()))
    assert isinstance(problem, Problem) and problem.code is ProblemCode.INVALID_INPUT, problem
    assert problem.errors[0].pointer == "/inputs/question"


def change_an_instruction_and_roll_back() -> None:
    predictor_patch.sync("ask", "ask", client=client, body=PredictorPatch.from_dict({"instruction": "Answer."}))
    state_activate.sync("ask", 1, client=client)


def evaluate_it() -> None:
    examples = [{"inputs": {"question": "q"}, "expected": {"answer": "a"}}]
    body = NewDatasetOfExamples.from_dict({"name": "questions", "examples": examples})
    dataset_create.sync(client=client, body=body)
    evaluation = evaluation_start.sync("ask", client=client, body=EvaluationBody(dataset="questions", metric=MetricName.EXACT))
    while isinstance(evaluation, Evaluation) and evaluation.status in (JobStatus.QUEUED, JobStatus.RUNNING):
        time.sleep(0.1)
        evaluation = evaluation_get.sync(evaluation.id, client=client)
    assert isinstance(evaluation, Evaluation) and evaluation.status is JobStatus.SUCCEEDED, evaluation


for use in (post_a_graph, execute_it, read_a_problem, change_an_instruction_and_roll_back, evaluate_it):
    use()
    print("ok:", use.__name__)
