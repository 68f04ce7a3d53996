//! Datasets: uploaded, read, deleted. A version is stored whole or not at all. May not know jobs or
//! metrics.

pub(crate) mod example;
pub(crate) mod from_runs;
pub(crate) mod reference;
mod row_fit;
pub(crate) mod selection;

use std::sync::Arc;

use dsrs::problem::{At, Code, Problem, Problems};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::clock::now;
use crate::dataset::example::{ColumnMapping, DatasetVersionBuilder};
use crate::error::merge_faults;
use crate::item_upload::{CheckedItems, ItemSource, Wording, check_items};
use crate::precondition::Precondition;
use crate::row_file::ChunkStore;
use crate::{App, AppError, Invalid};
use dsrs_store::dataset::{self, DatasetRow, DatasetVersionRow};
use dsrs_store::dataset_edit::{self, DatasetEdit, NewDatasetVersion, NewExample};
use dsrs_store::dataset_example::{self, ExampleRow, PageLimits};
use dsrs_store::{ListQuery, Page, Scope, StoreError};

/// The setting for the maximum number of examples.
pub(crate) const MOST: &str = "limits.dataset_examples";

/// The request of an upload, without the examples.
#[derive(Debug, Default)]
pub struct DatasetRequest {
    /// The name of the dataset, if the request has it.
    pub name: Option<Arc<str>>,
    /// The description of the version.
    pub description: Option<Arc<str>>,
    /// The roles of columns; `None` if the rows are examples.
    pub columns: Option<ColumnMapping>,
    /// Whether the values are texts of table cells.
    pub cells: bool,
    /// The problems found so far.
    pub faults: Problems,
}

/// The result of an upload.
#[derive(Debug)]
pub struct DatasetPut {
    /// The newest version, new or not.
    pub row: DatasetRow,
    /// Whether it is the first of a new dataset.
    pub is_new: bool,
    /// The number of examples added.
    pub added: usize,
    /// The number of examples that existed already.
    pub duplicates: usize,
}

impl App {
    /// Creates a dataset at version 1.
    pub async fn dataset_create(
        &self,
        scope: &Scope,
        mut request: DatasetRequest,
        source: impl ItemSource,
    ) -> Result<DatasetPut, AppError> {
        let name = request.name.take();
        match &name {
            Some(name) => check_name(name, &mut request.faults),
            None => {
                let place = At::Root.key("name");
                request.faults.add(&place, Code::MissingField, "`name` is missing");
            }
        }
        if let Some(name) = name.as_deref().filter(|_| request.faults.is_empty()) {
            self.refuse_known(scope, name).await?;
        }
        let (description, checked) = self.dataset_check_items(scope, request, source).await?;
        // Items are accepted only with a valid name.
        let name = name.unwrap_or_default();
        let edit = dataset_edit::create(scope, &self.db, Uuid::now_v7(), &name, now()).await?;
        store(edit, checked, description.as_deref()).await
    }

