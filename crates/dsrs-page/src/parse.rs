//! `/parse`: a text read as a type or as the outputs of a signature, with every repair marked in the text.

use axum::response::Response;
use dsrs::adapter::ParsedValue;
use dsrs::value::{Map, ParsedJson, Payload, parse_json};
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::form::Form;
use crate::parts::badge::{Tone, badge};
use crate::parts::head::head;
use crate::parts::json::json as coloured;
use crate::parts::marked_text::{marked_text, repair_list, repairs};
use crate::parts::same_request::SameRequest;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::{AppError, ParseFailure};
use dsrs_http::{ApiProblem, Query};

/// What a person wrote into the form.
#[derive(Clone, Debug, Default)]
struct Entry {
    text: String,
    /// A type expression, a JSON Schema or a signature.
    target: String,
    is_signature: bool,
    types: String,
    is_strict: bool,
}

/// The example of an empty form: an answer as models write it.
const EXAMPLE_TEXT: &str = "Sure! Here are the parcels you asked for:\n\n```json\n[\n  {id: \"A-17\", weight: \"1,200\", state: 'shipped',},\n  {\"ID\": \"B-3\", \"weight\": 3.0, \"state\": \"In Transit\"}\n]\n```\nAnything else?";
const EXAMPLE_TYPE: &str = "list[Parcel]";
const EXAMPLE_TYPES: &str = "{\n  \"Parcel\": {\"class\": {\"id\": \"str\", \"weight\": \"int\", \"state\": \"State\"}},\n  \"State\": {\"enum\": {\"shipped\": null, \"in_transit\": null}}\n}";

impl Entry {
    fn example() -> Self {
        Self {
            text: EXAMPLE_TEXT.to_owned(),
            target: EXAMPLE_TYPE.to_owned(),
            types: EXAMPLE_TYPES.to_owned(),
            ..Self::default()
        }
    }

    /// The same as the body of `POST /v1/parse`. A text of JSON is sent as JSON.
    fn request(&self) -> Value {
        let member = if self.is_signature { "signature" } else { "type" };
        let mut body = json!({ member: json_or_text(&self.target), "text": self.text });
        if !self.types.trim().is_empty() {
            body["types"] = json_or_text(&self.types);
        }
        if self.is_strict {
            body["strict"] = Value::Bool(true);
        }
        body
    }

    /// The body as the service reads it, with repeated keys as problems.
    fn document(&self) -> ParsedJson {
        let member = if self.is_signature { "signature" } else { "type" };
        let mut members = Map::new();
        let mut duplicates = dsrs::problem::Problems::new();
        let mut add = |name: &str, text: &str| {
            let read = text.trim_start().starts_with('{').then(|| parse_json(text.as_bytes()));
            let value = match read {
                Some(Ok(parsed)) => {
                    duplicates.append(parsed.duplicates);
                    parsed.payload
                }
                _ => text.trim().into(),
            };
            members.insert(name.into(), value);
        };
        add(member, &self.target);
        if !self.types.trim().is_empty() {
            add("types", &self.types);
        }
        members.insert("text".into(), self.text.as_str().into());
        members.insert("strict".into(), Payload::Bool(self.is_strict));
        ParsedJson { payload: Payload::map(members), duplicates }
    }
}

fn json_or_text(text: &str) -> Value {
    let is_json = text.trim_start().starts_with('{');
    let parsed = is_json.then(|| serde_json::from_str(text).ok()).flatten();
    parsed.unwrap_or_else(|| Value::String(text.trim().to_owned()))
}

/// `GET /parse`: the form; with a text, its reading.
pub(super) async fn form(visitor: Visitor, mut query: Query) -> Result<Response, ApiProblem> {
    let text = query.text("text");
    let entry = Entry {
        target: query.text("target").unwrap_or_default(),
        is_signature: query.text("as").as_deref() == Some("signature"),
        types: query.text("types").unwrap_or_default(),
        is_strict: query.text("strict").is_some(),
        text: text.clone().unwrap_or_default(),
    };
    query.close()?;
    Ok(show(&visitor, &if text.is_some() { entry } else { Entry::example() }))
}

