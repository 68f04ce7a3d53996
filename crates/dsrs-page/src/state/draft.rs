//! An edit of one predictor before it is saved: read from its state or from the form, and written as the body of
//! `PATCH …/predictors/{path}`. Knows no HTML.

use std::collections::HashSet;
use std::sync::Arc;

use dsrs::predict::{Demo, DynPredictor, lm_to_payload, state_to_payload};
use dsrs::signature::{FieldSchema, SignatureSchema};
use dsrs::types::TypeIR;
use dsrs::value::{Fields, Map, Payload};

use crate::form::Form;
use crate::parts::typed_field::typed_value;
use crate::parts::values::plain;

/// More demos are edited as JSON.
const MOST_DEMOS: usize = 40;

/// A longer text of demos is not edited here.
const MOST_BYTES: usize = 400_000;

/// What a form has of a predictor.
#[derive(Clone, Debug)]
pub(super) struct PredictorDraft {
    /// Empty for the instruction of the signature.
    pub(super) instruction: String,
    pub(super) demos: DraftDemos,
    /// LM settings as JSON; empty for none.
    pub(super) lm: String,
    /// Whether the choice of demos for each call ends.
    pub(super) shows_all_demos: bool,
}

#[derive(Clone, Debug)]
pub(super) enum DraftDemos {
    /// Field by field.
    Fields(Vec<DraftDemo>),
    /// Many, as JSON.
    Json(String),
    /// Too many to edit here; they stay as they are.
    Fixed(usize),
}

/// A demo as texts of the form.
#[derive(Clone, Debug, Default)]
pub(super) struct DraftDemo {
    pub(super) input: Vec<DraftField>,
    pub(super) output: Vec<DraftField>,
}

/// A value of a demo as text.
#[derive(Clone, Debug)]
pub(super) struct DraftField {
    pub(super) field: FieldSchema,
    pub(super) text: String,
    /// Whether the demo leaves the field out as long as its text is empty.
    pub(super) is_absent: bool,
}

impl PredictorDraft {
    pub(super) fn of_state(predictor: &dyn DynPredictor) -> Self {
        let (state, schema) = (predictor.state(), predictor.schema());
        let demos = match state.demos.len() {
            0..=MOST_DEMOS => DraftDemos::Fields(
                state.demos.iter().map(|demo| DraftDemo::of_demo(demo, schema)).collect(),
            ),
            many => {
                let document = state_to_payload(state);
                let demos = document.as_map().and_then(|members| members.get("demos"));
                let text = demos.map(|demos| pretty(&demos.to_json())).unwrap_or_default();
                if text.len() > MOST_BYTES {
                    DraftDemos::Fixed(many)
                } else {
                    DraftDemos::Json(text)
                }
            }
        };
        Self {
            instruction: state.instruction.as_deref().unwrap_or_default().to_owned(),
            demos,
            lm: lm_to_payload(&state.lm).map(|lm| lm.to_json()).unwrap_or_default(),
            shows_all_demos: false,
        }
    }

    /// What was entered, and then one step of editing: a demo added, removed or moved. A form without the fields of
    /// the predictor has its state.
    pub(super) fn of_form(predictor: &dyn DynPredictor, form: &Form) -> Self {
        let mut draft = Self::of_state(predictor);
        if !form.iter().any(|(name, _)| name == "instruction") {
            return draft;
        }
        draft.instruction = lines(form.text("instruction"));
        draft.lm = form.text("lm").trim().to_owned();
        draft.shows_all_demos = form.given("show_all").is_some();
        if form.iter().any(|(name, _)| name == "demos") {
            draft.demos = DraftDemos::Json(form.text("demos").to_owned());
        } else if let DraftDemos::Fields(demos) = &mut draft.demos {
            *demos = entered(predictor.schema(), form);
            step(demos, form.text("act"), predictor.schema());
        }
        draft
    }

