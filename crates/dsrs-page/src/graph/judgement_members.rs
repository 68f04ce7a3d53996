//! An online evaluation as the fields of its form, and the form as the body of a request of the API. A metric is a row
//! of the form, because its name is one of its fields. Knows no HTML.

use std::sync::LazyLock;

use dsrs::optimize::Metric;
use dsrs::problem::At;
use serde_json::{Map, Value, json};

use crate::evaluation::forecast::json_of;
use crate::form::Form;
use crate::parts::revision::{REVISION, spelling};
use crate::parts::schema_entry::{entered, number_or_text};
use crate::parts::schema_fill::{FilledField, filled};
use dsrs_http::{ApiProblem, Document, read_document};
use dsrs_store::online_evaluation::OnlineEvaluationRow;

/// The rows of the form, one for each metric.
pub(super) const ROWS: &str = "/rows";

/// The most rows that are read: one more than the API accepts, so that it refuses them. A request may have thousands.
pub(super) const MOST_ROWS: usize = 9;

/// The field that pauses it.
pub(super) const PAUSED: &str = "paused";

/// Whether it was paused when the form was opened, so that only what a person changed is sent.
pub(super) const WAS_PAUSED: &str = "was_paused";

/// The buttons that add a row, and remove one.
pub(super) const ADD: &str = "add";
pub(super) const REMOVE: &str = "remove";

/// The options that are numbers.
const NUMBERS: [&str; 3] = ["sample", "calls_per_day", "cost_per_day"];

/// Metrics that need no expected outputs, which live runs do not have.
const WITHOUT_EXPECTED: [&str; 3] = ["expression", "judge", "graph"];

/// A row of the form: its number, and the name of its score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MetricRow {
    number: u32,
    pub(super) name: String,
}

impl MetricRow {
    /// The field with the name.
    pub(super) fn name_field(&self) -> String {
        format!("{ROWS}/{}/name", self.number)
    }

    /// The field with the metric.
    pub(super) fn metric_field(&self) -> String {
        format!("{ROWS}/{}/metric", self.number)
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }
}

/// The schema of a metric of live runs: fields for those that need no expected outputs, JSON for the others.
pub(super) static METRIC: LazyLock<Value> = LazyLock::new(metric_schema);

fn metric_schema() -> Value {
    let all = json_of(&Metric::schema());
    let named = |schema: &&Value| {
        schema["required"][0].as_str().is_some_and(|name| WITHOUT_EXPECTED.contains(&name))
    };
    let mut known: Vec<Value> =
        all["oneOf"].as_array().into_iter().flatten().filter(named).cloned().collect();
    known.push(json!({"description": "another metric, as JSON"}));
    json!({ "oneOf": known })
}

/// The rows of a form, in their order.
pub(super) fn rows(form: &Form) -> Vec<MetricRow> {
    let removed: Option<u32> = form.text(REMOVE).parse().ok();
    let row = |number| MetricRow {
        number,
        name: form.text(&format!("{ROWS}/{number}/name")).trim().to_owned(),
    };
    let numbers = form.numbers_within(ROWS).filter(|number| Some(*number) != removed);
    let mut rows: Vec<MetricRow> = numbers.take(MOST_ROWS).map(row).collect();
    if rows.is_empty() || (form.given(ADD).is_some() && rows.len() < MOST_ROWS) {
        let next = rows.last().map_or(0, |row| row.number.saturating_add(1));
        rows.push(MetricRow { number: next, name: String::new() });
    }
    rows
}

/// The form of a graph that has no online evaluation.
pub(super) fn new_form() -> Form {
    let fields = [("/sample", "0.1"), ("/calls_per_day", "1000"), (WAS_PAUSED, "false")];
    Form::of(fields.map(|(name, text)| (name.to_owned(), text.to_owned())).into())
}

/// The form of an online evaluation that is stored.
pub(super) fn form_of(row: &OnlineEvaluationRow) -> Form {
    let settings = &row.settings;
    let mut fields: Vec<FilledField> = vec![("/sample".to_owned(), settings.sample.to_string())];
    if let Some(calls) = settings.calls_per_day {
        fields.push(("/calls_per_day".to_owned(), calls.to_string()));
    }
    if let Some(cost) = settings.cost_per_day {
        fields.push(("/cost_per_day".to_owned(), cost.to_string()));
    }
    if !settings.enabled {
        fields.push((PAUSED.to_owned(), "true".to_owned()));
    }
    fields.push((WAS_PAUSED.to_owned(), (!settings.enabled).to_string()));
    fields.push((REVISION.to_owned(), spelling((row.id, row.revision))));
    let metrics: Map<String, Value> = serde_json::from_str(&settings.metrics).unwrap_or_default();
    for (number, (name, metric)) in (0..).zip(&metrics) {
        let row = MetricRow { number, name: name.clone() };
        fields.push((row.name_field(), name.clone()));
        fields.extend(filled(&METRIC, metric, &row.metric_field()));
    }
    Form::of(fields)
}

