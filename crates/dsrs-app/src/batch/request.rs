//! The body of a request that starts a batch. May not know where its items come from.

use dsrs::problem::Problems;
use dsrs::read::{boolean, list, read_object};
use dsrs::value::ParsedJson;

use crate::run::labels::read_labels;
use crate::run::request::{BATCH_CONCURRENCY, at_most, millis, read_pick, unreadable};
use crate::{AppError, BatchRequest, RequestId};

impl BatchRequest {
    /// Reads the body of a request, of whose items only the list is read. `most` is the greatest concurrency.
    ///
    /// # Errors
    /// All problems, if too little could be read.
    pub fn read(document: &ParsedJson, most: u32, request_id: RequestId) -> Result<Self, AppError> {
        let read = read_object(document, |object| {
            let items = object.required("items", |payload, at, problems| {
                list(payload, at, problems, |_, _, _| Some(()))
            });
            let pick = read_pick(object);
            let timeout = object.optional("timeout_ms", millis);
            let dedupe = object.optional("dedupe", boolean);
            let labels = read_labels(object);
            let concurrency = object.optional("concurrency", |payload, at, problems| {
                at_most(payload, (most, BATCH_CONCURRENCY), at, problems)
            });
            items?;
            Some(Self {
                pick: pick?,
                timeout,
                concurrency: concurrency.and_then(|found| i32::try_from(found).ok()),
                dedupe: dedupe.unwrap_or(false),
                labels,
                request_id,
                faults: Problems::new(),
            })
        });
        let (request, faults) = read.map_err(unreadable)?;
        Ok(Self { faults, ..request })
    }
}
