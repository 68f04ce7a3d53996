//! The request that starts an evaluation, as fields: those of its own form, and those of a schedule, where it is a
//! member. Every field is named by its JSON Pointer, below that of the request.

use dsrs::optimize::Metric;
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use crate::evaluation::forecast::json_of;
use crate::form::Form;
use crate::parts::choice::{Names, marked_choice};
use crate::parts::line_field::LineField;
use crate::parts::schema_entry::{entered, number_or_text};
use crate::parts::schema_fill::{FilledField, filled};
use crate::parts::schema_form::{FieldMark, SchemaForm};
use crate::parts::values::plain;

/// Options of the request besides dataset and metric.
const OPTIONS: [&str; 5] = ["version", "state_version", "concurrency", "max_errors", "timeout_ms"];

/// Options that a box says yes to.
const CHOICES: [&str; 2] = ["record", "reuse_calls"];

/// The body of the request that the fields below a pointer stand for.
pub(crate) fn body(form: &Form, at: &str) -> Value {
    let mut body = Map::new();
    body.insert("dataset".to_owned(), dataset(form, &format!("{at}/dataset")));
    body.insert("metric".to_owned(), metric(form, at));
    options(form, at, &OPTIONS, &mut body);
    for name in CHOICES {
        if form.given(&format!("{at}/{name}")).is_some() {
            body.insert(name.to_owned(), json!(true));
        }
    }
    Value::Object(body)
}

/// The metric of a request.
pub(crate) fn metric(form: &Form, at: &str) -> Value {
    entered(&json_of(&Metric::schema()), form, &format!("{at}/metric")).unwrap_or_default()
}

/// Options that are numbers.
pub(crate) fn options(form: &Form, at: &str, names: &[&str], body: &mut Map<String, Value>) {
    for name in names {
        if let Some(text) = form.given(&format!("{at}/{name}")) {
            body.insert((*name).to_owned(), number_or_text(text.trim()));
        }
    }
}

/// A reference to a dataset, at fields below a pointer: its name, or the name with version, split and limit.
pub(crate) fn dataset(form: &Form, at: &str) -> Value {
    let Some(name) = form.given(&format!("{at}/dataset")) else { return Value::Null };
    let mut part = Map::from_iter([("dataset".to_owned(), json!(name))]);
    if let Some(split) = form.given(&format!("{at}/split")) {
        part.insert("split".to_owned(), json!(split));
    }
    for member in ["version", "limit"] {
        if let Some(text) = form.given(&format!("{at}/{member}")) {
            part.insert(member.to_owned(), number_or_text(text.trim()));
        }
    }
    if part.len() == 1 { json!(name) } else { Value::Object(part) }
}

/// The fields of a body, as far as there are fields for it.
pub(crate) fn fields_of(body: &Value, at: &str) -> Vec<FilledField> {
    let mut fields = dataset_of(&body["dataset"], &format!("{at}/dataset"));
    fields.extend(metric_of(body, at));
    fields.extend(options_of(body, at, &OPTIONS));
    let chosen = CHOICES.iter().filter(|name| body[**name] == json!(true));
    fields.extend(chosen.map(|name| (format!("{at}/{name}"), "true".to_owned())));
    fields
}

/// The fields of the metric of a body.
pub(crate) fn metric_of(body: &Value, at: &str) -> Vec<FilledField> {
    filled(&json_of(&Metric::schema()), &body["metric"], &format!("{at}/metric"))
}

/// The fields of members that are numbers or texts.
pub(crate) fn options_of(body: &Value, at: &str, names: &[&str]) -> Vec<FilledField> {
    let field = |name: &&str| Some((format!("{at}/{name}"), plain(body.get(*name)?)));
    names.iter().filter_map(field).collect()
}

/// The fields of a reference to a dataset.
pub(crate) fn dataset_of(reference: &Value, at: &str) -> Vec<FilledField> {
    match reference {
        Value::String(name) => vec![(format!("{at}/dataset"), name.clone())],
        _ => options_of(reference, at, &["dataset", "version", "split", "limit"]),
    }
}

/// The versions and the dataset.
pub(crate) fn subject(fields: &SchemaForm<'_>, at: &str, datasets: &Names) -> Markup {
    html! {
        (versions(fields, at))
        (dataset_fields(fields, &format!("{at}/dataset"), "Dataset", datasets))
    }
}

/// The versions of the graph and of its state.
pub(crate) fn versions(fields: &SchemaForm<'_>, at: &str) -> Markup {
    html! {
        div.pair {
            (number(fields, &format!("{at}/version"), "Version", "the newest"))
            (number(fields, &format!("{at}/state_version"), "State version", "the active one"))
        }
    }
}

pub(crate) fn metric_panel(fields: &SchemaForm<'_>, at: &str) -> Markup {
    let shown = fields.fields(
        &json_of(&Metric::schema()),
        &format!("{at}/metric"),
        "How outputs are scored",
    );
    html! {
        section.panel data-part="shape" id="metric" {
            header { h2 { "Metric" } }
            div.body.fields { (shown) }
        }
    }
}

/// The limits, folded.
pub(crate) fn limits(fields: &SchemaForm<'_>, at: &str) -> Markup {
    let [record, reuse_calls] = CHOICES.map(|name| format!("{at}/{name}"));
    let chosen = |name: &str| fields.form.given(name).is_some();
    html! {
        details.panel-like open[fields.has_problem(at, &["concurrency", "max_errors", "timeout_ms", "record", "reuse_calls"])] {
            summary { "Limits" }
            div.fields {
                div.pair {
                    (number(fields, &format!("{at}/concurrency"), "Examples at a time", "the limit of the server"))
                    (number(fields, &format!("{at}/max_errors"), "Most failures", "run all examples"))
                    (number(fields, &format!("{at}/timeout_ms"), "Time for an example (ms)", "the limit of the server"))
                }
                label.inline { input type="checkbox" name=(record) value="true" checked[chosen(&record)]; "record each example as a run with its trace" }
                label.inline { input type="checkbox" name=(reuse_calls) value="true" checked[chosen(&reuse_calls)]; "reuse results of calls that evaluations have recorded" }
            }
        }
    }
}

/// The fields of a reference to a dataset.
pub(crate) fn dataset_fields(
    fields: &SchemaForm<'_>,
    at: &str,
    label: &str,
    datasets: &Names,
) -> Markup {
    let field = |member: &str| format!("{at}/{member}");
    let mark = fields.mark_own(&[at, &field("dataset")]);
    let name = field("split");
    let split = LineField {
        name: &name,
        label: "Split",
        placeholder: "all examples",
        ..LineField::default()
    };
    html! {
        label { (label)
            (marked_choice(&field("dataset"), fields.form.text(&field("dataset")), datasets, "choose a dataset", mark))
            (fields.problems(at)) (fields.problems(&field("dataset")))
        }
        div.pair {
            (number(fields, &field("version"), "Version", "the newest"))
            (split.show(fields))
            (number(fields, &field("limit"), "At most", "all examples"))
        }
    }
}

/// A field with a whole number of 1 or more.
pub(crate) fn number(fields: &SchemaForm<'_>, name: &str, label: &str, none: &str) -> Markup {
    let FieldMark { invalid, is_first } = fields.mark(name);
    html! {
        label { (label)
            input type="number" min="1" step="1" name=(name) value=(fields.form.text(name)) placeholder=(none)
                aria-invalid=[invalid] autofocus[is_first];
            (fields.problems(name))
        }
    }
}