    /// Refuses a name in use before the examples are read.
    async fn refuse_known(&self, scope: &Scope, name: &str) -> Result<(), AppError> {
        match dataset::get(scope, &self.db, name, None).await {
            Ok(known) => {
                Err(StoreError::AlreadyExists { what: "dataset", name: known.name }.into())
            }
            Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates the next version, unless its content is that of the newest.
    pub async fn dataset_put(
        &self,
        scope: &Scope,
        name: &str,
        mut request: DatasetRequest,
        source: impl ItemSource,
        precondition: &Precondition,
    ) -> Result<DatasetPut, AppError> {
        // Refused before the examples are read.
        check_current(&dataset::get(scope, &self.db, name, None).await?, precondition)?;
        let misnamed = misnamed(&request, name);
        let is_misnamed = misnamed.is_some();
        request.faults.extend(misnamed);
        let checked = self.dataset_check_items(scope, request, source).await;
        let (description, checked) = checked.map_err(|error| match error {
            AppError::Invalid { problems, .. } if is_misnamed => {
                AppError::invalid(Invalid::Name, problems)
            }
            other => other,
        })?;
        let edit = dataset_edit::lock(scope, &self.db, name).await?;
        check_edit(&edit, precondition)?;
        store(edit, checked, description.as_deref()).await
    }

    async fn dataset_check_items(
        &self,
        scope: &Scope,
        request: DatasetRequest,
        source: impl ItemSource,
    ) -> Result<(Option<Arc<str>>, CheckedItems<DatasetVersionBuilder>), AppError> {
        let builder = DatasetVersionBuilder::new(request.columns, request.cells);
        let wording = Wording {
            member: "examples",
            whole: "a dataset",
            setting: MOST,
            invalid: Invalid::Request,
        };
        let most = self.limits.dataset_examples as usize;
        let checked = check_items(self.check_room(scope), builder, source, most, wording).await;
        let checked = merge_faults(request.faults, checked)?;
        let faults = checked.parser.faults().or(());
        faults.map_err(|problems| AppError::invalid(Invalid::Request, problems))?;
        Ok((request.description, checked))
    }

    /// A dataset at a version, or at the newest.
    pub async fn dataset_get(
        &self,
        scope: &Scope,
        name: &str,
        version: Option<i32>,
    ) -> Result<DatasetRow, AppError> {
        Ok(dataset::get(scope, &self.db, name, version).await?)
    }

    /// One page of datasets, newest first.
    pub async fn dataset_list(
        &self,
        scope: &Scope,
        list: ListQuery,
    ) -> Result<Page<DatasetRow>, AppError> {
        Ok(dataset::list(scope, &self.db, list).await?)
    }

    /// One page of the versions of a dataset, newest first.
    pub async fn dataset_versions(
        &self,
        scope: &Scope,
        dataset: Uuid,
        list: ListQuery<i32>,
    ) -> Result<Page<DatasetVersionRow, i32>, AppError> {
        Ok(dataset::versions(scope, &self.db, dataset, list).await?)
    }

    /// The examples of a version after a position, in order; of one split, if named.
    pub async fn dataset_examples(
        &self,
        scope: &Scope,
        version: (Uuid, i32),
        split: Option<&str>,
        after: i32,
        limits: PageLimits,
    ) -> Result<Vec<ExampleRow>, AppError> {
        Ok(dataset_example::page(scope, &self.db, version, split, after, limits).await?)
    }

    /// Deletes a dataset softly: its name is free, and jobs that use it continue.
    pub async fn dataset_delete(
        &self,
        scope: &Scope,
        name: &str,
        precondition: &Precondition,
    ) -> Result<(), AppError> {
        let edit = dataset_edit::lock(scope, &self.db, name).await?;
        check_edit(&edit, precondition)?;
        Ok(edit.delete(now()).await?)
    }
}

impl ChunkStore<NewExample> for DatasetEdit {
    async fn add(&mut self, chunk: &[NewExample]) -> Result<(), StoreError> {
        DatasetEdit::add(self, chunk).await
    }
}

/// Stores checked examples as a version.
async fn store(
    mut edit: DatasetEdit,
    checked: CheckedItems<DatasetVersionBuilder>,
    description: Option<&str>,
) -> Result<DatasetPut, AppError> {
    checked.rows.store(&mut edit).await?;
    let builder = checked.parser;
    finish(edit, &builder, description, builder.totals.count).await
}

/// Creates a version of the stored examples, unless the newest has the same content.
pub(crate) async fn finish(
    edit: DatasetEdit,
    builder: &DatasetVersionBuilder,
    description: Option<&str>,
    added: usize,
) -> Result<DatasetPut, AppError> {
    let content_hash = builder.content_hash();
    let description = description.map(|text| Payload::from(text).to_json());
    let duplicates = builder.totals.duplicates;
    let is_new = edit.head().is_none();
    if let Some(head) = edit.head() {
        let known = &head.version;
        let as_before = description.is_none() || description == known.description;
        if known.content_hash == content_hash && as_before {
            return Ok(DatasetPut { row: head.clone(), is_new, added: 0, duplicates });
        }
    }
    let before = edit.head().and_then(|head| head.version.description.clone());
    let description = description.or(before);
    let new = NewDatasetVersion {
        description: description.as_deref(),
        bytes: builder.totals.bytes,
        splits: &builder.splits_json(),
        content_hash: &content_hash,
        at: now(),
    };
    let row = edit.finish(new).await?;
    Ok(DatasetPut { row, is_new, added, duplicates })
}

fn check_edit(edit: &DatasetEdit, precondition: &Precondition) -> Result<(), AppError> {
    edit.head().map_or(Ok(()), |head| check_current(head, precondition))
}

fn check_current(head: &DatasetRow, precondition: &Precondition) -> Result<(), AppError> {
    precondition.check(head.id, head.version.version)
}

/// Checks a dataset's name: `[a-z][a-z0-9_-]{0,62}`.
pub(crate) fn check_name(name: &str, problems: &mut Problems) {
    let tail = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    let head = |c: char| c.is_ascii_lowercase();
    if !(name.len() <= 63 && name.starts_with(head) && name.chars().all(tail)) {
        let detail = format!(
            "`{name}` is not a valid dataset name: a lower-case letter, then at most 62 of a-z, 0-9, _ and -"
        );
        problems.add(&At::Root.key("name"), Code::InvalidName, detail);
    }
}

/// The problem of a request that names another dataset than its path.
fn misnamed(request: &DatasetRequest, name: &str) -> Option<Problem> {
    let given = request.name.as_deref().filter(|given| *given != name)?;
    Some(Problem {
        pointer: At::Root.key("name").pointer(),
        code: Code::NameMismatch,
        detail: format!("the dataset is `{name}`, the request names `{given}`"),
    })
}
