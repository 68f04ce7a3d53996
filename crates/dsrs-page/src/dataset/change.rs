//! Changes of datasets by forms: a new one, a new version, a deletion.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use maud::html;

use crate::dataset::list;
use crate::dataset::upload::{Pasted, upload};
use crate::form::{Form, encoded, see};
use crate::parts::head::head;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::{DatasetPut, Precondition};
use dsrs_http::{ApiProblem, Query, read_pasted_dataset};

/// `POST /datasets`.
pub(crate) async fn create(visitor: Visitor, form: Form) -> Response {
    match Box::pin(store(&visitor, &form, None)).await {
        Ok(put) => see(&format!("/datasets/{}", encoded(&put.row.name))),
        Err(problem) => {
            let pasted = pasted(&form, problem);
            refused(list::show(&visitor, &html! {}, &pasted))
        }
    }
}

/// `POST /datasets/{dataset}`: the next version.
pub(crate) async fn replace(visitor: Visitor, Path(name): Path<String>, form: Form) -> Response {
    match Box::pin(store(&visitor, &form, Some(&name))).await {
        Ok(put) => see(&format!("/datasets/{}", encoded(&put.row.name))),
        Err(problem) => {
            let pasted = pasted(&form, problem);
            let view = View::new(name.as_str(), PageSection::Datasets)
                .styles(&["quality.css"])
                .scripts(&["upload.js"]);
            let up = [("/datasets".to_owned(), "Datasets")];
            let body = html! {
                (head(&up, &html! { a href={ "/datasets/" (encoded(&name)) } { (name) } }, &html! {}))
                (upload(Some(&name), &pasted))
            };
            refused(visitor.show(&view, body))
        }
    }
}

/// `POST /datasets/{dataset}/delete`.
pub(crate) async fn delete(
    visitor: Visitor,
    Path(name): Path<String>,
) -> Result<Response, ApiProblem> {
    visitor.app.dataset_delete(&visitor.scope, &name, &Precondition::Any).await?;
    Ok(see("/datasets"))
}

async fn store(
    visitor: &Visitor,
    form: &Form,
    known: Option<&str>,
) -> Result<DatasetPut, ApiProblem> {
    let Visitor { app, scope, .. } = visitor;
    let _place = app.spool.place(scope.workspace)?;
    let query = options(form, known.is_none());
    // Browsers send line ends as CR LF.
    let text = form.text("text").replace("\r\n", "\n");
    let is_table = form.text("format") == "csv";
    let (request, examples) = read_pasted_dataset(app, scope, text, is_table, query).await?;
    Ok(match known {
        None => app.dataset_create(scope, request, examples).await?,
        Some(name) => app.dataset_put(scope, name, request, examples, &Precondition::Any).await?,
    })
}

/// The members of the request beside the examples.
fn options(form: &Form, is_new: bool) -> Query {
    let names: &[&str] =
        if is_new { &["name", "inputs", "expected"] } else { &["inputs", "expected"] };
    let given = names.iter().filter_map(|name| Some((*name, form.given(name)?)));
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    Query::parse(&query.extend_pairs(given).finish())
}

fn pasted(form: &Form, problem: ApiProblem) -> Pasted {
    let text = |name: &str| form.text(name).to_owned();
    Pasted {
        name: text("name"),
        text: text("text"),
        is_table: form.text("format") == "csv",
        inputs: text("inputs"),
        expected: text("expected"),
        problem: Some(problem),
    }
}

/// A form that is shown again with its problems.
pub(crate) fn refused(mut view: Response) -> Response {
    *view.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    view
}
