//! The request that starts an optimization, as fields: those of its own form, and those of a schedule, where it is a
//! member. Every field is named by its JSON Pointer, below that of the request.

use dsrs::optimize::{OptimizerFactory, optimizers};
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use crate::evaluation::forecast::json_of;
use crate::evaluation::request::{
    dataset, dataset_fields, dataset_of, metric, metric_of, number, options, options_of,
};
use crate::form::Form;
use crate::parts::choice::Names;
use crate::parts::line_field::LineField;
use crate::parts::schema_entry::{entered, number_or_text};
use crate::parts::schema_fill::{FilledField, filled};
use crate::parts::schema_form::{FieldMark, SchemaForm};

/// Options of the request that are numbers.
const OPTIONS: [&str; 5] = ["version", "state_version", "seed", "concurrency", "timeout_ms"];

/// The limits of a budget, each with its label and its hint.
const LIMITS: [(&str, &str); 4] = [
    ("lm_calls", "Calls of models"),
    ("tokens", "Tokens"),
    ("cost", "Cost"),
    ("seconds", "Seconds of work"),
];

/// The sets of examples, the one for training first.
const SETS: [&str; 3] = ["trainset", "valset", "testset"];

/// The optimizer that a form names; the first if it names none.
fn optimizer(form: &Form, at: &str) -> Option<&'static dyn OptimizerFactory> {
    let name = form.text(&format!("{at}/optimizer"));
    optimizers().find(|optimizer| optimizer.name() == name).or_else(|| optimizers().next())
}

/// The body of the request that the fields below a pointer stand for.
pub(crate) fn body(form: &Form, at: &str) -> Value {
    let mut body = Map::new();
    if let Some(optimizer) = optimizer(form, at) {
        body.insert("optimizer".to_owned(), json!(optimizer.name()));
        if let Some(config) =
            entered(&json_of(&optimizer.config_schema()), form, &format!("{at}/config"))
        {
            body.insert("config".to_owned(), config);
        }
    }
    for set in SETS {
        let part = dataset(form, &format!("{at}/{set}"));
        if !part.is_null() {
            body.insert(set.to_owned(), part);
        }
    }
    body.insert("metric".to_owned(), metric(form, at));
    let limit = |name: &str| {
        Some((name.to_owned(), number_or_text(form.given(&format!("{at}/budget/{name}"))?.trim())))
    };
    let budget: Map<String, Value> = LIMITS.iter().filter_map(|(name, _)| limit(name)).collect();
    if !budget.is_empty() {
        body.insert("budget".to_owned(), Value::Object(budget));
    }
    if let Some(when) = form.given(&format!("{at}/activate")) {
        body.insert("activate".to_owned(), json!(when));
    }
    if let Some(model) = form.given(&format!("{at}/prompt_model")) {
        body.insert("prompt_model".to_owned(), json!(model));
    }
    options(form, at, &OPTIONS, &mut body);
    Value::Object(body)
}

/// The fields of a body, as far as there are fields for it.
pub(crate) fn fields_of(body: &Value, at: &str) -> Vec<FilledField> {
    let mut fields = options_of(body, at, &OPTIONS);
    fields.extend(options_of(body, at, &["optimizer", "activate", "prompt_model"]));
    for set in SETS {
        if let Some(reference) = body.get(set) {
            fields.extend(dataset_of(reference, &format!("{at}/{set}")));
        }
    }
    fields.extend(options_of(
        &body["budget"],
        &format!("{at}/budget"),
        &LIMITS.map(|(name, _)| name),
    ));
    let chosen = optimizer(&Form::of(fields.clone()), at);
    if let Some((chosen, config)) = chosen.zip(body.get("config")) {
        fields.extend(filled(&json_of(&chosen.config_schema()), config, &format!("{at}/config")));
    }
    fields.extend(metric_of(body, at));
    fields
}

/// The sets of examples.
pub(crate) fn sets(fields: &SchemaForm<'_>, at: &str, datasets: &Names) -> Markup {
    let [train, val, test] = SETS.map(|set| format!("{at}/{set}"));
    let has = |set: &str| fields.form.given(&format!("{set}/dataset")).is_some();
    html! {
        (dataset_fields(fields, &train, "Trainset: for demos and reflections", datasets))
        details open[has(&val) || has(&test)] {
            summary { "Sets of your own for choosing and measuring" }
            p.hint { "Without them, they are drawn from the trainset: half trains, a quarter chooses, a quarter measures." }
            div.fields {
                (dataset_fields(fields, &val, "Valset: chooses candidates", datasets))
                (dataset_fields(fields, &test, "Testset: only measures the result", datasets))
            }
        }
    }
}