    /// The body of `PATCH …/predictors/{path}`.
    pub(super) fn change(&self) -> Payload {
        let instruction = match self.instruction.trim() {
            "" => Payload::Null,
            _ => Payload::str(self.instruction.as_str()),
        };
        let lm = if self.lm.is_empty() { Payload::Null } else { json_or_text(&self.lm) };
        let demos = match &self.demos {
            DraftDemos::Fields(demos) => {
                Some(Payload::list(demos.iter().map(DraftDemo::payload).collect()))
            }
            DraftDemos::Json(text) => Some(json_or_text(text)),
            DraftDemos::Fixed(_) => None,
        };
        let members = [("instruction", instruction), ("lm", lm)].into_iter();
        let members = members.chain(demos.map(|demos| ("demos", demos)));
        let members = members.chain(self.shows_all_demos.then_some(("nearest", Payload::Null)));
        Payload::map(members.map(|(name, value)| (Arc::from(name), value)).collect::<Map>())
    }
}

impl DraftDemo {
    fn of_demo(demo: &Demo, schema: &SignatureSchema) -> Self {
        let side = |fields: &[FieldSchema], values: &Fields| {
            let text = |field: &FieldSchema| match values.get(&field.name) {
                Some(value) => DraftField::new(field, shown(value), false),
                None => DraftField::new(field, String::new(), true),
            };
            fields.iter().map(text).collect()
        };
        Self {
            input: side(&schema.inputs, &demo.input),
            output: side(&schema.outputs, &demo.output),
        }
    }

    fn payload(&self) -> Payload {
        let side = |fields: &[DraftField]| {
            let values =
                fields.iter().filter_map(|field| Some((field.field.name.clone(), field.value()?)));
            Payload::map(values.collect::<Map>())
        };
        let members = [("input", side(&self.input)), ("output", side(&self.output))];
        Payload::map(members.map(|(name, value)| (Arc::from(name), value)).into_iter().collect())
    }
}

impl DraftField {
    fn new(field: &FieldSchema, text: String, is_absent: bool) -> Self {
        Self { field: field.clone(), text, is_absent }
    }

    fn value(&self) -> Option<Payload> {
        let is_left_out = self.text.is_empty() && (self.is_absent || self.field.ty != TypeIR::Str);
        (!is_left_out).then(|| typed_value(&self.text, &self.field.ty))
    }
}

/// The name of a field of a demo in the form.
pub(super) fn field_name(demo: usize, side: &str, field: &str) -> String {
    format!("demo.{demo}.{side}.{field}")
}

/// The demos of a form: as many as it has fields `demo`.
fn entered(schema: &SignatureSchema, form: &Form) -> Vec<DraftDemo> {
    let absent: HashSet<&str> = form.all("absent").collect();
    let side = |demo: usize, side: &str, fields: &[FieldSchema]| {
        let field = |field: &FieldSchema| {
            let name = field_name(demo, side, &field.name);
            DraftField::new(field, lines(form.text(&name)), absent.contains(name.as_str()))
        };
        fields.iter().map(field).collect()
    };
    let demo = |demo| DraftDemo {
        input: side(demo, "input", &schema.inputs),
        output: side(demo, "output", &schema.outputs),
    };
    (0..form.all("demo").count().min(2 * MOST_DEMOS)).map(demo).collect()
}

/// One step of editing the list: `add`, `remove.2`, `up.2`, `down.2`.
fn step(demos: &mut Vec<DraftDemo>, act: &str, schema: &SignatureSchema) {
    if act == "add" {
        demos.push(DraftDemo::of_demo(&Demo::default(), schema));
        return;
    }
    let Some((act, Ok(at))) = act.split_once('.').map(|(act, at)| (act, at.parse::<usize>()))
    else {
        return;
    };
    match act {
        "remove" if at < demos.len() => drop(demos.remove(at)),
        "up" if at > 0 && at < demos.len() => demos.swap(at - 1, at),
        "down" if at + 1 < demos.len() => demos.swap(at, at + 1),
        _ => {}
    }
}

/// Browsers send line breaks as CR LF.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A value as it is typed: texts as they are, everything else as JSON.
fn shown(value: &Payload) -> String {
    match value {
        Payload::Str(text) => text.to_string(),
        other => serde_json::from_str(&other.to_json())
            .map_or_else(|_| other.to_json(), |value| plain(&value)),
    }
}

fn json_or_text(text: &str) -> Payload {
    Payload::from_json(text).unwrap_or_else(|_| Payload::str(text))
}

fn pretty(json: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(json).ok();
    value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_default()
}
