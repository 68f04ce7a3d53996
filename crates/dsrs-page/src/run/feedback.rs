//! Feedback on a run, as it is shown: what there is, thumbs, and a form for a score, a comment and corrected outputs by their types.

use dsrs::graph::Program;
use dsrs::problem::Problems;
use dsrs::value::Payload;
use dsrs_api::plain_name::PlainName;
use maud::{Markup, html};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::form::Form;
use crate::parts::time::ago;
use crate::parts::value_form::{FieldProblems, ValueField};
use crate::parts::values::members;
use crate::run::span::shown;
use crate::visitor::Visitor;
use dsrs_app::{FeedbackRequest, FeedbackScore};
use dsrs_http::ApiProblem;
use dsrs_store::ListQuery;
use dsrs_store::feedback::FeedbackRow;
use dsrs_store::key_scope::KeyScope;
use dsrs_store::run::RunRow;

/// The source of feedback that is given on the page.
const REVIEWER: &str = "reviewer";

/// The name of the score that thumbs give.
const THUMB: &str = "thumb";

/// Pieces of feedback that are shown.
const SHOWN: u32 = 50;

/// The greatest outputs that a form has fields for, in bytes of JSON: each element of a list is a row.
const LARGEST_IN_FORM: usize = 4096;

/// Feedback that does not fit.
pub(super) struct RefusedFeedback {
    pub(super) form: Form,
    pub(super) problem: ApiProblem,
}

/// The feedback on a run, with the forms to give more.
pub(super) async fn panel(
    visitor: &Visitor,
    run: &RunRow,
    refused: Option<&RefusedFeedback>,
) -> Result<Markup, ApiProblem> {
    let list = ListQuery::new(None, SHOWN);
    let listed = visitor.app.feedback_list(&visitor.scope, run.id, list).await?;
    let may_give = visitor.may(KeyScope::Execute);
    let is_small = run.outputs.as_ref().is_none_or(|outputs| outputs.len() <= LARGEST_IN_FORM);
    let program = match may_give && is_small {
        // A definition whose tools are gone from this server has no form for its outputs.
        true => visitor.app.recorded_program(&visitor.scope, run).await.ok(),
        false => None,
    };
    Ok(html! {
        section.panel #feedback {
            header {
                h2 { "Feedback" }
                @if may_give { (thumbs(run.id)) }
            }
            div.body {
                @if listed.items.is_empty() { p.muted { "none yet" } }
                @else { (table(&listed.items)) }
                @if listed.next.is_some() { p.muted { "The newest " (SHOWN) " are shown." } }
            }
            @if may_give { (give_form(run, program.as_deref(), refused)) }
        }
    })
}

fn thumbs(run: Uuid) -> Markup {
    html! {
        form.thumbs action={ "/runs/" (run) "/feedback" } method="post" {
            input type="hidden" name="name" value=(THUMB);
            button.quiet type="submit" name="score" value="1" aria-label="Good" title="Good" { "👍" }
            button.quiet type="submit" name="score" value="0" aria-label="Bad" title="Bad" { "👎" }
        }
    }
}

fn table(rows: &[FeedbackRow]) -> Markup {
    html! {
        table.stack {
            thead { tr { th { "Score" } th { "Says" } th { "From" } th { "When" } } }
            tbody {
                @for row in rows {
                    tr {
                        td data-label="Score" { (score(row)) }
                        td data-label="Says" { (words(row)) }
                        td data-label="From" { (row.source) " " span.muted.small { (giver(row)) } }
                        td data-label="When" { (ago(row.updated_at)) }
                    }
                }
            }
        }
    }
}

fn giver(row: &FeedbackRow) -> &str {
    if row.user_id.is_empty() { &row.created_by } else { &row.user_id }
}

fn score(row: &FeedbackRow) -> Markup {
    html! {
        @if let Some(name) = &row.name {
            (name) " "
            @if let Some(number) = row.score { b { (format!("{number:.2}")) } }
            @if let Some(word) = &row.category { b { (word) } }
        } @else { span.muted { "–" } }
    }
}

fn words(row: &FeedbackRow) -> Markup {
    let comment: Option<String> =
        row.comment.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let outputs = row.outputs.as_deref().map(members).unwrap_or_default();
    html! {
        @if let Some(comment) = comment { p { (comment) } }
        @if !outputs.is_empty() {
            p.small.muted { "Corrected outputs" }
            dl.values { @for (name, value) in &outputs { dt { (name) } dd { (shown(value)) } } }
        }
    }
}

/// The outputs of a graph as fields.
fn fields(program: &Program) -> Vec<ValueField<'_>> {
    let graph = program.graph();
    let outputs = graph.outputs();
    let field = outputs.map(|(name, output)| ValueField {
        pointer: format!("/outputs/{name}"),
        name,
        ty: &output.ty.ir,
        defs: &output.ty.defs,
        description: None,
        has_default: true,
    });
    field.collect()
}

