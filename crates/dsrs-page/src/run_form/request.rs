//! The form as the request that it stands for: which graph, which versions, which inputs. Knows no HTML.

use dsrs::graph::Program;
use dsrs::signature::FieldSchema;
use dsrs::types::TypeDefs;
use serde_json::{Map, Value, json};

use crate::form::{Form, encoded};
use crate::parts::value_form::ValueField;
use dsrs_store::graph::VersionSelection;

/// The versions that a person chose, as texts of the form.
#[derive(Clone, Debug, Default)]
pub(super) struct ChosenVersions {
    pub(super) version: String,
    pub(super) state_version: String,
}

impl ChosenVersions {
    /// From the fields of a form.
    pub(super) fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).trim().to_owned();
        Self { version: text("version"), state_version: text("state_version") }
    }

    /// The same for the store. What is no version is left out.
    pub(super) fn pick(&self) -> VersionSelection {
        let number = |text: &str| text.parse().ok().filter(|number: &i32| *number > 0);
        VersionSelection {
            version: number(&self.version),
            state_version: number(&self.state_version),
        }
    }
}

/// The fields of the inputs of a program, in a request at a JSON Pointer.
pub(crate) fn fields<'p>(program: &'p Program, at: &str) -> Vec<ValueField<'p>> {
    let graph = program.graph();
    graph.inputs().map(|field| field_of(field, graph.defs(), at)).collect()
}

fn field_of<'p>(field: &'p FieldSchema, defs: &'p TypeDefs, at: &str) -> ValueField<'p> {
    ValueField {
        pointer: format!("{at}/inputs/{}", field.name),
        name: &field.name,
        ty: &field.ty,
        defs,
        description: field.description.as_deref(),
        has_default: field.default.is_some(),
    }
}

/// The inputs that a person filled in.
pub(crate) fn inputs(program: &Program, form: &Form, at: &str) -> Map<String, Value> {
    let fields = fields(program, at);
    fields.iter().filter_map(|field| Some((field.name.to_owned(), field.read(form)?))).collect()
}

/// The body of `POST /v1/graphs/{graph}/execute`.
pub(super) fn body(inputs: Map<String, Value>, chosen: &ChosenVersions) -> Value {
    let mut body = json!({ "inputs": inputs });
    let VersionSelection { version, state_version } = chosen.pick();
    for (name, number) in [("version", version), ("state_version", state_version)] {
        if let Some(number) = number {
            body[name] = number.into();
        }
    }
    body
}

/// The path of the request.
pub(super) fn path(graph: &str) -> String {
    format!("/v1/graphs/{}/execute", encoded(graph))
}
