//! A difference of states as a document, and as lines to read.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{
    DemoChange, DemoField, InstructionChange, PredictorDiff, Presence, StateDiff, ValueChange,
};
use crate::predict::{DecisionRule, Demo, NearestDemos};
use crate::value::Payload;

/// How many digits of a hash represent the vectors of a state.
const DIGITS: usize = 16;

impl StateDiff {
    /// `{path: {change, instruction?, demos?, lm?, nearest?, decisions?}}`; unchanged members are
    /// left out. Vectors are represented by the first digits of their hash.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        let predictors = self.0.iter().map(|(path, found)| (path.clone(), found.to_payload()));
        Payload::map(predictors.collect())
    }

    /// A readable form with one line per change that starts with `+`, `-` or `~`. Empty if there is no
    /// difference.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (path, found) in &self.0 {
            found.write_lines(path, &mut text);
        }
        text
    }
}

impl PredictorDiff {
    fn to_payload(&self) -> Payload {
        let change = match self.presence {
            Presence::Both => "changed",
            Presence::Added => "added",
            Presence::Removed => "removed",
        };
        let demos = || Payload::list(self.demos.iter().map(demo_change).collect());
        let lm =
            || Payload::map(self.lm.iter().map(|(name, c)| (name.clone(), sides(c))).collect());
        let rules = self.decisions.iter();
        let rules =
            || Payload::map(rules.map(|(name, c)| (name.clone(), sides(&rule(c)))).collect());
        let members = [
            Some(("change", Payload::from(change))),
            self.instruction.as_ref().map(|found| ("instruction", instruction(found))),
            (!self.demos.is_empty()).then(|| ("demos", demos())),
            (!self.lm.is_empty()).then(|| ("lm", lm())),
            self.nearest.as_ref().map(|found| ("nearest", sides(&brief(found)))),
            (!self.decisions.is_empty()).then(|| ("decisions", rules())),
        ];
        object(members.into_iter().flatten())
    }

    fn write_lines(&self, path: &str, text: &mut String) {
        match self.presence {
            Presence::Both => {}
            Presence::Added => line(text, '+', format_args!("predictor {path}")),
            Presence::Removed => line(text, '-', format_args!("predictor {path}")),
        }
        if let Some(found) = &self.instruction {
            let shown =
                |text: &Option<Arc<str>>| json_or_none(text.clone().map(Payload::Str).as_ref());
            let (before, after) = (shown(&found.effective.before), shown(&found.effective.after));
            line(text, '~', format_args!("{path} instruction: {before} -> {after}"));
        }
        for change in &self.demos {
            write_demo(path, change, text);
        }
        for (name, change) in &self.lm {
            let (before, after) =
                (json_or_none(change.before.as_ref()), json_or_none(change.after.as_ref()));
            line(text, '~', format_args!("{path} lm.{name}: {before} -> {after}"));
        }
        if let Some(found) = self.nearest.as_ref().map(brief) {
            let (before, after) =
                (json_or_none(found.before.as_ref()), json_or_none(found.after.as_ref()));
            line(text, '~', format_args!("{path} nearest: {before} -> {after}"));
        }
        for (output, change) in &self.decisions {
            let change = rule(change);
            let (before, after) =
                (json_or_none(change.before.as_ref()), json_or_none(change.after.as_ref()));
            line(text, '~', format_args!("{path} decisions.{output}: {before} -> {after}"));
        }
    }
}

fn write_demo(path: &str, change: &DemoChange, text: &mut String) {
    match change {
        DemoChange::Removed { from, demo } => {
            line(text, '-', format_args!("{path} demo {from}: {}", demo_payload(demo).to_json()));
        }
        DemoChange::Added { to, demo } => {
            line(text, '+', format_args!("{path} demo {to}: {}", demo_payload(demo).to_json()));
        }
        DemoChange::Moved { from, to } => {
            line(text, '~', format_args!("{path} demo {from} -> demo {to}"));
        }
        DemoChange::Changed { from, to, fields } => {
            for field in fields {
                let place =
                    if from == to { format!("{to}") } else { format!("{from} -> demo {to}") };
                let (side, name) = (side_of(field), &field.name);
                let value = &field.value;
                let (before, after) =
                    (json_or_none(value.before.as_ref()), json_or_none(value.after.as_ref()));
                let what = format_args!("{path} demo {place} {side}.{name}: {before} -> {after}");
                line(text, '~', what);
            }
        }
    }
}

