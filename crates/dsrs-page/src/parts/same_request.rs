//! What is on the screen as a request of the API: for curl and for Python.

use std::hash::{DefaultHasher, Hash, Hasher};

use maud::{Markup, html};
use serde_json::Value;

/// A request of the API that a view stands for.
#[derive(Clone, Debug)]
pub(crate) struct SameRequest<'a> {
    /// `GET`, `POST`, ….
    pub(crate) method: &'a str,
    /// Its path with its query.
    pub(crate) path: &'a str,
    /// Its JSON body.
    pub(crate) body: Option<&'a Value>,
}

impl<'a> SameRequest<'a> {
    /// A request that reads.
    pub(crate) const fn get(path: &'a str) -> Self {
        Self { method: "GET", path, body: None }
    }

    /// Both forms, folded. `page.js` copies them.
    pub(crate) fn show(&self) -> Markup {
        let own = self.id();
        html! {
            div.request-row {
                (folded("as curl", &format!("curl-{own}"), &self.curl()))
                (folded("as Python", &format!("python-{own}"), &self.python()))
            }
        }
    }

    /// What distinguishes it from other requests on the same page.
    fn id(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (self.method, self.path).hash(&mut hasher);
        format!("{:x}", hasher.finish())
    }

    /// A command line.
    pub(crate) fn curl(&self) -> String {
        let method =
            if self.method == "GET" { String::new() } else { format!(" -X {}", self.method) };
        let body = self.body.map(|body| {
            let text = pretty(body).replace('\'', "'\\''");
            format!(" \\\n  -H 'Content-Type: application/json' \\\n  -d '{text}'")
        });
        let path = self.path.replace('\'', "%27");
        format!(
            "curl -s{method} \"$DSRS_URL\"'{path}' \\\n  -H \"Authorization: Bearer $DSRS_API_KEY\"{}",
            body.unwrap_or_default()
        )
    }

    /// A program for Python with `requests`.
    pub(crate) fn python(&self) -> String {
        let method = self.method.to_lowercase();
        let path = python_text(self.path);
        let body = self.body.map(|body| format!("\n    json={},", python_value(body, 1)));
        format!(
            "import os, requests\n\nanswer = requests.{method}(\n    os.environ[\"DSRS_URL\"] + {path},\n    \
             headers={{\"Authorization\": f\"Bearer {{os.environ['DSRS_API_KEY']}}\"}},{}\n)\n\
             answer.raise_for_status()\nprint(answer.json())",
            body.unwrap_or_default()
        )
    }
}

fn folded(label: &str, id: &str, text: &str) -> Markup {
    html! {
        details.request {
            summary { (label) }
            pre id=(id) tabindex="0" { (text) }
            button type="button" hidden data-script data-copy=(id) { "Copy" }
        }
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A JSON text is a text of Python, too.
fn python_text(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

fn python_value(value: &Value, depth: usize) -> String {
    let (inner, outer) = ("    ".repeat(depth + 1), "    ".repeat(depth));
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => python_text(text),
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Array(items) => {
            let lines =
                items.iter().map(|item| format!("{inner}{},\n", python_value(item, depth + 1)));
            format!("[\n{}{outer}]", lines.collect::<String>())
        }
        Value::Object(members) => {
            let line = |(name, value): (&String, &Value)| {
                format!("{inner}{}: {},\n", python_text(name), python_value(value, depth + 1))
            };
            format!("{{\n{}{outer}}}", members.iter().map(line).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_view_is_a_request_that_can_be_repeated() {
        let body = json!({"inputs": {"q": "it's \"me\"", "n": null, "ok": true}});
        let request =
            SameRequest { method: "POST", path: "/v1/graphs/a/execute", body: Some(&body) };
        assert_eq!(
            request.curl(),
            "curl -s -X POST \"$DSRS_URL\"'/v1/graphs/a/execute' \\\n  \
             -H \"Authorization: Bearer $DSRS_API_KEY\" \\\n  -H 'Content-Type: application/json' \\\n  \
             -d '{\n  \"inputs\": {\n    \"q\": \"it'\\''s \\\"me\\\"\",\n    \"n\": null,\n    \"ok\": true\n  }\n}'"
        );
        let python = request.python();
        assert!(
            python.contains(
                "requests.post(\n    os.environ[\"DSRS_URL\"] + \"/v1/graphs/a/execute\","
            ),
            "{python}"
        );
        assert!(
            python.contains(
                "\"q\": \"it's \\\"me\\\"\",\n            \"n\": None,\n            \"ok\": True,"
            ),
            "{python}"
        );
    }
}
