//! The synthetic LM's tasks with a metric that names the right answer, for optimizers that reflect
//! on feedback; and searches that are interrupted and resumed.

use std::sync::Arc;

use dsrs::graph::{GraphModule, GraphState};
use dsrs::lm::Budget;
use dsrs::optimize::{Example, Metric, Task};
use dsrs::problem::At;
use dsrs::strategy::{BuildEnv, DynModule, GraphUnavailable, StoredEnv, StoredGraphRef};
use dsrs::value::Payload;
use dsrs_synthetic::SyntheticTask;

use crate::support::{Remembering, board, json, program, remembering, run, synthetic};

/// A server with the graph `grader`, which compares the output of this name with the expected value
/// and returns the example's `feedback`, without an LM.
struct Grading(&'static str);

impl BuildEnv for Grading {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn pin_graph(&self, graph: &StoredGraphRef) -> Result<StoredGraphRef, GraphUnavailable> {
        Ok(StoredGraphRef { version: Some(1), state_version: Some(1), ..graph.clone() })
    }

    fn graph(&self, _: &StoredGraphRef) -> Result<Box<dyn DynModule>, GraphUnavailable> {
        let (name, is_right) = (self.0, format!("{0} == expected_{0}", self.0));
        let document = format!(
            r#"{{
                "name": "grader",
                "inputs": {{"{name}": "any", "expected_{name}": "any", "expected_feedback": "str"}},
                "nodes": {{
                    "told": {{"strategy": "render", "config": {{"template": "{{{{ 1 if {is_right} else 0 }}}}"}}}},
                    "score": {{"strategy": "parse_structured", "config": {{"type": "float"}}}},
                    "why": {{"strategy": "render", "config": {{"template":
                        "{{% if {is_right} %}}right{{% else %}}{{{{ expected_feedback }}}}{{% endif %}}"}}}}
                }},
                "edges": [{{"from": "told.text", "to": "score.text"}}],
                "outputs": {{"score": "score.value", "why": "why.text"}}
            }}"#
        );
        let made = GraphModule::new(&json(&document), &GraphState::default(), &StoredEnv);
        Ok(Box::new(made.map_err(|problems| GraphUnavailable::new(problems.to_string()))?))
    }
}

/// A task of the synthetic LM whose examples contain feedback for wrong answers, and whose metric
/// returns it.
pub(crate) fn with_feedback(name: &str, seed: u64, budget: Budget) -> (Task, Vec<Example>) {
    let (mut task, mut held_out) = synthetic(name, seed, budget);
    let known = SyntheticTask::named(name).unwrap();
    let all = task.train.iter_mut().chain(&mut task.val).chain(&mut held_out);
    for (example, row) in all.zip(known.rows(seed, 200)) {
        let mut expected = row.expected;
        expected.insert("feedback".into(), Payload::Str(row.feedback.into()));
        *example = Example::of(row.inputs, expected);
    }
    let output = match name {
        "triage" => "queue",
        "sums" => "result",
        _ => "answer",
    };
    let metric = json(r#"{"graph": "grader", "feedback": "why"}"#);
    let metric = Metric::read(&metric, &Grading(output), &program(known.document), &At::Root);
    task.evaluator.metric = Arc::new(metric.unwrap_or_else(|problems| panic!("{problems}")));
    (task, held_out)
}

/// An optimization that stops after some calls and resumes from the recorded replies has the same
/// board as an uninterrupted one, and sends no request twice.
pub(crate) async fn resumes_after_an_interruption(
    optimizer: &str,
    config: &str,
    name: &str,
    ends: &[u64],
) {
    let found = async |budget, store: &Arc<Remembering>| {
        let (task, held_out) = with_feedback(name, 1, budget);
        let (report, _) = run(optimizer, config, remembering(task, budget, store), &held_out).await;
        report.unwrap()
    };
    let whole = found(Budget::default(), &Arc::default()).await;
    for end in ends {
        let store = Arc::default();
        let ended = found(Budget { lm_calls: Some(*end), ..Budget::default() }, &store).await;
        assert!(ended.stopped.is_some(), "{end}");
        let resumed = found(Budget::default(), &store).await;
        assert_eq!(board(&resumed), board(&whole), "{end}");
        assert_eq!(store.requests(), *store.paid.lock().unwrap(), "{end}");
    }
}
