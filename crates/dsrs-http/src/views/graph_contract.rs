//! The OpenAPI document of one graph: its own routes, with its inputs and outputs as schemas, so that generators make
//! clients that are typed by the graph. Made of the document of the server. Knows no route.

use std::collections::BTreeSet;

use dsrs::signature::{SignatureSchema, signature_to_schemas};
use serde_json::{Map, Value, json};

/// What makes the document of the server, of which those of graphs are made.
#[derive(Clone, Debug)]
pub(crate) struct ServerDocument(pub(crate) fn() -> Value);

/// The routes of a graph's contract, and their operations.
const ROUTES: [(&str, &str, &str); 6] = [
    ("/v1/graphs/{graph}/execute", "post", "execute"),
    ("/v1/graphs/{graph}/runs", "post", "start"),
    ("/v1/graphs/{graph}/batches", "post", "start_batch"),
    ("/v1/runs/{id}", "get", "get_run"),
    ("/v1/batches/{id}", "get", "get_batch"),
    ("/v1/batches/{id}/results", "get", "list_batch_results"),
];

/// The graph that a document describes.
pub(crate) struct GraphContract<'c> {
    pub(crate) name: &'c str,
    pub(crate) version: i32,
    /// Whether requests name the version, so that a newer one changes nothing for the client.
    pub(crate) is_pinned: bool,
    pub(crate) signature: &'c SignatureSchema,
}

impl GraphContract<'_> {
    pub(crate) fn document(&self, server: &ServerDocument) -> Value {
        let server = (server.0)();
        let mut schemas = server["components"]["schemas"].as_object().cloned().unwrap_or_default();
        self.add_types(&mut schemas);
        self.set_types(&mut schemas);
        let mut components = server["components"].clone();
        components["schemas"] = Value::Object(schemas);
        let mut document = json!({
            "openapi": server["openapi"],
            "info": {
                "title": self.name,
                "description": self.signature.instructions,
                "version": self.version.to_string()
            },
            "servers": server["servers"],
            "paths": self.paths(&server["paths"]),
            "components": components
        });
        keep_reached(&mut document);
        document
    }

    /// Adds the types of the graph. A name that the server uses gets the suffix `Type`.
    fn add_types(&self, schemas: &mut Map<String, Value>) {
        let notation = signature_to_schemas(self.signature);
        let mut notation: Value = serde_json::from_str(&notation.to_json()).unwrap_or_default();
        let mut types = Map::new();
        for (member, name) in [("input_schema", "Inputs"), ("output_schema", "Outputs")] {
            let mut schema = notation[member].take();
            if let Some(Value::Object(definitions)) =
                schema.as_object_mut().and_then(|schema| schema.remove("$defs"))
            {
                types.extend(definitions);
            }
            types.insert(name.to_owned(), schema);
        }
        let renamed = |name: &str| {
            let is_own = matches!(name, "Inputs" | "Outputs");
            if !is_own && schemas.contains_key(name) {
                format!("{name}Type")
            } else {
                name.to_owned()
            }
        };
        let found: Vec<(String, Value)> = types
            .into_iter()
            .map(|(name, mut schema)| {
                refer(&mut schema, &renamed);
                (renamed(&name), schema)
            })
            .collect();
        schemas.extend(found);
    }

    /// Puts the types of the graph where the server's document says only that there are values.
    fn set_types(&self, schemas: &mut Map<String, Value>) {
        let (inputs, outputs) = (reference("Inputs"), reference("Outputs"));
        let outputs = json!({"oneOf": [outputs, {"type": "null"}]});
        for (place, ty) in [
            ("/ExecuteBody/properties/inputs", &inputs),
            ("/BatchBody/properties/items/items", &inputs),
            ("/Run/properties/inputs", &inputs),
            ("/Run/properties/outputs", &outputs),
            ("/BatchResult/properties/outputs", &outputs),
        ] {
            let (schema, rest) = place[1..].split_once('/').unwrap_or_default();
            let found =
                schemas.get_mut(schema).and_then(|schema| schema.pointer_mut(&format!("/{rest}")));
            if let Some(found) = found {
                *found = ty.clone();
            }
        }
        for name in ["ExecuteBody", "BatchBody", "Run", "RunItem", "BatchResult"] {
            if let Some(schema) = schemas.get_mut(name).and_then(Value::as_object_mut) {
                schema.remove("examples");
                if self.is_pinned && name.ends_with("Body") {
                    pin(schema, self.version);
                }
            }
        }
    }

    fn paths(&self, server: &Value) -> Value {
        let mut paths = Map::new();
        for (template, method, id) in ROUTES {
            let mut operation = server[template][method].clone();
            operation["operationId"] = json!(id);
            operation["tags"] = json!([self.name]);
            if let Some(parameters) = operation["parameters"].as_array_mut() {
                parameters.retain(|parameter| parameter["name"] != "graph");
            }
            without_examples(&mut operation);
            paths.insert(template.replace("{graph}", self.name), json!({method: operation}));
        }
        Value::Object(paths)
    }
}

/// Makes a body name its version.
fn pin(schema: &mut Map<String, Value>, version: i32) {
    if let Some(properties) = schema.get_mut("properties") {
        properties["version"] = json!({"type": "integer", "enum": [version]});
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.push(json!("version"));
    }
}

/// The examples of the server are of another graph. Those of problems stay.
fn without_examples(operation: &mut Value) {
    let places = ["/requestBody/content", "/responses/200/content", "/responses/202/content"];
    for place in places {
        let content = operation.pointer_mut(place).and_then(Value::as_object_mut);
        for media in content.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut)
        {
            media.remove("example");
            media.remove("examples");
        }
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Replaces references to definitions by references to components.
fn refer(value: &mut Value, renamed: &impl Fn(&str) -> String) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get_mut("$ref")
                && let Some(name) = target.strip_prefix("#/$defs/")
            {
                *target = format!("#/components/schemas/{}", renamed(name));
            }
            members.values_mut().for_each(|member| refer(member, renamed));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| refer(item, renamed)),
        _ => {}
    }
}

/// Removes the components that nothing refers to.
fn keep_reached(document: &mut Value) {
    let mut reached = BTreeSet::new();
    let mut open = vec![document["paths"].clone()];
    while let Some(part) = open.pop() {
        for target in targets(&part) {
            if reached.insert(target.clone())
                && let Some(found) = document.pointer(&target)
            {
                open.push(found.clone());
            }
        }
    }
    for (kind, components) in document["components"]
        .as_object_mut()
        .into_iter()
        .flatten()
        .filter(|(kind, _)| *kind != "securitySchemes")
    {
        if let Some(components) = components.as_object_mut() {
            components.retain(|name, _| reached.contains(&format!("/components/{kind}/{name}")));
        }
    }
}

/// The places that a part of a document refers to.
fn targets(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) => {
            let own = members.get("$ref").and_then(Value::as_str);
            let own = own.and_then(|target| target.strip_prefix('#')).map(str::to_owned);
            own.into_iter().chain(members.values().flat_map(targets)).collect()
        }
        Value::Array(items) => items.iter().flat_map(targets).collect(),
        _ => Vec::new(),
    }
}
