//! Reads uploads of datasets: the format, the members beside the examples, and the source of the
//! examples. Knows no example.

use std::io::{Seek, Write};
use std::sync::Arc;

use dsrs::problem::{At, Code, Problems};
use dsrs::read::{list, listed, nearest, shared_text};
use dsrs::value::Payload;

use crate::protocol::body::parse;
use crate::protocol::json_items::BodyItems;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::Query;
use crate::protocol::table_items::TableItems;
use crate::protocol::upload::{SpooledBody, UploadFormat};
use dsrs_app::{
    App, AppError, ColumnMapping, DatasetRequest, ItemSource, WrittenItem, no_space, run_blocking,
};
use dsrs_store::Scope;

/// The member that holds the examples.
const EXAMPLES: &str = "examples";

/// The source of the examples of an upload.
pub enum Examples {
    Body(BodyItems),
    Table(TableItems),
}

impl ItemSource for Examples {
    fn each(
        self,
        take: &mut dyn FnMut(WrittenItem<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<(), String> {
        match self {
            Self::Body(items) => items.each(take),
            Self::Table(items) => items.each(take),
        }
    }
}

/// Reads the members beside the examples; `longest` limits an example, in bytes.
pub(crate) async fn read_upload(
    body: SpooledBody,
    query: Query,
    longest: usize,
) -> Result<(DatasetRequest, Examples), ApiProblem> {
    match body.form {
        UploadFormat::Json => {
            query.close()?;
            let mut items = BodyItems::of(body, EXAMPLES, longest);
            let read = read_blocking(move || items.options().map(|options| (options, items)));
            let (options, items) = read.await?;
            Ok((read_options(&options)?, Examples::Body(items)))
        }
        UploadFormat::Lines => {
            let request = read_query(query)?;
            Ok((request, Examples::Body(BodyItems::of(body, EXAMPLES, longest))))
        }
        UploadFormat::Table => {
            let mut request = read_query(query)?;
            let items = read_blocking(move || TableItems::of(body, longest)).await?;
            check_columns(request.columns.as_ref(), items.columns())?;
            request.cells = true;
            Ok((request, Examples::Table(items)))
        }
    }
}

/// Reads an upload that is a text of a form: lines, or a table.
pub async fn read_pasted(
    app: &App,
    scope: &Scope,
    text: String,
    is_table: bool,
    query: Query,
) -> Result<(DatasetRequest, Examples), ApiProblem> {
    let mut file = app.spool.file(scope.workspace);
    let write = move || {
        file.write_all(text.as_bytes())
            .and_then(|()| file.rewind())
            .map_err(|error| no_space(&error))?;
        Ok(file)
    };
    let file = read_blocking(write).await?;
    let form = if is_table { UploadFormat::Table } else { UploadFormat::Lines };
    read_upload(SpooledBody { form, file }, query, app.limits.body_bytes).await
}

/// Reads from a body that may be on disk, off the threads that serve requests.
async fn read_blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, ApiProblem> + Send + 'static,
) -> Result<T, ApiProblem> {
    let broken = || AppError::Internal("reading a body was interrupted".to_owned());
    run_blocking(read).await.ok_or_else(broken)?
}

/// Reads the options of lines and tables, which are query parameters.
fn read_query(mut query: Query) -> Result<DatasetRequest, ApiProblem> {
    let name = query.text("name").map(Arc::from);
    let description = query.text("description").map(Arc::from);
    let expectation = "comma-separated names, each once";
    let inputs = query.read("inputs", expectation, names);
    let expected = query.read("expected", expectation, names);
    if expected.is_some() && inputs.is_none() {
        return Err(ApiProblem::parameter("`expected` requires `inputs`"));
    }
    query.close()?;
    let columns = inputs.map(|inputs| ColumnMapping { inputs, expected });
    Ok(DatasetRequest { name, description, columns, ..DatasetRequest::default() })
}

fn names(text: &str) -> Option<Vec<Arc<str>>> {
    let names = text.split(',').map(str::trim);
    let names: Option<Vec<Arc<str>>> =
        names.map(|name| (!name.is_empty()).then(|| Arc::from(name))).collect();
    names.filter(|names| unique(names))
}

fn unique(names: &[Arc<str>]) -> bool {
    names.iter().enumerate().all(|(index, name)| !names[..index].contains(name))
}

/// Reads the members of a document, from which the examples have been removed.
fn read_options(text: &str) -> Result<DatasetRequest, ApiProblem> {
    let document = parse(text.as_bytes())?;
    let (mut request, faults) = document.read(|object| {
        let examples = object.required(EXAMPLES, |payload, at, problems| {
            list(payload, at, problems, |_, _, _| Some(()))
        });
        let name = object.optional("name", shared_text);
        let description = object.optional("description", shared_text);
        let inputs = object.optional("inputs", read_names);
        let expected = object.optional("expected", read_names);
        if expected.is_some() && !object.has("inputs") {
            let detail = "`expected` requires `inputs`";
            object.problems().add(&At::Root.key("inputs"), Code::MissingField, detail);
        }
        examples?;
        let columns = inputs.map(|inputs| ColumnMapping { inputs, expected });
        Some(DatasetRequest { name, description, columns, ..DatasetRequest::default() })
    })?;
    request.faults = faults;
    Ok(request)
}

fn read_names(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Vec<Arc<str>>> {
    let names = list(payload, at, problems, shared_text)?;
    if names.is_empty() || !unique(&names) {
        problems.add(at, Code::InvalidValue, "expected at least one name, each once");
        return None;
    }
    Some(names)
}

/// Checks that a table has the columns that the request names.
fn check_columns(named: Option<&ColumnMapping>, columns: &[Arc<str>]) -> Result<(), ApiProblem> {
    let known = || columns.iter().map(AsRef::as_ref);
    let Some(ColumnMapping { inputs, expected }) = named else {
        let detail = format!(
            "name the columns that are inputs, comma-separated: `?inputs=…`; the table has {}",
            listed(known())
        );
        return Err(ApiProblem::parameter(detail));
    };
    let missing = inputs.iter().chain(expected.iter().flatten());
    let wrong: Vec<String> = missing
        .filter(|name| !columns.contains(name))
        .map(|name| {
            let hint = nearest(name, known())
                .map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
            format!("the table has no column `{name}`{hint}")
        })
        .collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => {
            let detail = format!("{}; it has {}", wrong.join("; "), listed(known()));
            Err(ApiProblem::parameter(detail))
        }
    }
}
