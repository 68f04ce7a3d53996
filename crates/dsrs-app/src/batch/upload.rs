//! The items of a new batch: each is checked against the graph and completed with defaults; then all of
//! them are stored. May not know the format of the request.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::problem::{At, Problems};
use dsrs::value::Payload;

use crate::item_upload::{CheckRoom, ItemParser, ItemSource, Wording, check_items};
use crate::row_file::{ChunkStore, RowFile};
use crate::run::documents::fields_json;
use crate::{AppError, Invalid};
use dsrs_store::StoreError;
use dsrs_store::batch_upload::BatchUpload;

/// Checks the items of a source, `most` at most. Returns their number and their rows.
pub(crate) async fn check_batch(
    room: CheckRoom,
    program: Arc<Program>,
    source: impl ItemSource,
    most: usize,
) -> Result<(i32, RowFile<String>), AppError> {
    let wording = Wording {
        member: "items",
        whole: "a batch",
        setting: "limits.batch_items",
        invalid: Invalid::Input,
    };
    let checked = check_items(room, InputParser(program), source, most, wording).await?;
    let too_many = |error| AppError::Internal(format!("items of a batch: {error}"));
    Ok((i32::try_from(checked.count).map_err(too_many)?, checked.rows))
}

/// Parses items as inputs of this program.
struct InputParser(Arc<Program>);

impl ItemParser for InputParser {
    type Row = String;

    fn parse(&mut self, item: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<String> {
        self.0.admit_inputs(item, at, problems).as_ref().map(fields_json)
    }
}

impl ChunkStore<String> for BatchUpload<'_> {
    async fn add(&mut self, chunk: &[String]) -> Result<(), StoreError> {
        BatchUpload::add(self, chunk).await
    }
}
