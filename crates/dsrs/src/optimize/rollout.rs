//! A rollout: one example run and scored. Defines its stored form.

use std::sync::Arc;
use std::time::Duration;

use crate::lm::Usage;
use crate::problem::Problems;
use crate::value::{Fields, Map, Payload};

use super::{PredictorCall, RolloutFailure, Score};

/// The error code of a candidate that does not build.
const UNFIT: &str = "unfit";

/// The result of a program on an example.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    /// The outputs of the graph, unless the run failed.
    pub outputs: Option<Fields>,
    /// The score; 0 if the run or the metric failed. It counts only if the rollout [is measured](Self::is_measured).
    pub score: Score,
    /// Why it failed, if it did.
    pub error: Option<RolloutFailure>,
    /// The usage of the program, recorded replies included.
    pub usage: Usage,
    /// The usage of the metric.
    pub judging: Usage,
    /// The calls of predictors.
    pub calls: Vec<PredictorCall>,
    /// The parse reports of answers, by predictor path.
    pub reports: Vec<(Arc<str>, Payload)>,
    /// The duration of the program.
    pub took: Duration,
}

impl Rollout {
    /// A rollout that failed before it used anything.
    #[must_use]
    pub fn failed(error: RolloutFailure) -> Self {
        Self {
            outputs: None,
            score: Score { value: 0.0, feedback: None },
            error: Some(error),
            usage: Usage::default(),
            judging: Usage::default(),
            calls: Vec::new(),
            reports: Vec::new(),
            took: Duration::ZERO,
        }
    }

    /// The rollout of a candidate that does not build.
    pub(super) fn unfit(problems: &Problems) -> Self {
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        let message = format!("the candidate does not build: {}", problems.join("; "));
        Self::failed(RolloutFailure {
            code: UNFIT.into(),
            message: message.into(),
            node: None,
            is_unmeasured: false,
        })
    }

    /// Whether the score says something about the program: it succeeded, or failed for a reason of its own.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.error.as_ref().is_none_or(|error| !error.is_unmeasured)
    }

    /// Whether the candidate does not build.
    pub(super) fn is_unfit(&self) -> bool {
        self.error.as_ref().is_some_and(|error| &*error.code == UNFIT)
    }

    /// Its approximate size in bytes, ignoring shared texts.
    #[must_use]
    pub fn size(&self) -> usize {
        let calls = self.calls.iter().map(|call| sizes(&call.inputs) + sizes(&call.outputs));
        let reports = self.reports.iter().map(|(_, report)| size(report));
        let words = self.score.feedback.as_ref().map_or(0, |feedback| feedback.len());
        let error = self.error.as_ref().map_or(0, |error| error.message.len());
        let outputs = self.outputs.as_ref().map_or(0, sizes);
        size_of::<Self>() + calls.chain(reports).sum::<usize>() + words + error + outputs
    }

    /// Its score.
    #[must_use]
    pub const fn value(&self) -> f64 {
        self.score.value
    }

    /// As plain data, for [`Self::from_payload`].
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        let fields = |fields: &Fields| Payload::map(fields.clone());
        let calls = self.calls.iter().map(|call| {
            let path = Payload::Str(call.predictor.clone());
            Payload::list(vec![path, fields(&call.inputs), fields(&call.outputs)])
        });
        let reports = self.reports.iter();
        let reports = reports
            .map(|(path, report)| Payload::list(vec![Payload::Str(path.clone()), report.clone()]));
        let error = self.error.as_ref().map_or(Payload::Null, |error| {
            let node = error.node.clone().map_or(Payload::Null, Payload::Str);
            let code = Payload::Str(error.code.clone());
            let mut members = vec![code, Payload::Str(error.message.clone()), node];
            members.extend(error.is_unmeasured.then_some(Payload::Bool(true)));
            Payload::list(members)
        });
        let members = [
            ("outputs", self.outputs.as_ref().map_or(Payload::Null, fields)),
            ("score", Payload::Float(self.score.value)),
            ("feedback", self.score.feedback.clone().map_or(Payload::Null, Payload::Str)),
            ("error", error),
            ("usage", self.usage.to_payload()),
            ("judging", self.judging.to_payload()),
            ("steps", Payload::list(calls.collect())),
            ("reports", Payload::list(reports.collect())),
            ("took", Payload::Float(self.took.as_secs_f64())),
        ];
        Payload::map(members.map(|(name, member)| (Arc::from(name), member)).into_iter().collect())
    }

    /// Reads the data of [`Self::to_payload`]; `None` if it does not fit.
    #[must_use]
    pub fn from_payload(written: &Payload) -> Option<Self> {
        let members = written.as_map()?;
        let calls = members.get("steps")?.as_list()?.iter().map(|call| {
            let [path, inputs, outputs] = call.as_list()? else { return None };
            let (inputs, outputs) = (inputs.as_map()?.clone(), outputs.as_map()?.clone());
            Some(PredictorCall { predictor: path.as_str()?.into(), inputs, outputs })
        });
        let reports = members.get("reports")?.as_list()?.iter().map(|report| {
            let [path, report] = report.as_list()? else { return None };
            Some((Arc::from(path.as_str()?), report.clone()))
        });
        let error = match members.get("error")? {
            Payload::Null => None,
            error => {
                let [code, message, node, rest @ ..] = error.as_list()? else { return None };
                let node = node.as_str().map(Arc::from);
                Some(RolloutFailure {
                    code: code.as_str()?.into(),
                    message: message.as_str()?.into(),
                    node,
                    is_unmeasured: rest.first() == Some(&Payload::Bool(true)),
                })
            }
        };
        let feedback = members.get("feedback")?.as_str().map(Arc::from);
        let took = Duration::try_from_secs_f64(number(members, "took")?).ok()?;
        Some(Self {
            outputs: members.get("outputs")?.as_map().cloned(),
            score: Score { value: number(members, "score")?, feedback },
            error,
            usage: Usage::from_payload(members.get("usage")?)?,
            judging: Usage::from_payload(members.get("judging")?)?,
            calls: calls.collect::<Option<_>>()?,
            reports: reports.collect::<Option<_>>()?,
            took,
        })
    }
}

