//! The items of a new batch: each checked against the graph and completed, on its way into the
//! database.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::problem::{At, Problems};
use dsrs::value::Payload;

use crate::app::item_upload::{ItemSource, Maker, PieceStore, Wording, store_items};
use crate::app::run::documents::fields_json;
use crate::app::{AppError, Invalid};
use crate::store::StoreError;
use crate::store::batch_upload::Upload;

/// Stores the items that the source has; says how many. The upload is not accepted yet.
pub(crate) async fn store_batch(
    upload: &mut Upload<'_>,
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
    let (count, _) = store_items(upload, Inputs(program), source, most, wording).await?;
    i32::try_from(count).map_err(|error| AppError::Internal(format!("items of a batch: {error}")))
}

/// Items are inputs of this program.
struct Inputs(Arc<Program>);

impl Maker for Inputs {
    type Made = String;

    fn make(&mut self, item: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<String> {
        self.0.admit_inputs(item, at, problems).as_ref().map(fields_json)
    }

    fn size(made: &String) -> usize {
        made.len()
    }
}

impl PieceStore<String> for Upload<'_> {
    async fn add(&mut self, piece: &[String]) -> Result<(), StoreError> {
        Upload::add(self, piece).await
    }
}
