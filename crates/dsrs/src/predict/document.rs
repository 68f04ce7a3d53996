//! Predictor state and LM settings as JSON documents. Reading reports every problem. Demo values
//! are checked when the state is loaded, where the schema is known; therefore reading returns what
//! is readable even if there are problems.

use std::sync::Arc;

use super::decision::{read_rules, rules_to_payload};
use super::{Demo, LmOverrides, NearestDemos, PredictState};
use crate::lm::{ExtraBody, ExtraHeaders, LmParams, OnLength, ReasoningEffort, Vectors};
use crate::problem::{At, Code, Problems};
use crate::read::{self, Object, listed};
use crate::value::{Map, Payload};

/// The most stop texts; no provider accepts more.
const STOP_LIMIT: usize = 16;

/// Reads `{model?, temperature?, max_tokens?, top_p?, seed?, stop?, reasoning_effort?, service_tier?,
/// on_length?, extra_body?, extra_headers?}`.
pub fn read_lm(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<LmOverrides> {
    let mut object = Object::open(payload, at, problems)?;
    let model = object.optional("model", read::shared_text);
    let params = LmParams {
        temperature: object.optional("temperature", |p, at, out| within(p, 2.0, at, out)),
        max_tokens: object.optional("max_tokens", count),
        top_p: object.optional("top_p", |p, at, out| within(p, 1.0, at, out)),
        seed: object.optional("seed", read::integer),
        stop: object.optional("stop", stops),
        reasoning_effort: object.optional("reasoning_effort", reasoning_effort),
        service_tier: object.optional("service_tier", service_tier),
        on_length: object.optional("on_length", on_length),
        extra_body: object.optional("extra_body", extra_body),
        extra_headers: object.optional("extra_headers", extra_headers),
    };
    object.close();
    Some(LmOverrides { model, params })
}

/// LM settings as a document. `None` if nothing is set.
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
        ("reasoning_effort", params.reasoning_effort.map(effort_to_payload)),
        ("service_tier", params.service_tier.clone().map(Payload::Str)),
        ("on_length", params.on_length.map(|choice| Payload::from(choice.word()))),
        ("extra_body", params.extra_body.as_ref().map(ExtraBody::to_payload)),
        ("extra_headers", params.extra_headers.as_ref().map(ExtraHeaders::to_payload)),
    ];
    let map: Map = members
        .into_iter()
        .filter_map(|(name, member)| member.map(|member| (Arc::from(name), member)))
        .collect();
    (!map.is_empty()).then(|| Payload::map(map))
}