fn give_form(run: &RunRow, program: Option<&Program>, refused: Option<&RefusedFeedback>) -> Markup {
    let problems = FieldProblems::of(refused.map(|refused| &refused.problem));
    let text = |name: &str| refused.map(|refused| refused.form.text(name)).unwrap_or_default();
    let fields = program.map(fields).unwrap_or_default();
    let recorded = run.outputs.as_deref().map(members).unwrap_or_default();
    let written = refused.map(|refused| read_outputs(&fields, &refused.form)).unwrap_or_default();
    html! {
        details open[refused.is_some()] {
            summary { "Score, comment, corrected outputs" }
            form.body action={ "/runs/" (run.id) "/feedback" } method="post" {
                @if let Some(refused) = refused {
                    p.refusal role="alert" { (refused.problem.code().title()) ": " (details(&refused.problem)) }
                }
                div.filters {
                    label { "Name of the score" input name="name" value=(text("name")) maxlength="64" pattern="[A-Za-z0-9._\\-]+" placeholder="helpful" autocomplete="off"; }
                    label.short { "0 to 1" input name="score" value=(text("score")) inputmode="decimal" autocomplete="off"; }
                    label { "or a category" input name="category" value=(text("category")) maxlength="64" autocomplete="off"; }
                }
                label.value-field { "Comment" textarea name="comment" rows="2" maxlength="10000" { "\n" (text("comment")) } }
                @if fields.is_empty() {
                    p.hint { "Corrected outputs of this run are sent with the API." }
                } @else {
                    p.hint { "Change outputs that are wrong; what is left as it is counts as not corrected." }
                    @for field in &fields {
                        (field.show(written.get(field.name).or_else(|| recorded.get(field.name)), &problems))
                    }
                }
                div.actions { button.primary type="submit" { "Give feedback" } }
            }
        }
    }
}

fn details(problem: &ApiProblem) -> String {
    if problem.items().is_empty() {
        return problem.detail().to_owned();
    }
    let items = problem.items().iter().filter(|item| !item.pointer.starts_with("/outputs/"));
    items.map(|item| item.detail.as_ref()).collect::<Vec<&str>>().join("; ")
}

fn read_outputs(fields: &[ValueField<'_>], form: &Form) -> Map<String, Value> {
    let read = |field: &ValueField<'_>| Some((field.name.to_owned(), field.read(form)?));
    fields.iter().filter_map(read).collect()
}

/// The request of a form. Outputs that are as recorded are not corrected.
pub(super) async fn read(
    visitor: &Visitor,
    run: &RunRow,
    form: &Form,
) -> Result<FeedbackRequest, ApiProblem> {
    let mut outputs = None;
    if form.has_within("/outputs") {
        let program = visitor.app.recorded_program(&visitor.scope, run).await?;
        let recorded = run.outputs.as_deref().map(members).unwrap_or_default();
        let mut written = read_outputs(&fields(&program), form);
        written.retain(|name, value| recorded.get(name) != Some(value));
        let payload = Payload::from_json(&Value::Object(written).to_string())
            .map_err(|error| ApiProblem::parameter(error.to_string()))?;
        outputs = payload.as_map().filter(|map| !map.is_empty()).cloned();
    }
    let comment = form.given("comment").map(str::trim).filter(|text| !text.is_empty());
    let request = FeedbackRequest {
        source: REVIEWER.to_owned(),
        score: read_score(form)?,
        comment: comment.map(str::to_owned),
        outputs,
        user_id: Some(&*visitor.scope.actor)
            .filter(|actor| *actor != "anonymous")
            .unwrap_or_default()
            .to_owned(),
        faults: Problems::new(),
    };
    if request.score.is_none() && request.comment.is_none() && request.outputs.is_none() {
        return Err(ApiProblem::parameter("give a score, a comment or a corrected output"));
    }
    Ok(request)
}

fn read_score(form: &Form) -> Result<Option<(PlainName, FeedbackScore)>, ApiProblem> {
    let number = form.given("score").map(|text| {
        let number = text.trim().parse().ok().filter(|number| (0.0..=1.0).contains(number));
        number
            .map(FeedbackScore::Number)
            .ok_or_else(|| ApiProblem::parameter("a score is a number from 0 to 1"))
    });
    let category = form.given("category").map(|text| {
        let fits = text.chars().count() <= 64 && !text.contains(char::is_control);
        let word = || FeedbackScore::Category(text.to_owned());
        fits.then(word).ok_or_else(|| ApiProblem::parameter("a category has 1 to 64 characters"))
    });
    let score = match (number, category) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(ApiProblem::parameter("a score is a number or a category, not both"));
        }
        (Some(score), None) | (None, Some(score)) => score?,
    };
    let name = form.given("name").and_then(PlainName::parse);
    let name = name.ok_or_else(|| {
        ApiProblem::parameter(format!("a score has a name: {}", PlainName::EXPECTED))
    })?;
    Ok(Some((name, score)))
}
