//! The example requests of the OpenAPI document. A test sends each of them.

use serde_json::{Value, json};

/// A graph of two nodes.
pub(crate) fn graph() -> Value {
    json!({
        "name": "support-reply",
        "description": "Draft a reply to a ticket",
        "types": {"Mood": {"enum": {"calm": null, "angry": null}}},
        "inputs": {"ticket": "str"},
        "nodes": {
            "triage": {
                "strategy": "predict",
                "signature": "ticket -> mood: Mood, topics: list[str]"
            },
            "reply": {
                "strategy": "chain_of_thought",
                "signature": {
                    "instructions": "Answer politely.",
                    "inputs": [
                        {"name": "ticket", "type": "str"},
                        {"name": "mood", "type": "Mood"}
                    ],
                    "outputs": [{"name": "answer", "type": "str"}]
                },
                "lm": {"model": "default", "temperature": 0.2, "max_tokens": 400}
            }
        },
        "edges": [
            {"from": "input.ticket", "to": "triage.ticket"},
            {"from": "input.ticket", "to": "reply.ticket"},
            {"from": "triage.mood", "to": "reply.mood"}
        ],
        "outputs": {"answer": "reply.answer", "mood": "triage.mood"}
    })
}

/// A metric that judges a tenth of the runs.
pub(crate) fn online_evaluation() -> Value {
    json!({
        "metrics": {"short": {"expression": "outputs.answer|length < 400"}},
        "sample": 0.1,
        "calls_per_day": 1000
    })
}

/// An index of the passages of a dataset.
pub(crate) fn index() -> Value {
    json!({"name": "handbook", "dataset": "tickets", "text": "ticket"})
}

/// A score with a comment and corrected outputs.
pub(crate) fn feedback() -> Value {
    json!({
        "name": "helpful",
        "score": 0.0,
        "comment": "It must name the date.",
        "outputs": {"answer": "It arrives on Friday."},
        "source": "user"
    })
}

/// A key for a job of continuous integration.
pub(crate) fn key() -> Value {
    json!({
        "name": "ci",
        "scopes": ["admin"],
        "expires_at": "2099-01-01T00:00:00Z",
        "limits": {"requests_per_minute": 600, "runs_per_minute": 60, "cost_per_day": 5.0}
    })
}

/// A schedule of a run.
pub(crate) fn schedule() -> Value {
    json!({
        "name": "nightly",
        "cron": "0 3 * * *",
        "time_zone": "Europe/Berlin",
        "graph": "support-reply",
        "target": "run",
        "request": {"inputs": {"ticket": "My parcel has not arrived."}}
    })
}

/// A webhook for failures.
pub(crate) fn webhook() -> Value {
    json!({
        "name": "on-call",
        "url": "https://hooks.example.com/dsrs",
        "events": ["run.failed", "evaluation.finished"],
        "graph": "support-reply"
    })
}

/// A change of it.
pub(crate) fn webhook_patch() -> Value {
    json!({"events": ["run.finished"], "graph": null})
}

/// Edits of the graph.
pub(crate) fn edits() -> Value {
    json!({
        "edits": [
            {"op": "rename_node", "name": "reply", "to": "answer"},
            {
                "op": "add_node",
                "name": "summary",
                "node": {"strategy": "predict", "signature": "ticket -> answer"}
            },
            {"op": "connect", "from": "input.ticket", "to": "summary.ticket"},
            {"op": "set_output", "name": "summary", "from": "summary.answer"}
        ]
    })
}

/// Inputs of the graph.
pub(crate) fn execute() -> Value {
    json!({"inputs": {"ticket": "My parcel has not arrived."}, "trace": true})
}

/// Two inputs of the graph.
pub(crate) fn batch() -> Value {
    json!({
        "items": [{"ticket": "My parcel has not arrived."}, {"ticket": "Where is my refund?"}],
        "concurrency": 8
    })
}

/// Examples for the graph.
pub(crate) fn dataset() -> Value {
    json!({
        "name": "tickets",
        "description": "Tickets of last week, labeled by hand",
        "examples": [
            {
                "inputs": {"ticket": "My parcel has not arrived."},
                "expected": {"mood": "calm"},
                "split": "train"
            },
            {"inputs": {"ticket": "Where is my refund?!"}, "expected": {"mood": "angry"}},
            {"inputs": {"ticket": "Thank you, it works now."}, "expected": {"mood": "calm"}},
            {"inputs": {"ticket": "The third broken cup!"}, "expected": {"mood": "angry"}}
        ]
    })
}

/// An evaluation of the graph on the dataset.
pub(crate) fn evaluation() -> Value {
    json!({"dataset": "tickets", "metric": {"exact": {"field": "mood"}}, "max_errors": 10})
}

/// A check of a part of the dataset.
pub(crate) fn dataset_check() -> Value {
    json!({
        "graph": "support-reply",
        "split": "train",
        "seed": 0,
        "fractions": {"train": 0.8, "val": 0.2}
    })
}

/// A run as an example, with a corrected output.
pub(crate) fn from_runs() -> Value {
    let run = "01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f";
    json!({
        "runs": [run],
        "corrections": {run: {"mood": "angry"}},
        "split": "train"
    })
}

/// Options for resuming a run.
pub(crate) fn resume() -> Value {
    json!({"timeout_ms": 60000})
}

/// A value for a waiting node.
pub(crate) fn signal() -> Value {
    json!({"node": "approve", "value": {"approved": true}})
}

/// Inputs of one node of the graph.
pub(crate) fn render() -> Value {
    json!({"node": "triage", "inputs": {"ticket": "My parcel has not arrived."}})
}

/// A state of the graph.
pub(crate) fn state() -> Value {
    json!({
        "predictors": {
            "triage": {
                "instruction": "Judge how the customer feels.",
                "demos": [{
                    "input": {"ticket": "Where is my refund?!"},
                    "output": {"mood": "angry", "topics": ["refund"]}
                }]
            }
        }
    })
}

/// A change of one predictor.
pub(crate) fn predictor() -> Value {
    json!({"instruction": "Judge how the customer feels, and what about."})
}

/// A signature to preview.
pub(crate) fn preview() -> Value {
    json!({"signature": "question, context: list[str] -> answer: float", "config": {}})
}

/// An optimization of the graph on the dataset.
pub(crate) fn optimization() -> Value {
    json!({
        "optimizer": "labeled_few_shot",
        "trainset": "tickets",
        "metric": {"exact": {"field": "mood"}},
        "config": {"k": 4},
        "budget": {"lm_calls": 200},
        "activate": "if_better",
        "seed": 7
    })
}

/// Two types to compare.
pub(crate) fn assignable() -> Value {
    json!({"from": "list[int]", "to": "list[float]"})
}

/// A text to parse.
pub(crate) fn parse() -> Value {
    json!({
        "signature": "ticket -> mood: Mood, topics: list[str]",
        "types": {"Mood": {"enum": {"calm": null, "angry": null}}},
        "text": "**Mood:** Angry.\n\n**Topics:**\n- refund\n- delivery"
    })
}
