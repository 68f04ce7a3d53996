//! The schemas of request bodies: what the readers of the engine and of the routes enforce beyond the
//! Rust types that describe the members. `request_schemas.json` has notations that no Rust type
//! describes, and bounds, as merge patches (RFC 7386) of the generated schemas. Knows no route.

use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// The schemas of notations, and the patches of generated schemas, each by the name of the schema.
const SCHEMAS: &str = include_str!("request_schemas.json");

/// Members of a graph that a request may have and that are ignored: an answer can be sent back.
const GRAPH_ANSWER: [&str; 7] =
    ["id", "version", "state_version", "content_hash", "created_at", "updated_at", "state"];

/// Members of a state that a request may have and that are ignored.
const STATE_ANSWER: [&str; 9] = [
    "version",
    "graph_version",
    "created_at",
    "created_by",
    "author",
    "parent",
    "score",
    "dataset_hash",
    "activation",
];

macro_rules! notations {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(ToSchema)]
        pub struct $name;
    )*};
}

notations! {
    /// A type expression or a JSON Schema object.
    TypeNotation,
    /// Definitions of types by name.
    TypeDefinitions,
    /// A signature in one of its three notations.
    SignatureNotation,
    /// The name of a dataset, or a part of it.
    DatasetReference,
    /// A metric: its name, or an object of its name and options.
    Metric,
    /// The definition of a graph in a request.
    GraphBody,
    /// The next version of a graph. Its name is that of the path.
    GraphVersionBody,
    /// A predictor's state in a request.
    PredictorStateBody,
    /// A change of one predictor.
    PredictorPatch,
    /// A dataset to create.
    NewDataset,
    /// The next version of a dataset.
    DatasetBody,
}

/// Completes the schemas of a document.
pub(crate) fn complete(schemas: &mut Map<String, Value>) {
    let mut own: Value = serde_json::from_str(SCHEMAS).unwrap_or_default();
    let mut part = |name: &str| match own.get_mut(name).map(Value::take) {
        Some(Value::Object(part)) => part,
        _ => Map::new(),
    };
    for (name, patch) in part("patches") {
        merge(schemas.entry(name).or_insert(Value::Null), patch);
    }
    schemas.extend(part("notations"));
    schemas.insert("Metric".to_owned(), metric());
    for variant in list(schemas, "GraphEdit", "oneOf") {
        close(variant, &[]);
    }
    let bodies = [
        ("GraphBody", "GraphDefinition", &GRAPH_ANSWER[..]),
        ("GraphVersionBody", "GraphDefinition", &GRAPH_ANSWER),
        ("PredictorStateBody", "PredictorState", &["effective_instruction"]),
        ("PredictorPatch", "PredictorState", &["effective_instruction", "path", "node", "schema"]),
        ("PutOwnState", "PutOwnState", &STATE_ANSWER),
    ];
    for (body, described, ignored) in bodies {
        let mut schema = schemas.get(described).cloned().unwrap_or_default();
        close(&mut schema, ignored);
        schemas.insert(body.to_owned(), schema);
    }
    require_name(schemas);
    let required = schemas.get_mut("GraphVersionBody").and_then(|body| body.get_mut("required"));
    if let Some(required) = required.and_then(Value::as_array_mut) {
        required.retain(|name| name != "name");
    }
    schemas.sort_keys();
}

/// A new dataset has a name.
fn require_name(schemas: &mut Map<String, Value>) {
    let mut bodies = Vec::new();
    for kind in ["DatasetOfExamples", "DatasetOfRows"] {
        let mut schema = schemas.get(kind).cloned().unwrap_or_default();
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.push(json!("name"));
        }
        if let Some(name) = schema.pointer_mut("/properties/name/type") {
            *name = json!("string");
        }
        let name = format!("New{kind}");
        bodies.push(json!({"$ref": format!("#/components/schemas/{name}")}));
        schemas.insert(name, schema);
    }
    let body = json!({"description": "Examples, or flat rows.", "anyOf": bodies});
    schemas.insert("NewDataset".to_owned(), body);
}

/// The schema of the engine.
fn metric() -> Value {
    serde_json::to_value(dsrs::optimize::Metric::schema()).unwrap_or_default()
}

fn list<'s>(schemas: &'s mut Map<String, Value>, name: &str, member: &str) -> &'s mut [Value] {
    let found = schemas.get_mut(name).and_then(|schema| schema.get_mut(member));
    found.and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

/// Refuses other members than those of the schema and the ignored ones.
fn close(schema: &mut Value, ignored: &[&str]) {
    let Some(schema) = schema.as_object_mut() else { return };
    schema.insert("additionalProperties".to_owned(), json!(false));
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    for name in ignored {
        if let Some(properties) = properties.as_object_mut() {
            let any = json!({"description": "Ignored: an answer can be sent back."});
            properties.insert((*name).to_owned(), any);
        }
    }
}

/// Applies a merge patch (RFC 7386), except that null is a value.
fn merge(target: &mut Value, patch: Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (name, patch) in patch {
                merge(target.entry(name).or_insert(Value::Null), patch);
            }
        }
        (target, patch) => *target = patch,
    }
}