/// Reads `{instruction, demos: [{input, output}], lm?, nearest?, decisions?}`. Ignores the read-only member
/// `effective_instruction`, so that clients can PUT what they got.
pub fn read_state(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<PredictState> {
    let mut object = Object::open(payload, at, problems)?;
    object.ignore(&["effective_instruction"]);
    let instruction = object.optional("instruction", read::shared_text);
    // An unreadable demo leaves an empty one, so that the indexes of the others stay correct.
    let demos = object.optional("demos", |demos, at, problems| {
        read::list(demos, at, problems, |p, at, out| {
            Some(read_demo(p, at, out).unwrap_or_default())
        })
    });
    let lm = object.optional("lm", read_lm);
    let nearest = object.optional("nearest", read_nearest);
    let decisions = object.optional("decisions", read_rules).unwrap_or_default();
    object.close();
    let (demos, lm) = (demos.unwrap_or_default(), lm.unwrap_or_default());
    Some(PredictState { instruction, demos, lm, nearest, decisions })
}

/// Reads `{model, k, dimensions, vectors}`. Loading the state checks the number of vectors: a patch
/// may leave the demos as they are.
fn read_nearest(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<NearestDemos> {
    let mut object = Object::open(payload, at, problems)?;
    let model = object.required("model", read::shared_text);
    let k = object.required("k", count);
    let dimensions = object.required("dimensions", count);
    let vectors = object.required("vectors", |vectors, at, problems| {
        let text = read::text(vectors, at, problems)?;
        let read = Vectors::from_base64(text, dimensions? as usize);
        let refused =
            |reason| problems.add(at, Code::InvalidValue, format!("the vectors {reason}"));
        read.map_err(refused).ok()
    });
    object.close();
    Some(NearestDemos { model: model?, k: k?, vectors: vectors? })
}

fn nearest_to_payload(nearest: &NearestDemos) -> Payload {
    let NearestDemos { model, k, vectors } = nearest;
    object([
        ("model", Payload::Str(model.clone())),
        ("k", Payload::Int((*k).into())),
        ("dimensions", Payload::Int(i64::try_from(vectors.dimensions()).unwrap_or(i64::MAX))),
        ("vectors", Payload::from(vectors.to_base64().as_str())),
    ])
}

impl PredictState {
    /// Replaces the members that a document `{instruction?, demos?, lm?, nearest?, decisions?}` contains
    /// and leaves the others; null sets the default. Readable parts are applied even if others are not,
    /// so that they are checked too.
    pub fn patch(&mut self, change: &Payload, at: &At<'_>, problems: &mut Problems) {
        let Some(given) = read_state(change, at, problems) else { return };
        let has = |name: &str| change.as_map().is_some_and(|members| members.contains_key(name));
        if has("instruction") {
            self.instruction = given.instruction;
        }
        if has("nearest") {
            self.nearest = given.nearest;
        } else if has("demos") && given.demos != self.demos && self.nearest.is_some() {
            let detail = "other demos need other vectors; set `nearest` to theirs, or to null to show \
                          all demos";
            problems.add(&at.key("nearest"), Code::MissingField, detail);
            self.nearest = None;
        }
        if has("demos") {
            self.demos = given.demos;
        }
        if has("lm") {
            self.lm = given.lm;
        }
        if has("decisions") {
            self.decisions = given.decisions;
        }
    }
}

/// A state as a document: `instruction` and `demos` always, `lm`, `nearest` and `decisions` when they are set.
#[must_use]
pub fn state_to_payload(state: &PredictState) -> Payload {
    let demos = state.demos.iter().map(|demo| {
        let (input, output) = (demo.input.clone(), demo.output.clone());
        object([("input", Payload::map(input)), ("output", Payload::map(output))])
    });
    let instruction = state.instruction.clone().map_or(Payload::Null, Payload::Str);
    let members = [("instruction", instruction), ("demos", Payload::list(demos.collect()))];
    let lm = lm_to_payload(&state.lm).map(|lm| ("lm", lm));
    let nearest = state.nearest.as_ref().map(|nearest| ("nearest", nearest_to_payload(nearest)));
    let decisions = rules_to_payload(&state.decisions).map(|rules| ("decisions", rules));
    object(members.into_iter().chain(lm).chain(nearest).chain(decisions))
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

/// A whole number of at least 1.
fn count(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<u32> {
    let found = read::integer(payload, at, problems)?;
    let count = u32::try_from(found).ok().filter(|count| *count >= 1);
    if count.is_none() {
        let detail = format!("expected a whole number from 1 to {}, found {found}", u32::MAX);
        problems.add(at, Code::InvalidValue, detail);
    }
    count
}

/// A word, or a number of tokens.
fn reasoning_effort(
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<ReasoningEffort> {
    if let Payload::Int(_) | Payload::Float(_) = payload {
        return count(payload, at, problems).map(ReasoningEffort::Tokens);
    }
    let word = read::text(payload, at, problems)?;
    let effort = ReasoningEffort::from_word(word);
    if effort.is_none() {
        let words = listed(ReasoningEffort::WORDS);
        let detail = format!("expected {words}, or a number of tokens; found `{word}`");
        problems.add(at, Code::InvalidValue, detail);
    }
    effort
}

fn on_length(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<OnLength> {
    let word = read::text(payload, at, problems)?;
    let choice = OnLength::from_word(word);
    if choice.is_none() {
        let detail = format!("expected {}; found `{word}`", listed(OnLength::WORDS));
        problems.add(at, Code::InvalidValue, detail);
    }
    choice
}

fn effort_to_payload(effort: ReasoningEffort) -> Payload {
    match effort {
        ReasoningEffort::Tokens(tokens) => Payload::Int(tokens.into()),
        word => Payload::from(word.word()),
    }
}

/// The provider's name of a class of service.
fn service_tier(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Arc<str>> {
    let name = read::shared_text(payload, at, problems)?;
    let is_name = (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_graphic());
    if !is_name {
        let detail = "expected the provider's name of a class of service, such as `flex`";
        problems.add(at, Code::InvalidValue, detail);
    }
    is_name.then_some(name)
}

/// Members of the request that have no setting.
fn extra_body(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<ExtraBody> {
    let members = read::map(payload, at, problems)?;
    ExtraBody::of(members).map_err(|why| problems.add(at, Code::InvalidValue, why)).ok()
}

/// Headers of the request that have no setting.
fn extra_headers(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<ExtraHeaders> {
    let members = read::map(payload, at, problems)?;
    let texts = members
        .iter()
        .map(|(name, value)| Some((&**name, read::text(value, &at.key(name), problems)?)));
    let texts: Option<Vec<_>> = texts.collect();
    let headers = ExtraHeaders::of(texts?);
    headers.map_err(|why| problems.add(at, Code::InvalidValue, why)).ok()
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
