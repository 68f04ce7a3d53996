//! A page of the items of a batch. May not know how items run.

use dsrs::value::{Payload, ValueBatch, valueify};
use uuid::Uuid;

use crate::AppError;
use dsrs_store::batch_work::ItemRow;

/// Consecutive items without those that have a result.
pub(crate) struct BatchItemPage {
    items: ValueBatch,
    positions: Vec<i32>,
}

impl BatchItemPage {
    /// Reads the stored items of a batch.
    pub(crate) fn of(batch: Uuid, rows: &[ItemRow]) -> Result<Self, AppError> {
        let broken = |why: String| AppError::Internal(format!("stored items of {batch}: {why}"));
        let read = |row: &ItemRow| Payload::from_json(&row.inputs);
        let inputs: Result<Vec<Payload>, _> = rows.iter().map(read).collect();
        let whole = valueify(Payload::list(inputs.map_err(|error| broken(error.to_string()))?));
        let items = ValueBatch::of(&whole).ok_or_else(|| broken("no list".to_owned()))?;
        Ok(Self {
            items: items.named(batch.to_string()),
            positions: rows.iter().map(|row| row.position).collect(),
        })
    }

    /// The position of the last item; `None` if the page is empty.
    pub(crate) fn last(&self) -> Option<i32> {
        self.positions.last().copied()
    }

    /// The positions of the items and their inputs, in order.
    pub(crate) fn items(&self) -> impl Iterator<Item = (i32, Payload)> {
        self.positions.iter().copied().zip(self.items.payloads())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_places_in_the_batch() {
        let row = |position, inputs: &str| ItemRow { position, inputs: inputs.to_owned() };
        let rows = [row(3, r#"{"b":1.0,"a":2}"#), row(7, "{}")];
        let page = BatchItemPage::of(Uuid::nil(), &rows).unwrap();
        let items: Vec<_> = page.items().map(|(at, inputs)| (at, inputs.to_json())).collect();
        assert_eq!(items, [(3, r#"{"b":1.0,"a":2}"#.to_owned()), (7, "{}".to_owned())]);
        assert_eq!((page.last(), page.items.id().map(str::len)), (Some(7), Some(36)));
        assert_eq!(BatchItemPage::of(Uuid::nil(), &[]).unwrap().last(), None);
    }
}