/// The form with the pause that is stored now, unless a person changed it since the form was opened.
pub(super) fn with_stored_pause(form: Form, stored: Option<&OnlineEvaluationRow>) -> Form {
    let opened: Option<bool> = form.text(WAS_PAUSED).parse().ok();
    let is_untouched = opened == Some(form.given(PAUSED).is_some());
    let Some(row) = stored.filter(|_| is_untouched) else { return form };
    let stored = &row.settings;
    let paused = (PAUSED.to_owned(), "true".to_owned());
    let form = form.replaced(PAUSED, if stored.enabled { Vec::new() } else { vec![paused] });
    form.replaced(WAS_PAUSED, vec![(WAS_PAUSED.to_owned(), (!stored.enabled).to_string())])
}

/// The members of the body beside the metrics.
fn options(form: &Form) -> Map<String, Value> {
    let number = |name: &&str| {
        let text = form.given(&format!("/{name}"))?;
        Some(((*name).to_owned(), number_or_text(text.trim())))
    };
    let mut options: Map<String, Value> = NUMBERS.iter().filter_map(number).collect();
    if form.given(PAUSED).is_some() {
        options.insert("enabled".to_owned(), json!(false));
    }
    options
}

fn metric(form: &Form, row: &MetricRow) -> Value {
    entered(&METRIC, form, &row.metric_field()).unwrap_or_default()
}

/// The body of the request.
pub(super) fn body(form: &Form) -> Value {
    let rows = rows(form);
    let metrics: Map<String, Value> =
        rows.iter().map(|row| (row.name.clone(), metric(form, row))).collect();
    let mut body = Map::from_iter([("metrics".to_owned(), Value::Object(metrics))]);
    body.extend(options(form));
    Value::Object(body)
}

/// The body as the API reads it. Names that two rows have are written twice, so that it refuses them.
pub(super) fn document(form: &Form) -> Result<Document, ApiProblem> {
    let member = |row: &MetricRow| format!("{}:{}", json!(row.name), metric(form, row));
    let metrics: Vec<String> = rows(form).iter().map(member).collect();
    let options = Value::Object(options(form)).to_string();
    let rest = options.trim_start_matches('{');
    let comma = if rest == "}" { "" } else { "," };
    let text = format!("{{\"metrics\":{{{}}}{comma}{rest}", metrics.join(","));
    read_document(text.as_bytes())
}

/// A problem of the API with the places of the form: that of a metric is that of its row.
pub(super) fn at_rows(problem: &ApiProblem, form: &Form) -> ApiProblem {
    let rows = rows(form);
    problem.clone().with(|view| {
        for item in &mut view.errors {
            if let Some(place) = place_in_rows(&item.pointer, &rows) {
                item.pointer = place.into();
            }
        }
    })
}

fn place_in_rows(pointer: &str, rows: &[MetricRow]) -> Option<String> {
    let (root, metrics) = (At::Root, "metrics");
    // The last of those with one name is the one to rename.
    rows.iter().rev().find_map(|row| {
        let rest = pointer.strip_prefix(&root.key(metrics).key(&row.name).pointer())?;
        match rest {
            "" => Some(row.name_field()),
            _ => rest.starts_with('/').then(|| format!("{}{rest}", row.metric_field())),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsrs_store::online_evaluation::OnlineEvaluationSettings;

    fn form(fields: &[(&str, &str)]) -> Form {
        let fields = fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Form::of(fields.collect())
    }

    #[test]
    fn what_is_stored_becomes_fields_and_the_same_body() {
        let metrics = json!({
            "short": {"expression": "outputs.answer|length < 400"},
            "exactly": {"exact": {"fields": ["answer"]}},
            "kind": {"graph": "grader", "score": "points"}
        });
        let row = OnlineEvaluationRow {
            settings: OnlineEvaluationSettings {
                metrics: metrics.to_string(),
                sample: 0.25,
                enabled: false,
                calls_per_day: Some(10),
                cost_per_day: None,
            },
            ..OnlineEvaluationRow::default()
        };
        let wanted =
            json!({"metrics": metrics, "sample": 0.25, "calls_per_day": 10, "enabled": false});
        assert_eq!(body(&form_of(&row)), wanted);
    }

    #[test]
    fn a_row_is_added_and_removed() {
        let two = [("/rows/0/name", "a"), ("/rows/2/name", "b")];
        let numbers = |more: &[(&str, &str)]| {
            let rows = rows(&form(&[&two, more].concat()));
            rows.iter().map(MetricRow::number).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&[]), [0, 2]);
        assert_eq!(numbers(&[("add", "1")]), [0, 2, 3]);
        assert_eq!(numbers(&[("remove", "0")]), [2]);
        assert_eq!(rows(&form(&[])).len(), 1);
        let names: Vec<String> = (0..4000).map(|number| format!("/rows/{number}/name")).collect();
        let many: Vec<_> = names.iter().map(|name| (name.as_str(), "a")).collect();
        assert_eq!(rows(&form(&many)).len(), MOST_ROWS);
    }

    #[test]
    fn problems_have_the_places_of_rows() {
        let rows = rows(&form(&[("/rows/1/name", "a/b"), ("/rows/3/name", "c")]));
        let place = |pointer| place_in_rows(pointer, &rows);
        assert_eq!(place("/metrics/a~1b/judge/x").as_deref(), Some("/rows/1/metric/judge/x"));
        assert_eq!(place("/metrics/c").as_deref(), Some("/rows/3/name"));
        assert_eq!(place("/metrics/cd"), None);
        assert_eq!(place("/sample"), None);
    }
}
