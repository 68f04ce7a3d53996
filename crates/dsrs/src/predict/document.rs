//! Predictor state and LM settings as JSON documents, read with every problem reported. Values of
//! demos are checked when the state is loaded, where the schema is known; so that they can be in
//! any case, what is readable of a document is given back beside its problems.

use std::sync::Arc;

use super::{Demo, LmOverrides, PredictState};
use crate::lm::LmParams;
use crate::problem::{At, Code, Problems};
use crate::read::{self, Object};
use crate::value::{Map, Payload};

/// The most texts at which an answer ends; no provider takes more.
const STOP_LIMIT: usize = 16;

/// Reads `{model?, temperature?, max_tokens?, top_p?, seed?, stop?}`.
pub fn read_lm(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<LmOverrides> {
    let mut object = Object::open(payload, at, problems)?;
    let model = object.optional("model", read::shared_text);
    let params = LmParams {
        temperature: object.optional("temperature", |p, at, out| within(p, 2.0, at, out)),
        max_tokens: object.optional("max_tokens", tokens),
        top_p: object.optional("top_p", |p, at, out| within(p, 1.0, at, out)),
        seed: object.optional("seed", integer),
        stop: object.optional("stop", stops),
    };
    object.close();
    Some(LmOverrides { model, params })
}

/// LM settings as a document; `None` when nothing is set.
#[must_use]
pub fn lm_to_payload(lm: &LmOverrides) -> Option<Payload> {
    let params = &lm.params;
    let stop = params
        .stop
        .as_ref()
        .map(|texts| Payload::list(texts.iter().map(|text| Payload::Str(text.clone())).collect()));
    let members = [
        ("model", lm.model.clone().map(Payload::Str)),
        ("temperature", params.temperature.map(Payload::Float)),
        ("max_tokens", params.max_tokens.map(|count| Payload::Int(count.into()))),
        ("top_p", params.top_p.map(Payload::Float)),
        ("seed", params.seed.map(Payload::Int)),
        ("stop", stop),
    ];
    let map: Map = members
        .into_iter()
        .filter_map(|(name, member)| member.map(|member| (Arc::from(name), member)))
        .collect();
    (!map.is_empty()).then(|| Payload::map(map))
}

/// Reads `{instruction, demos: [{input, output}], lm?}`. The read-only member
/// `effective_instruction` is accepted and ignored, so that an answer can be put back.
pub fn read_state(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<PredictState> {
    let mut object = Object::open(payload, at, problems)?;
    object.ignore(&["effective_instruction"]);
    let instruction = object.optional("instruction", read::shared_text);
    // An unreadable demo keeps its place, so that the others are found at theirs.
    let demos = object.optional("demos", |demos, at, problems| {
        read::list(demos, at, problems, |p, at, out| {
            Some(read_demo(p, at, out).unwrap_or_default())
        })
    });
    let lm = object.optional("lm", read_lm);
    object.close();
    Some(PredictState { instruction, demos: demos.unwrap_or_default(), lm: lm.unwrap_or_default() })
}

impl PredictState {
    /// Replaces the members that a document `{instruction?, demos?, lm?}` gives, null being their
    /// default, and leaves the others. What is readable of it is taken, so that it is checked, too.
    pub fn patch(&mut self, change: &Payload, at: &At<'_>, problems: &mut Problems) {
        let Some(given) = read_state(change, at, problems) else { return };
        let has = |name: &str| change.as_map().is_some_and(|members| members.contains_key(name));
        if has("instruction") {
            self.instruction = given.instruction;
        }
        if has("demos") {
            self.demos = given.demos;
        }
        if has("lm") {
            self.lm = given.lm;
        }
    }
}

/// A state as a document: `instruction` and `demos` always, `lm` when something is set.
#[must_use]
pub fn state_to_payload(state: &PredictState) -> Payload {
    let demos = state.demos.iter().map(|demo| {
        let (input, output) = (demo.input.clone(), demo.output.clone());
        object([("input", Payload::map(input)), ("output", Payload::map(output))])
    });
    let instruction = state.instruction.clone().map_or(Payload::Null, Payload::Str);
    let members = [("instruction", instruction), ("demos", Payload::list(demos.collect()))];
    object(members.into_iter().chain(lm_to_payload(&state.lm).map(|lm| ("lm", lm))))
}

fn object(members: impl IntoIterator<Item = (&'static str, Payload)>) -> Payload {
    let members = members.into_iter().map(|(name, member)| (Arc::from(name), member));
    Payload::map(members.collect())
}

fn read_demo(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Demo> {
    let mut object = Object::open(payload, at, problems)?;
    let input = object.required("input", read::map).cloned();
    let output = object.required("output", read::map).cloned();
    object.close();
    Some(Demo { input: input.unwrap_or_default(), output: output.unwrap_or_default() })
}

fn within(payload: &Payload, most: f64, at: &At<'_>, problems: &mut Problems) -> Option<f64> {
    let found = read::number(payload, at, problems)?;
    if (0.0..=most).contains(&found) {
        return Some(found);
    }
    problems.add(
        at,
        Code::InvalidValue,
        format!("expected a number from 0 to {most}, found {found}"),
    );
    None
}

fn tokens(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<u32> {
    let found = integer(payload, at, problems)?;
    let count = u32::try_from(found).ok().filter(|count| *count >= 1);
    if count.is_none() {
        let detail = format!("expected a whole number from 1 to {}, found {found}", u32::MAX);
        problems.add(at, Code::InvalidValue, detail);
    }
    count
}

fn integer(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<i64> {
    if let Payload::Int(found) = payload {
        return Some(*found);
    }
    read::wrong_type(at, problems, "an integer", payload);
    None
}

/// One text or several.
fn stops(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Vec<Arc<str>>> {
    let texts = match payload {
        Payload::Str(text) => vec![text.clone()],
        other => read::list(other, at, problems, read::shared_text)?,
    };
    if texts.is_empty() || texts.len() > STOP_LIMIT || texts.iter().any(|text| text.is_empty()) {
        let detail = format!("expected 1 to {STOP_LIMIT} texts, none of them empty");
        problems.add(at, Code::InvalidValue, detail);
        return None;
    }
    Some(texts)
}
