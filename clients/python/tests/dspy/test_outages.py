"""A run that failed for a reason that is not the program's is no score of 0 in DSPy's evaluations and optimizers."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import dspy
import pytest

from dsrs_client import Client
from dsrs_client import RunFailed as ProblemOfRun
from dsrs_client.dspy import Remote, Unmeasured, push
from dsrs_client.dspy.unmeasured import PERMANENT

# The key is wrong, which the server does not try again; and the request is wrong, which is the program's.
OUTAGE, REFUSAL = "answer with status 401", "answer with status 400"


class Capital(dspy.Module):
    """Names a capital."""

    def __init__(self) -> None:
        super().__init__()
        self.capital = dspy.Predict("country -> city")

    def forward(self, country: str) -> Any:
        """One call."""
        return self.capital(country=country)


@pytest.fixture
def remote(client: Client, name: str, lm: dspy.LM) -> Remote:
    """The stored program, without waits."""
    push(Capital(), name, client=client)
    return Remote(name, client=client, waits=())


def right(example: Any, prediction: Any, *_: Any, **__: Any) -> float:
    """Whether the city is right."""
    return float(prediction is not None and example.city == prediction.city)


def examples(*countries: str) -> list[Any]:
    """Examples whose answer is right."""
    return [dspy.Example(country=country, city="Lima").with_inputs("country") for country in countries]


def some(failure: str) -> list[Any]:
    """Examples of which one fails."""
    return examples("Peru", "Republic of Peru", f"Peru, {failure}", "Peru again", "Peru once more", "The same Peru")


def evaluate(program: Any, devset: list[Any], threads: int = 2) -> float:
    """The score that DSPy has for a program."""
    return float(dspy.Evaluate(devset=devset, metric=right, num_threads=threads)(program).score)


def runs(client: Client, graph: str) -> int:
    """The number of its runs."""
    return len(client.request("GET", f"/v1/runs?graph={graph}&limit=200")["items"])


@pytest.mark.parametrize("threads", [1, 4])
def test_an_evaluation_ends_with_the_cause_instead_of_a_score(threads: int, client: Client, remote: Remote) -> None:
    with pytest.raises(Unmeasured) as ended:
        evaluate(remote, some(OUTAGE), threads)
    cause = ended.value.__cause__
    assert isinstance(cause, ProblemOfRun) and cause.code == "lm_error" and cause.problem["unmeasured"] is True
    assert "401" in str(ended.value) and "not the program's" in str(ended.value)


def test_what_the_program_does_is_a_score_of_0(remote: Remote) -> None:
    assert evaluate(remote, some(REFUSAL)) == 83.33


def test_the_threads_that_are_left_start_no_runs(client: Client, remote: Remote) -> None:
    with pytest.raises(Unmeasured):
        evaluate(remote, examples(*[f"{OUTAGE}, {number}" for number in range(40)]), threads=2)
    assert runs(client, remote.connection.name) <= 2


Optimizer = Callable[[Any, Any, list[Any]], Any]


def bootstrap(lm: Any, student: Any, trainset: list[Any]) -> Any:
    """Runs examples one by one."""
    return dspy.BootstrapFewShot(metric=right).compile(student, trainset=trainset)


def random_search(lm: Any, student: Any, trainset: list[Any]) -> Any:
    """Evaluates candidates."""
    optimizer = dspy.BootstrapFewShotWithRandomSearch(metric=right, num_candidate_programs=1, num_threads=2)
    return optimizer.compile(student, trainset=trainset)


def copro(lm: Any, student: Any, trainset: list[Any]) -> Any:
    """Evaluates instructions."""
    optimizer = dspy.COPRO(metric=right, breadth=2, depth=1)
    return optimizer.compile(student, trainset=trainset, eval_kwargs={"num_threads": 2})


def mipro(lm: Any, student: Any, trainset: list[Any]) -> Any:
    """Catches every `Exception` of an evaluation, for a score of 0."""
    optimizer = dspy.MIPROv2(metric=right, auto=None, num_candidates=2, num_threads=2)
    none = {"max_bootstrapped_demos": 0, "max_labeled_demos": 0}
    return optimizer.compile(student, trainset=trainset, valset=trainset, num_trials=2, minibatch=False, **none)


def simba(lm: Any, student: Any, trainset: list[Any]) -> Any:
    """Catches every `Exception` of a program, for a score of 0."""
    optimizer = dspy.SIMBA(metric=right, bsize=len(trainset), num_candidates=2, max_steps=1, num_threads=2)
    return optimizer.compile(student, trainset=trainset)


def gepa(lm: Any, student: Any, trainset: list[Any]) -> Any:
    """Evaluates through an adapter of another package."""
    optimizer = dspy.GEPA(metric=right, max_metric_calls=12, reflection_lm=lm, num_threads=2)
    return optimizer.compile(student, trainset=trainset, valset=trainset)


@pytest.mark.parametrize("optimize", [bootstrap, random_search, copro, mipro, simba, gepa])
def test_an_optimizer_ends_with_the_cause(optimize: Optimizer, remote: Remote, lm: dspy.LM) -> None:
    with pytest.raises(Unmeasured) as ended:
        optimize(lm, remote, some(OUTAGE))
    assert isinstance(ended.value.__cause__, ProblemOfRun)


def test_anywhere_else_it_is_an_exception_like_any_other(remote: Remote) -> None:
    with pytest.raises(ProblemOfRun):
        remote(country=OUTAGE)
    pairs = [(remote, {"country": "Peru"}), (remote, {"country": OUTAGE})]
    parallel = dspy.Parallel(num_threads=2, return_failed_examples=True, disable_progress_bar=True)
    results, _, failures = parallel(pairs)
    assert results[0].city == "Lima" and isinstance(failures[0], ProblemOfRun)


def test_a_thread_that_a_scored_program_starts_ends_the_evaluation(remote: Remote) -> None:
    class Twice(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.remote = remote

        def forward(self, country: str) -> Any:
            parallel = dspy.Parallel(num_threads=2, disable_progress_bar=True)
            return parallel([(self.remote, {"country": country}), (self.remote, {"country": country})])[0]

    assert evaluate(Twice(), examples("Peru", "Republic of Peru")) == 100.0
    with pytest.raises(Unmeasured):
        evaluate(Twice(), some(OUTAGE))


def test_an_outage_that_ends_in_time_is_repeated(client: Client, name: str, lm: dspy.LM) -> None:
    push(Capital(), name, client=client)
    country = f"Peru {uuid.uuid4().hex}, answer 1 times with status 401"
    never = Remote(name, client=client, waits=(0.0,))
    assert evaluate(never, examples(country, "Peru")) == 100.0
    assert runs(client, name) == 3


class Refusing:
    """A client whose executions are refused."""

    def __init__(self, client: Client, error: Exception) -> None:
        self.client, self.error, self.asked = client, error, 0

    def request(self, method: str, path: str, json: Any = None) -> Any:
        """One request."""
        if path.endswith("/execute"):
            self.asked += 1
            raise self.error
        return self.client.request(method, path, json)


class Refused(Exception):
    """A refusal that names no run."""

    def __init__(self, status: int, **problem: Any) -> None:
        super().__init__(f"{status}")
        self.status, self.problem = status, problem


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (Refused(429, code="rate_limited", retry_after=0), 2),
        (Refused(429, code="rate_limited", retry_after=3600), 1),
        (Refused(402, code="budget_exhausted", retry_after=0), 1),
        (Refused(503, code="unavailable"), 2),
        (ConnectionError("no route"), 2),
    ],
)
def test_a_refusal_of_the_server_is_no_score(error: Exception, asked: int, client: Client, remote: Remote) -> None:
    refusing = Refusing(client, error)
    again = Remote(remote.connection.name, client=refusing, waits=(0.0,))
    with pytest.raises(Unmeasured) as ended:
        evaluate(again, examples("Peru"), threads=1)
    assert (ended.value.__cause__, refusing.asked) == (error, asked)


def test_inputs_that_do_not_fit_are_a_score_of_0(client: Client, remote: Remote) -> None:
    refusing = Refusing(client, Refused(422, code="invalid_input"))
    assert evaluate(Remote(remote.connection.name, client=refusing), examples("Peru"), threads=1) == 0.0


def test_the_codes_that_waiting_does_not_change_are_those_of_the_server(client: Client) -> None:
    document = client.request("GET", "/openapi.json")
    assert set(document["components"]["schemas"]["ProblemCode"]["enum"]) >= PERMANENT
    assert document["components"]["schemas"]["Problem"]["properties"]["unmeasured"]["type"] == ["boolean", "null"]