fn line(text: &mut String, sign: char, what: std::fmt::Arguments<'_>) {
    // Writing into a text cannot fail.
    let _ = writeln!(text, "{sign} {what}");
}

fn json_or_none(value: Option<&Payload>) -> String {
    value.map_or_else(|| "none".to_owned(), Payload::to_json)
}

fn instruction(found: &InstructionChange) -> Payload {
    let text = |text: &Option<Arc<str>>| text.clone().map_or(Payload::Null, Payload::Str);
    object([
        ("before", text(&found.set.before)),
        ("after", text(&found.set.after)),
        ("effective_before", text(&found.effective.before)),
        ("effective_after", text(&found.effective.after)),
    ])
}

fn demo_change(change: &DemoChange) -> Payload {
    let at = |position: usize| Payload::Int(i64::try_from(position).unwrap_or(i64::MAX));
    match change {
        DemoChange::Removed { from, demo } => object([
            ("change", Payload::from("removed")),
            ("from", at(*from)),
            ("demo", demo_payload(demo)),
        ]),
        DemoChange::Added { to, demo } => object([
            ("change", Payload::from("added")),
            ("to", at(*to)),
            ("demo", demo_payload(demo)),
        ]),
        DemoChange::Moved { from, to } => {
            object([("change", Payload::from("moved")), ("from", at(*from)), ("to", at(*to))])
        }
        DemoChange::Changed { from, to, fields } => object([
            ("change", Payload::from("changed")),
            ("from", at(*from)),
            ("to", at(*to)),
            ("fields", Payload::list(fields.iter().map(demo_field).collect())),
        ]),
    }
}

fn demo_field(field: &DemoField) -> Payload {
    let name = format!("{}.{}", side_of(field), field.name);
    object([("field", Payload::from(name.as_str()))].into_iter().chain(both(&field.value)))
}

fn side_of(field: &DemoField) -> &'static str {
    if field.input { "input" } else { "output" }
}

/// How demos are chosen, with a part of a hash instead of the vectors.
fn brief(found: &ValueChange<NearestDemos>) -> ValueChange<Payload> {
    let summary = |nearest: &Option<NearestDemos>| {
        let NearestDemos { model, k, vectors } = nearest.as_ref()?;
        let count = |count: usize| Payload::Int(i64::try_from(count).unwrap_or(i64::MAX));
        let digest = Sha256::digest(vectors.to_base64());
        let digits = digest.iter().take(DIGITS / 2).fold(String::new(), |mut digits, byte| {
            // Writing into a text cannot fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        });
        Some(object([
            ("model", Payload::Str(model.clone())),
            ("k", Payload::Int((*k).into())),
            ("demos", count(vectors.len())),
            ("dimensions", count(vectors.dimensions())),
            ("vectors", Payload::from(digits.as_str())),
        ]))
    };
    ValueChange { before: summary(&found.before), after: summary(&found.after) }
}

fn rule(change: &ValueChange<DecisionRule>) -> ValueChange<Payload> {
    let shown = |rule: &Option<DecisionRule>| rule.as_ref().map(DecisionRule::to_payload);
    ValueChange { before: shown(&change.before), after: shown(&change.after) }
}

fn demo_payload(demo: &Demo) -> Payload {
    let (input, output) = (Payload::map(demo.input.clone()), Payload::map(demo.output.clone()));
    object([("input", input), ("output", output)])
}

fn sides(change: &ValueChange<Payload>) -> Payload {
    object(both(change))
}

/// `before` and `after`; a side on which there is nothing is left out, because null is a value.
fn both(change: &ValueChange<Payload>) -> impl Iterator<Item = (&'static str, Payload)> {
    let side = |name, value: &Option<Payload>| value.clone().map(|value| (name, value));
    [side("before", &change.before), side("after", &change.after)].into_iter().flatten()
}

fn object(members: impl IntoIterator<Item = (&'static str, Payload)>) -> Payload {
    Payload::map(members.into_iter().map(|(name, value)| (Arc::from(name), value)).collect())
}