fn sizes(fields: &Map) -> usize {
    fields.iter().map(|(name, value)| name.len() + size(value)).sum::<usize>() + size_of::<Map>()
}

fn size(value: &Payload) -> usize {
    let below = match value {
        Payload::Str(text) => text.len(),
        Payload::Bytes(bytes) => bytes.len(),
        Payload::List(elements) => elements.iter().map(size).sum(),
        Payload::Map(members) => sizes(members),
        Payload::Error(failure) => failure.message.len(),
        Payload::Null | Payload::Bool(_) | Payload::Int(_) | Payload::Float(_) => 0,
    };
    size_of::<Payload>() + below
}

fn number(members: &Map, name: &str) -> Option<f64> {
    match members.get(name)? {
        Payload::Float(number) => Some(*number),
        Payload::Int(number) => Some(*number as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_rollout_reads_back_equal() {
        let fields = |text: &str| Payload::from_json(text).unwrap().as_map().unwrap().clone();
        let usage = Usage { lm_calls: 2, input_tokens: 30, cost: Some(0.5), ..Usage::default() };
        let good = Rollout {
            outputs: Some(fields(r#"{"answer": "Paris", "n": 1.0}"#)),
            score: Score { value: 0.5, feedback: Some("be brief".into()) },
            error: None,
            usage,
            judging: Usage::default(),
            calls: vec![PredictorCall {
                predictor: "qa.predict".into(),
                inputs: fields(r#"{"question": "?"}"#),
                outputs: fields(r#"{"answer": "Paris"}"#),
            }],
            reports: vec![("qa.predict".into(), Payload::list(vec![Payload::Int(1)]))],
            took: Duration::from_millis(1500),
        };
        let error = RolloutFailure {
            code: "parse_error".into(),
            message: "no".into(),
            node: None,
            is_unmeasured: false,
        };
        let bad = Rollout { outputs: None, error: Some(error), ..good.clone() };
        for rollout in [good, bad] {
            let written = rollout.to_payload().to_json();
            let read = Payload::from_json(&written).unwrap();
            assert_eq!(Rollout::from_payload(&read), Some(rollout));
        }
    }

    #[test]
    fn the_size_of_a_rollout_counts_its_values() {
        let small = Rollout::unfit(&Problems::new());
        let long = Payload::str("a".repeat(100_000));
        let outputs: Fields =
            [(Arc::from("answer"), Payload::list(vec![long]))].into_iter().collect();
        let call = PredictorCall {
            predictor: "qa".into(),
            inputs: Fields::new(),
            outputs: outputs.clone(),
        };
        let large = Rollout { outputs: Some(outputs), calls: vec![call], ..small.clone() };
        assert!(small.size() < 1_000 && (200_000..202_000).contains(&large.size()));
    }
}
