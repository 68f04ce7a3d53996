//! Feedback on a run, as it is shown: what there is, thumbs, and a form for a score, a comment and corrected outputs by their types.

use dsrs::graph::Program;
use dsrs::problem::Problems;
use maud::{Markup, html};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::form::Form;
use crate::parts::schema_entry::number_or_text;
use crate::parts::time::ago;
use crate::parts::value_form::{FieldProblems, ValueField};
use crate::parts::values::members;
use crate::run::span::shown;
use crate::visitor::Visitor;
use dsrs::document::longest;
use dsrs_api::feedback::FeedbackRequest;
use dsrs_http::{ApiProblem, read_document};
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
    let longest = longest::<FeedbackRequest>;
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
                    label { "Name of the score" input name="name" value=(text("name")) maxlength=[longest("name")] pattern="[A-Za-z0-9._\\-]+" placeholder="helpful" autocomplete="off"; }
                    label.short { "0 to 1" input name="score" value=(text("score")) inputmode="decimal" autocomplete="off"; }
                    label { "or a category" input name="category" value=(text("category")) maxlength=[longest("category")] autocomplete="off"; }
                }
                label.value-field { "Comment" textarea name="comment" rows="2" maxlength=[longest("comment")] { "\n" (text("comment")) } }
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

/// The request of a form, with its problems. Outputs that are as recorded are not corrected.
pub(super) async fn read(
    visitor: &Visitor,
    run: &RunRow,
    form: &Form,
) -> Result<(FeedbackRequest, Problems), ApiProblem> {
    let mut outputs = None;
    if form.has_within("/outputs") {
        let program = visitor.app.recorded_program(&visitor.scope, run).await?;
        let recorded = run.outputs.as_deref().map(members).unwrap_or_default();
        let mut written = read_outputs(&fields(&program), form);
        written.retain(|name, value| recorded.get(name) != Some(value));
        outputs = Some(written).filter(|written| !written.is_empty());
    }
    let mut body = Map::from_iter([("source".to_owned(), REVIEWER.into())]);
    let texts = ["name", "category"].map(|name| (name, form.given(name)));
    let comment = form.given("comment").map(str::trim).filter(|text| !text.is_empty());
    let actor = Some(&*visitor.scope.actor).filter(|actor| *actor != "anonymous");
    for (name, text) in texts.into_iter().chain([("comment", comment), ("user_id", actor)]) {
        body.extend(text.map(|text| (name.to_owned(), text.into())));
    }
    let score = form.given("score").map(|text| number_or_text(text.trim()));
    body.extend(score.map(|score| ("score".to_owned(), score)));
    body.extend(outputs.map(|outputs| ("outputs".to_owned(), Value::Object(outputs))));
    read_document(Value::Object(body).to_string().as_bytes())?.request()
}
