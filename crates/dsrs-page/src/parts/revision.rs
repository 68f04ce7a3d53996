//! The revision of what a form changes, as a hidden field: a form that another person has overtaken is not stored, and
//! is shown again with what was entered. Knows no view.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use uuid::Uuid;

use crate::form::Form;
use dsrs_app::Precondition;
use dsrs_http::{ApiProblem, ProblemCode};

/// The field.
pub(crate) const REVISION: &str = "revision";

/// What saving again does with the other person's change: of a form that sends what was changed in it, and of one that
/// sends everything.
pub(crate) const SAVED_AGAIN: &str = "saving again stores what you changed beside it";
pub(crate) const REPLACED: &str = "saving again replaces it";

/// A revision as the field has it.
pub(crate) fn spelling((id, revision): (Uuid, i32)) -> String {
    format!("{id}.{revision}")
}

/// The field with the revision that the form has.
pub(crate) fn revision_field(form: &Form) -> Markup {
    html! { input type="hidden" name=(REVISION) value=(form.text(REVISION)); }
}

/// The precondition of a form. A text that is no revision never matches; without the field anything does.
pub(crate) fn precondition(form: &Form) -> Precondition {
    let read = |text: &str| {
        let (id, revision) = text.split_once('.')?;
        Some((id.parse().ok()?, revision.parse().ok()?))
    };
    match form.given(REVISION) {
        None => Precondition::Any,
        Some(text) => Precondition::OneOf(read(text).into_iter().collect()),
    }
}

/// The form with the revision that is current, if `problem` says that it had another one: the next time it is stored.
pub(crate) fn renewed(form: Form, current: Option<(Uuid, i32)>, problem: &ApiProblem) -> Form {
    match problem.code() {
        ProblemCode::PreconditionFailed => {
            let field = current.map(|current| (REVISION.to_owned(), spelling(current)));
            form.replaced(REVISION, field.into_iter().collect())
        }
        _ => form,
    }
}

/// A refusal that says what a person does about another person's change.
pub(crate) fn explained(problem: ApiProblem, again: &str) -> ApiProblem {
    match problem.code() {
        ProblemCode::PreconditionFailed => problem.with(|view| {
            view.detail = format!(
                "another person has stored a change since you opened this form, so that yours is not stored yet; {again}"
            )
            .into();
        }),
        _ => problem,
    }
}

/// The status of a form that is shown again: `412` after another person's change, otherwise `422`.
pub(crate) fn refused(mut view: Response, problem: &ApiProblem) -> Response {
    *view.status_mut() = match problem.code() {
        ProblemCode::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    view
}
