//! What a judge gets: its inputs by name, from what is in view, each as exactly the type that it
//! takes.

use std::sync::Arc;

use super::unjudged;
use super::view::{Group, Shown, Sight, View};
use crate::predict::PredictError;
use crate::problem::{At, Code, Problems};
use crate::read::listed;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{Conversion, Type, absent_value, admit, brief};
use crate::value::{Fields, Payload};

/// What stands before the name of an expected value where a judge takes it.
const EXPECTED: &str = "expected_";

/// The inputs of a judge and where they come from.
pub(super) struct Feeds(Vec<(Arc<str>, Feed)>);

enum Feed {
    /// The field of the input's own name.
    Field(Group, Conversion),
    /// What is expected under this name, made to fit when it is there.
    Expected(Arc<str>, Type),
    Absent(Payload),
}

impl Feeds {
    /// Feeds each input of a judge from the field of its name.
    pub(super) fn between(
        view: View<'_>,
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

    /// The inputs for what is shown.
    pub(super) fn gather(&self, shown: Shown<'_>) -> Result<Fields, PredictError> {
        let gathered = self.0.iter().map(|(name, feed)| {
            let value = match feed {
                Feed::Field(group, conversion) => {
                    let value = shown.fields(*group).and_then(|fields| fields.get(name));
                    conversion.apply(value.unwrap_or(&Payload::Null)).map_err(|error| {
                        unjudged(format!("`{name}` cannot be given to the judge: {error}"))
                    })?
                }
                Feed::Expected(field, ty) => expected(field, ty, shown)?,
                Feed::Absent(value) => value.clone(),
            };
            Ok((name.clone(), value))
        });
        gathered.collect()
    }
}

/// What is expected under a name, as exactly this type.
fn expected(field: &Arc<str>, ty: &Type, shown: Shown<'_>) -> Result<Payload, PredictError> {
    let Some(value) = shown.fields(Group::Expected).and_then(|fields| fields.get(field)) else {
        return absent_value(&ty.ir, &ty.defs, None).ok_or_else(|| {
            unjudged(format!("the judge is shown the expected `{field}`, and the example has none"))
        });
    };
    let mut problems = Problems::new();
    admit(value, ty, &At::Root.key(field), &mut problems).ok_or_else(|| {
        unjudged(format!("the expected `{field}` cannot be given to the judge: {problems}"))
    })
}

fn feed(
    shown: &SignatureSchema,
    sight: Sight,
    judge: &SignatureSchema,
    input: &FieldSchema,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Feed> {
    let wanted = judge.type_of(input);
    let expected = input.name.strip_prefix(EXPECTED).filter(|_| sight == Sight::Example);
    let known = expected.and_then(|name| shown.output(name));
    let (found, feed) = match (known, shown.output(&input.name), shown.input(&input.name)) {
        (Some(output), ..) => (output, Feed::Expected(output.name.clone(), wanted.clone())),
        (None, Some(output), _) => (output, field(Group::Outputs, shown, output, &wanted)),
        (None, None, Some(input)) => (input, field(Group::Inputs, shown, input, &wanted)),
        (None, None, None) => {
            // Examples may expect more than the outputs.
            let open = expected.map(|name| Feed::Expected(name.into(), wanted));
            return open.or_else(|| absent(shown, sight, judge, input, at, problems));
        }
    };
    if let Err(error) = shown.type_of(found).assignable_to(&judge.type_of(input)) {
        let (is, takes) = (brief(&found.ty), brief(&input.ty));
        let detail = format!("`{}` is `{is}`, and the judge takes `{takes}`: {error}", input.name);
        problems.add(at, Code::TypeMismatch, detail);
        return None;
    }
    Some(feed)
}

fn field(group: Group, shown: &SignatureSchema, found: &FieldSchema, wanted: &Type) -> Feed {
    Feed::Field(group, Conversion::between(&shown.type_of(found), wanted))
}

/// What stands in for an input that nothing feeds.
fn absent(
    shown: &SignatureSchema,
    sight: Sight,
    judge: &SignatureSchema,
    input: &FieldSchema,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Feed> {
    let absent = absent_value(&input.ty, &judge.defs, input.default.as_ref());
    if absent.is_none() {
        let names = shown.inputs.iter().chain(&shown.outputs).map(|field| &*field.name);
        let others = match sight {
            Sight::Attempt => "",
            Sight::Example => ", and `expected_NAME` for what the example expects",
        };
        let detail = format!(
            "nothing feeds the judge's input `{}`: it is named by no input and no output; there are \
             {}{others}",
            input.name,
            listed(names)
        );
        problems.add(at, Code::UnconnectedInput, detail);
    }
    absent.map(Feed::Absent)
}
