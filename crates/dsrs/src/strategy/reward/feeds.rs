//! What a judge gets: its inputs by name, from the inputs of the node and the outputs of an
//! attempt, each as exactly the type that it takes.

use std::sync::Arc;

use crate::predict::PredictError;
use crate::problem::{At, Code, Problems};
use crate::read::listed;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{Conversion, absent_value, brief};
use crate::value::{Fields, Payload};

use super::unjudged;

/// The inputs of a judge and where they come from.
pub(super) struct Feeds(Vec<(Arc<str>, Feed)>);

enum Feed {
    Input(Conversion),
    Output(Conversion),
    Absent(Payload),
}

impl Feeds {
    /// Feeds each input of a judge from the field of its name.
    pub(super) fn between(
        node: &SignatureSchema,
        judge: &SignatureSchema,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut feeds = Vec::with_capacity(judge.inputs.len());
        for input in &judge.inputs {
            if let Some(feed) = feed(node, judge, input, at, &mut problems) {
                feeds.push((input.name.clone(), feed));
            }
        }
        problems.or(Self(feeds))
    }

    /// The inputs for one attempt.
    pub(super) fn gather(&self, inputs: &Fields, outputs: &Fields) -> Result<Fields, PredictError> {
        let gathered = self.0.iter().map(|(name, feed)| {
            let (conversion, value) = match feed {
                Feed::Input(conversion) => (conversion, inputs.get(name)),
                Feed::Output(conversion) => (conversion, outputs.get(name)),
                Feed::Absent(value) => return Ok((name.clone(), value.clone())),
            };
            let value = conversion.apply(value.unwrap_or(&Payload::Null));
            let value = value.map_err(|error| {
                unjudged(format!("`{name}` cannot be given to the judge of an attempt: {error}"))
            })?;
            Ok((name.clone(), value))
        });
        gathered.collect()
    }
}

fn feed(
    node: &SignatureSchema,
    judge: &SignatureSchema,
    input: &FieldSchema,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Feed> {
    let wanted = judge.type_of(input);
    let (found, make) = match (node.output(&input.name), node.input(&input.name)) {
        (Some(output), _) => (output, Feed::Output as fn(Conversion) -> Feed),
        (None, Some(input)) => (input, Feed::Input as fn(Conversion) -> Feed),
        (None, None) => {
            let absent = absent_value(&input.ty, &judge.defs, input.default.as_ref());
            if absent.is_none() {
                let names = node.inputs.iter().chain(&node.outputs).map(|field| &*field.name);
                let detail = format!(
                    "nothing feeds the judge's input `{}`: it is named by no input and no output; \
                     there are {}",
                    input.name,
                    listed(names)
                );
                problems.add(at, Code::UnconnectedInput, detail);
            }
            return absent.map(Feed::Absent);
        }
    };
    let given = node.type_of(found);
    if let Err(error) = given.assignable_to(&wanted) {
        let (is, takes) = (brief(&found.ty), brief(&input.ty));
        let detail = format!("`{}` is `{is}`, and the judge takes `{takes}`: {error}", input.name);
        problems.add(at, Code::TypeMismatch, detail);
        return None;
    }
    Some(make(Conversion::between(&given, &wanted)))
}
