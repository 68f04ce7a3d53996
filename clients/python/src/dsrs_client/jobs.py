"""Batches, evaluations and optimizations: started, followed with their progress, and read."""

from __future__ import annotations

from typing import Any

from .progress import Report
from .request import Json, Operation, Pause, get, given, keyed_post, segment
from .run import ENDED


def follow(path: str, report: Report, period: float) -> Operation[Json]:
    """Waits for the end of a job and reports its progress."""
    while True:
        job = yield get(path)
        report(*_standing(job))
        if job["status"] in ENDED:
            return job
        yield Pause(period)


def _standing(job: dict[str, Any]) -> tuple[int, int, str]:
    """What is done, of how much, and the score so far."""
    if "optimizer" in job:
        is_over = job["status"] in ENDED
        score = ((job.get("result") or {}).get("best") or {}).get("score")
        text = f"{job['candidates']} candidates" + (f", best {score:.3f}" if isinstance(score, float) else "")
        return int(is_over), 1, text
    counts = job["counts"]
    total = max(1, int(counts["total"]))
    done = counts.get("done", total - counts.get("pending", 0))
    score = job.get("mean_score")
    text = f"score {score:.3f}" if score is not None else str(job["status"])
    unmeasured = counts.get("unmeasured")
    return min(int(done), total), total, f"{text}, {unmeasured} unmeasured" if unmeasured else text


def compare(evaluation: str, against: str) -> Operation[Json]:
    """The comparison with all of its pairs."""
    path = f"/v1/evaluations/{segment(evaluation)}/comparison"
    pairs: list[Json] = []
    cursor: str | None = None
    while True:
        page = yield get(path, against=against, limit=200, cursor=cursor)
        pairs += page["pairs"]
        cursor = page.get("next_cursor")
        if cursor is None:
            return {**page, "pairs": pairs}


def start_evaluation(graph: str, dataset: Any, metric: Any, options: dict[str, Any]) -> Operation[Json]:
    """Starts an evaluation."""
    body = {"dataset": dataset, "metric": metric, **given(**options)}
    return (yield keyed_post(f"/v1/graphs/{segment(graph)}/evaluations", body))


def start_optimization(
    graph: str, optimizer: str, trainset: Any, metric: Any, options: dict[str, Any]
) -> Operation[Json]:
    """Starts an optimization."""
    body = {"optimizer": optimizer, "trainset": trainset, "metric": metric, **given(**options)}
    return (yield keyed_post(f"/v1/graphs/{segment(graph)}/optimizations", body))
