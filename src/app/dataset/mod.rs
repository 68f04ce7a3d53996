//! Datasets: uploaded, found, listed, deleted. A version is made whole or not at all.

pub(crate) mod example;
pub(crate) mod from_runs;
pub(crate) mod selection;

use std::sync::Arc;

use dsrs::problem::{At, Code, Problem, Problems};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::app::clock::now;
use crate::app::dataset::example::{Columns, Gathering};
use crate::app::error::merge_faults;
use crate::app::item_upload::{ItemSource, PieceStore, Wording, store_items};
use crate::app::precondition::Precondition;
use crate::app::{App, AppError, Invalid};
use crate::store::dataset::{self, DatasetRow, VersionRow};
use crate::store::dataset_edit::{self, DatasetEdit, NewExample, NewVersion};
use crate::store::dataset_example::{self, ExampleRow, Room};
use crate::store::{Cursor, Page, Scope, StoreError};

/// The setting that limits the examples of a version.
pub(crate) const MOST: &str = "limits.dataset_examples";

/// What is uploaded, beside the examples.
#[derive(Debug, Default)]
pub(crate) struct DatasetRequest {
    /// The dataset's name, where the request has it.
    pub(crate) name: Option<Arc<str>>,
    /// What the version says of itself.
    pub(crate) description: Option<Arc<str>>,
    /// Which members of a row are what; rows are examples when absent.
    pub(crate) columns: Option<Columns>,
    /// Whether rows are made of texts of table cells.
    pub(crate) cells: bool,
    /// What is wrong with the rest of the request.
    pub(crate) faults: Problems,
}

/// What an upload came to.
#[derive(Debug)]
pub(crate) struct DatasetPut {
    /// The newest version, changed or not.
    pub(crate) row: DatasetRow,
    /// Whether it is the first of a new dataset.
    pub(crate) is_new: bool,
    /// Examples that came.
    pub(crate) added: usize,
    /// Examples that were there already.
    pub(crate) duplicates: usize,
}

impl App {
    /// Makes a dataset at version 1.
    pub(crate) async fn dataset_create(
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
        let id = Uuid::now_v7();
        // A name that is refused below still reserves nothing: it is never committed.
        let stand_in = || id.to_string();
        let fine = name.filter(|_| request.faults.is_empty());
        let name = fine.map_or_else(stand_in, |name| name.to_string());
        let edit = dataset_edit::create(scope, &self.db, id, &name, now()).await?;
        self.dataset_upload(edit, request, source).await
    }

    /// Makes the next version, unless it would say what the newest says already.
    pub(crate) async fn dataset_put(
        &self,
        scope: &Scope,
        name: &str,
        mut request: DatasetRequest,
        source: impl ItemSource,
        precondition: &Precondition,
    ) -> Result<DatasetPut, AppError> {
        let edit = dataset_edit::lock(scope, &self.db, name).await?;
        check_current(&edit, precondition)?;
        let misnamed = misnamed(&request, name);
        let is_misnamed = misnamed.is_some();
        request.faults.extend(misnamed);
        self.dataset_upload(edit, request, source).await.map_err(|error| match error {
            AppError::Invalid { problems, .. } if is_misnamed => {
                AppError::invalid(Invalid::Name, problems)
            }
            other => other,
        })
    }

    async fn dataset_upload(
        &self,
        mut edit: DatasetEdit,
        request: DatasetRequest,
        source: impl ItemSource,
    ) -> Result<DatasetPut, AppError> {
        let gathering = Gathering::new(request.columns, request.cells);
        let wording = Wording {
            member: "examples",
            whole: "a dataset",
            setting: MOST,
            invalid: Invalid::Request,
        };
        let most = self.limits.dataset_examples as usize;
        let stored = store_items(&mut edit, gathering, source, most, wording).await;
        let (_, gathering) = merge_faults(request.faults, stored)?;
        let checked = gathering.faults().or(());
        checked.map_err(|problems| AppError::invalid(Invalid::Request, problems))?;
        let added = gathering.account.count;
        finish(edit, &gathering, request.description.as_deref(), added).await
    }

