//! The items of a new batch: each is checked against the graph, completed with defaults, and stored. May
//! not know the format of the request.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::problem::{At, Problems};
use dsrs::value::Payload;

use crate::app::item_upload::{ChunkStore, ItemParser, ItemSource, Wording, store_items};
use crate::app::run::documents::fields_json;
use crate::app::{AppError, Invalid};
use crate::store::StoreError;
use crate::store::batch_upload::BatchUpload;

/// Stores the items of a source, and returns their number. The upload is not accepted yet.
pub(crate) async fn store_batch(
    upload: &mut BatchUpload<'_>,
    program: Arc<Program>,
    source: impl ItemSource,
    most: usize,
) -> Result<i32, AppError> {
    let wording = Wording {
        member: "items",
        whole: "a batch",
        setting: "limits.batch_items",
        invalid: Invalid::Input,
    };
    let (count, _) = store_items(upload, InputParser(program), source, most, wording).await?;
    i32::try_from(count).map_err(|error| AppError::Internal(format!("items of a batch: {error}")))
}

/// Parses items as inputs of this program.
struct InputParser(Arc<Program>);

impl ItemParser for InputParser {
    type Row = String;

    fn parse(&mut self, item: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<String> {
        self.0.admit_inputs(item, at, problems).as_ref().map(fields_json)
    }

    fn size(row: &String) -> usize {
        row.len()
    }
}

impl ChunkStore<String> for BatchUpload<'_> {
    async fn add(&mut self, chunk: &[String]) -> Result<(), StoreError> {
        BatchUpload::add(self, chunk).await
    }
}