/// `POST /parse`: the same for a text that is too long for an address.
pub(super) async fn read(visitor: Visitor, form: Form) -> Response {
    let entry = Entry {
        text: form.text("text").to_owned(),
        target: form.text("target").to_owned(),
        is_signature: form.text("as") == "signature",
        types: form.text("types").to_owned(),
        is_strict: form.given("strict").is_some(),
    };
    show(&visitor, &entry)
}

fn show(visitor: &Visitor, entry: &Entry) -> Response {
    let reading = visitor.app.parse(&entry.document());
    let view =
        View::new("Parse", PageSection::Parse).styles(&["parse.css"]).scripts(&["live_form.js"]);
    visitor.show(&view, page(entry, reading))
}

fn page(entry: &Entry, reading: Result<ParsedValue, AppError>) -> Markup {
    html! {
        (head(&[], &html! { "Parse" }, &html! {}))
        p.muted { "How the server reads the answer of a model: as a value of a type, or as the outputs of a signature. No model is called." }
        div.parse-view {
            (form_of(entry))
            section #reading .panel aria-label="Reading" aria-live="polite" {
                @match reading {
                    Ok(parsed) => (value_of(entry, &parsed)),
                    Err(AppError::Parse(failure)) => (failure_of(entry, &failure)),
                    Err(other) => (refusal_of(&ApiProblem::from(other))),
                }
            }
        }
        (SameRequest { method: "POST", path: "/v1/parse", body: Some(&entry.request()) }.show())
    }
}

fn form_of(entry: &Entry) -> Markup {
    html! {
        form.fields action="/parse" method="post" data-live="#reading" {
            label { "Text"
                textarea.mono name="text" rows="12" spellcheck="false" { "\n" (entry.text) }
            }
            div.target {
                label { "Read as"
                    select name="as" {
                        option value="type" selected[!entry.is_signature] { "type" }
                        option value="signature" selected[entry.is_signature] { "signature" }
                    }
                }
                label { "Type or signature"
                    input.mono name="target" value=(entry.target) spellcheck="false" autocomplete="off"
                        placeholder="list[str]";
                }
            }
            label { "Types that it names " span.hint { "JSON, as in the member " code { "types" } " of a graph" }
                textarea.mono name="types" rows="5" spellcheck="false" { "\n" (entry.types) }
            }
            div.actions {
                button.primary type="submit" { "Read" }
                label.inline { input type="checkbox" name="strict" checked[entry.is_strict]; "strict: accept only exact JSON" }
            }
        }
    }
}

fn value_of(entry: &Entry, parsed: &ParsedValue) -> Markup {
    let found = repairs(&parsed.report.to_payload().to_json());
    html! {
        header { h2 { "Reading" }
            @if found.is_empty() { (badge(Tone::Good, "exact")) }
            @else { (badge(Tone::Warn, &format!("{} repairs", found.len()))) span.small.muted { "penalty " (parsed.report.penalty()) } }
        }
        div.body {
            h3 { "Value" }
            pre.json { (coloured(&parsed.value.to_json())) }
            h3 { "Text" }
            (marked_text(&entry.text, &found))
            @if !found.is_empty() { h3 { "Repairs" } (repair_list(&found)) }
        }
    }
}

fn failure_of(entry: &Entry, failure: &ParseFailure) -> Markup {
    let found = repairs(&failure.report.to_json());
    html! {
        header { h2 { "Reading" } (badge(Tone::Bad, "does not fit")) }
        div.body {
            p.refusal role="alert" { (failure.detail) }
            @if let Some(path) = &failure.path { p { "at " code { (path) } } }
            h3 { "Text" }
            (marked_text(&entry.text, &found))
            @if !found.is_empty() { h3 { "Repairs before it failed" } (repair_list(&found)) }
        }
    }
}

fn refusal_of(problem: &ApiProblem) -> Markup {
    html! {
        header { h2 { "Reading" } (badge(Tone::Bad, "not read")) }
        div.body {
            p.refusal role="alert" { (problem.detail()) }
            @if problem.items().len() > 1 {
                ul.problems { @for item in problem.items() { li { code { (item.pointer) } " " (item.detail) } } }
            }
        }
    }
}