    /// A dataset, at a version or the newest.
    pub(crate) async fn dataset_get(
        &self,
        scope: &Scope,
        name: &str,
        version: Option<i32>,
    ) -> Result<DatasetRow, AppError> {
        Ok(dataset::get(scope, &self.db, name, version).await?)
    }

    /// One page of datasets, newest first.
    pub(crate) async fn dataset_list(
        &self,
        scope: &Scope,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<DatasetRow>, AppError> {
        Ok(dataset::list(scope, &self.db, after, limit).await?)
    }

    /// One page of a dataset's versions, newest first.
    pub(crate) async fn dataset_versions(
        &self,
        scope: &Scope,
        dataset: Uuid,
        before: Option<i32>,
        limit: u32,
    ) -> Result<Page<VersionRow, i32>, AppError> {
        Ok(dataset::versions(scope, &self.db, dataset, before, limit).await?)
    }

    /// Examples of a version behind a position, in order: of one split, where it is named.
    pub(crate) async fn dataset_examples(
        &self,
        scope: &Scope,
        version: (Uuid, i32),
        split: Option<&str>,
        after: i32,
        room: Room,
    ) -> Result<Vec<ExampleRow>, AppError> {
        Ok(dataset_example::page(scope, &self.db, version, split, after, room).await?)
    }

    /// Deletes a dataset softly: what was begun with it goes on, its name is free.
    pub(crate) async fn dataset_delete(
        &self,
        scope: &Scope,
        name: &str,
        precondition: &Precondition,
    ) -> Result<(), AppError> {
        let edit = dataset_edit::lock(scope, &self.db, name).await?;
        check_current(&edit, precondition)?;
        Ok(edit.delete(now()).await?)
    }
}

impl PieceStore<NewExample> for DatasetEdit {
    async fn add(&mut self, piece: &[NewExample]) -> Result<(), StoreError> {
        DatasetEdit::add(self, piece).await
    }
}

/// Makes a version of what was stored, unless the newest says the same.
pub(crate) async fn finish(
    edit: DatasetEdit,
    gathering: &Gathering,
    description: Option<&str>,
    added: usize,
) -> Result<DatasetPut, AppError> {
    let content_hash = gathering.content_hash();
    let description = description.map(|text| Payload::from(text).to_json());
    let duplicates = gathering.account.duplicates;
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
    let new = NewVersion {
        description: description.as_deref(),
        bytes: gathering.account.bytes,
        splits: &gathering.splits_json(),
        content_hash: &content_hash,
        at: now(),
    };
    let row = edit.finish(new).await?;
    Ok(DatasetPut { row, is_new, added, duplicates })
}

fn check_current(edit: &DatasetEdit, precondition: &Precondition) -> Result<(), AppError> {
    edit.head().map_or(Ok(()), |head| precondition.check(head.id, head.version.version))
}

/// Checks a dataset's name: `[a-z][a-z0-9_-]{0,62}`.
pub(crate) fn check_name(name: &str, problems: &mut Problems) {
    let tail = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    let head = |c: char| c.is_ascii_lowercase();
    if !(name.len() <= 63 && name.starts_with(head) && name.chars().all(tail)) {
        let detail = format!(
            "`{name}` is no dataset's name: a lower-case letter, then at most 62 of a-z, 0-9, _ and -"
        );
        problems.add(&At::Root.key("name"), Code::InvalidName, detail);
    }
}

/// That the request names another dataset than the one it is addressed to.
fn misnamed(request: &DatasetRequest, name: &str) -> Option<Problem> {
    let given = request.name.as_deref().filter(|given| *given != name)?;
    Some(Problem {
        pointer: At::Root.key("name").pointer(),
        code: Code::NameMismatch,
        detail: format!("the dataset is `{name}`, the request names `{given}`"),
    })
}