pub(crate) fn optimizer_panel(fields: &SchemaForm<'_>, at: &str) -> Markup {
    let chosen = optimizer(fields.form, at);
    let (name, config) = (format!("{at}/optimizer"), format!("{at}/config"));
    let mark = fields.mark(&name);
    html! {
        section.panel data-part="shape" id="optimizer" {
            header { h2 { "Optimizer" } }
            div.body.fields {
                label { "Optimizer"
                    select name=(name) data-reshapes aria-invalid=[mark.invalid] autofocus[mark.is_first] {
                        @for known in optimizers() {
                            option value=(known.name()) selected[chosen.is_some_and(|chosen| chosen.name() == known.name())] { (known.name()) }
                        }
                    }
                    (fields.problems(&name))
                }
                @if let Some(chosen) = chosen {
                    p.muted { (chosen.description()) @if chosen.changes_graph() { " Its result may be another graph." } }
                    details open[fields.problem.is_some() || fields.form.has_within(&config)] {
                        summary { "Settings" }
                        div.fields { (fields.fields(&json_of(&chosen.config_schema()), &config, "Settings")) }
                    }
                }
                (number(fields, &format!("{at}/seed"), "Seed of all random choices", "0"))
            }
        }
    }
}

/// The panel of the budget, and of what follows.
pub(crate) fn limits(fields: &SchemaForm<'_>, at: &str, may_activate: bool) -> Markup {
    let model = format!("{at}/prompt_model");
    let model = LineField {
        name: &model,
        label: "Model for proposals",
        placeholder: "default",
        ..LineField::default()
    };
    html! {
        section.panel {
            header { h2 { "Budget and result" } }
            div.body.fields {
                div.pair {
                    @for (name, label) in LIMITS { (limit(fields, at, name, label)) }
                }
                (fields.problems(&format!("{at}/budget")))
                (end(fields, at, may_activate))
                div.pair {
                    (number(fields, &format!("{at}/concurrency"), "Runs at a time", "the limit of the server"))
                    (model.show(fields))
                    (number(fields, &format!("{at}/timeout_ms"), "Time for an example (ms)", "the limit of the server"))
                }
            }
        }
    }
}

/// A limit of the budget. The first one is marked for a problem of the budget as a whole.
fn limit(fields: &SchemaForm<'_>, at: &str, name: &str, label: &str) -> Markup {
    let budget = format!("{at}/budget");
    let field = format!("{budget}/{name}");
    let is_first_limit = LIMITS.first().is_some_and(|(first, _)| *first == name);
    let whole = if is_first_limit { budget.as_str() } else { field.as_str() };
    let FieldMark { invalid, is_first } = fields.mark_own(&[field.as_str(), whole]);
    html! {
        label { (label)
            input type="number" min="0" step="any" name=(field) value=(fields.form.text(&field)) placeholder="no limit"
                aria-invalid=[invalid] autofocus[is_first];
            (fields.problems(&field))
        }
    }
}

/// What follows the end. A key that may not activate sends what is stored, so that the API answers it.
fn end(fields: &SchemaForm<'_>, at: &str, may_activate: bool) -> Markup {
    let name = format!("{at}/activate");
    let chosen = fields.form.text(&name);
    let FieldMark { invalid, is_first } =
        if may_activate { fields.mark(&name) } else { FieldMark::default() };
    html! {
        @if may_activate {
            label { "When it ends"
                select name=(name) aria-invalid=[invalid] autofocus[is_first] {
                    option value="" { "store the result; a person activates it" }
                    option value="if_better" selected[chosen == "if_better"] { "activate the result if its gain is certain" }
                    @if !["", "if_better"].contains(&chosen) { option value=(chosen) selected { (chosen) } }
                }
                (fields.problems(&name))
            }
        } @else {
            @if !chosen.is_empty() { input type="hidden" name=(name) value=(chosen); }
            (fields.problems(&name))
        }
    }
}
