//! The inputs of a judge: found by name among the judged values, each converted to exactly the type
//! that the judge accepts.

use std::sync::Arc;

use super::judging_error;
use super::values::{JudgedFields, JudgedKind, JudgedValues, ValueGroup};
use crate::predict::PredictError;
use crate::problem::{At, Code, Problems};
use crate::read::listed;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{Conversion, Type, absent_value, admit, brief};
use crate::value::{Fields, Payload};

/// The prefix of a judge's input for an expected value.
const EXPECTED: &str = "expected_";

/// The inputs of a judge and their sources.
pub(super) struct JudgeInputs(Vec<(Arc<str>, JudgeInputSource)>);

enum JudgeInputSource {
    /// The field with the input's name.
    Field(ValueGroup, Conversion),
    /// The expected value of this name, converted if it is present.
    Expected(Arc<str>, Type),
    Absent(Payload),
}

impl JudgeInputs {
    /// JudgeInputs each input of a judge from the field of its name.
    pub(super) fn between(
        view: JudgedFields<'_>,
        judge: &SignatureSchema,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let Some(shown) = view.schema else { return Err(Problems::new()) };
        let mut problems = Problems::new();
        let mut feeds = Vec::with_capacity(judge.inputs.len());
        for input in &judge.inputs {
            if let Some(feed) = feed(shown, view.sight, judge, input, at, &mut problems) {
                feeds.push((input.name.clone(), feed));
            }
        }
        problems.or(Self(feeds))
    }

    /// The inputs for these values.
    pub(super) fn gather(&self, shown: JudgedValues<'_>) -> Result<Fields, PredictError> {
        let gathered = self.0.iter().map(|(name, feed)| {
            let value = match feed {
                JudgeInputSource::Field(group, conversion) => {
                    let value = shown.fields(*group).and_then(|fields| fields.get(name));
                    conversion.apply(value.unwrap_or(&Payload::Null)).map_err(|error| {
                        judging_error(format!("`{name}` cannot be passed to the judge: {error}"))
                    })?
                }
                JudgeInputSource::Expected(field, ty) => expected(field, ty, shown)?,
                JudgeInputSource::Absent(value) => value.clone(),
            };
            Ok((name.clone(), value))
        });
        gathered.collect()
    }
}

/// The expected value of a name, as exactly this type.
fn expected(field: &Arc<str>, ty: &Type, shown: JudgedValues<'_>) -> Result<Payload, PredictError> {
    let Some(value) = shown.fields(ValueGroup::Expected).and_then(|fields| fields.get(field))
    else {
        return absent_value(&ty.ir, &ty.defs, None).ok_or_else(|| {
            judging_error(format!(
                "the judge reads the expected `{field}`, and the example has none"
            ))
        });
    };
    let mut problems = Problems::new();
    admit(value, ty, &At::Root.key(field), &mut problems).ok_or_else(|| {
        judging_error(format!("the expected `{field}` cannot be passed to the judge: {problems}"))
    })
}

fn feed(
    shown: &SignatureSchema,
    sight: JudgedKind,
    judge: &SignatureSchema,
    input: &FieldSchema,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<JudgeInputSource> {
    let wanted = judge.type_of(input);
    let expected = input.name.strip_prefix(EXPECTED).filter(|_| sight == JudgedKind::Example);
    let known = expected.and_then(|name| shown.output(name));
    let (found, feed) = match (known, shown.output(&input.name), shown.input(&input.name)) {
        (Some(output), ..) => {
            (output, JudgeInputSource::Expected(output.name.clone(), wanted.clone()))
        }
        (None, Some(output), _) => (output, field(ValueGroup::Outputs, shown, output, &wanted)),
        (None, None, Some(input)) => (input, field(ValueGroup::Inputs, shown, input, &wanted)),
        (None, None, None) => {
            // Examples may expect values that are not outputs.
            let open = expected.map(|name| JudgeInputSource::Expected(name.into(), wanted));
            return open.or_else(|| absent(shown, sight, judge, input, at, problems));
        }
    };
    if let Err(error) = shown.type_of(found).assignable_to(&judge.type_of(input)) {
        let (found_type, accepted) = (brief(&found.ty), brief(&input.ty));
        let detail = format!(
            "`{}` is `{found_type}`, and the judge accepts `{accepted}`: {error}",
            input.name
        );
        problems.add(at, Code::TypeMismatch, detail);
        return None;
    }
    Some(feed)
}

fn field(
    group: ValueGroup,
    shown: &SignatureSchema,
    found: &FieldSchema,
    wanted: &Type,
) -> JudgeInputSource {
    JudgeInputSource::Field(group, Conversion::between(&shown.type_of(found), wanted))
}

/// The default of an input without a source.
fn absent(
    shown: &SignatureSchema,
    sight: JudgedKind,
    judge: &SignatureSchema,
    input: &FieldSchema,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<JudgeInputSource> {
    let absent = absent_value(&input.ty, &judge.defs, input.default.as_ref());
    if absent.is_none() {
        let names = shown.inputs.iter().chain(&shown.outputs).map(|field| &*field.name);
        let others = match sight {
            JudgedKind::Attempt => "",
            JudgedKind::Example => ", and `expected_NAME` for what the example expects",
        };
        let detail = format!(
            "the judge's input `{}` has no source: there is no input or output of that name; there are \
             {}{others}",
            input.name,
            listed(names)
        );
        problems.add(at, Code::UnconnectedInput, detail);
    }
    absent.map(JudgeInputSource::Absent)
}
