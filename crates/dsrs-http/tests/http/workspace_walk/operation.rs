//! The operations of the OpenAPI document, as requests about a thing.

use reqwest::Method;
use serde_json::Value;

use super::things::{KEY, Things};

/// The kinds of things that belong to a workspace, and workspaces, as the first segment of a path.
const KINDS: [&str; 9] = [
    "graphs",
    "runs",
    "batches",
    "datasets",
    "indexes",
    "evaluations",
    "optimizations",
    "keys",
    "workspaces",
];

/// The evaluation that a comparison must name.
const NIL_AGAINST: &str = "?against=00000000-0000-0000-0000-000000000000";

/// An operation of the document.
pub struct Operation {
    pub method: Method,
    pub template: String,
    declaration: Value,
}

pub fn operations() -> Vec<Operation> {
    let document = dsrs_http::openapi();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().filter_map(|(method, declaration)| {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).ok()?;
            let (template, declaration) = (path.clone(), declaration.clone());
            declaration.is_object().then_some(Operation { method, template, declaration })
        })
    });
    operations.collect()
}

impl Operation {
    pub fn declares(&self, header: &str) -> bool {
        let declared = self.declaration["parameters"].as_array().into_iter().flatten();
        declared.filter_map(|parameter| parameter["name"].as_str()).any(|name| name == header)
    }

    pub fn body(&self) -> Option<Value> {
        let content = &self.declaration["requestBody"]["content"]["application/json"];
        Some(content["example"].clone()).filter(|example| !example.is_null())
    }

    /// The first parameter of the path, if it names a thing of a workspace.
    pub fn thing(&self) -> Option<&'static str> {
        KINDS.into_iter().find(|kind| self.template.starts_with(&format!("/v1/{kind}/{{")))
    }

    /// The path for a thing; the other parameters exist for the things of the owner.
    pub fn path(&self, thing: &str) -> String {
        let mut segments = Vec::new();
        let mut first = true;
        for segment in self.template.split('/') {
            let parameter = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            segments.push(match parameter {
                None => segment,
                Some(_) if std::mem::take(&mut first) => thing,
                Some("version") => "1",
                Some("number") => "0",
                Some("path") => "judge",
                Some("feedback") => "00000000-0000-0000-0000-000000000000",
                Some(other) => panic!("{}: {other}", self.template),
            });
        }
        let comparison = self.template.ends_with("/comparison");
        segments.join("/") + if comparison { NIL_AGAINST } else { "" }
    }

    /// All combinations of headers that a stranger might try.
    pub fn headers<'t>(&self, things: &'t Things) -> Vec<Vec<(&'static str, &'t str)>> {
        let mut variants = vec![Vec::new()];
        for (declared, name) in [("If-Match", "if-match"), ("If-None-Match", "if-none-match")] {
            if self.declares(declared) {
                variants.extend(things.etags.iter().map(|etag| vec![(name, &**etag)]));
            }
        }
        if self.declares("Idempotency-Key") {
            variants.push(vec![("idempotency-key", KEY)]);
        }
        if self.declares("Last-Event-ID") {
            variants.push(vec![("last-event-id", "1")]);
        }
        variants
    }
}
