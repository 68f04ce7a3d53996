//! A page of a batch's items: what of them is in memory at a time.

use dsrs::value::{Payload, ValueBatch, valueify};
use uuid::Uuid;

use crate::app::AppError;
use crate::store::batch_work::ItemRow;

/// Items that follow each other, without those that have ended.
pub(crate) struct ItemPage {
    items: ValueBatch,
    positions: Vec<i32>,
}

impl ItemPage {
    /// Items of this batch, as they are stored.
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

    /// Where the page ends; `None` when nothing is on it.
    pub(crate) fn last(&self) -> Option<i32> {
        self.positions.last().copied()
    }

    /// The items' places in the batch and their inputs, in order.
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
        let page = ItemPage::of(Uuid::nil(), &rows).unwrap();
        let items: Vec<_> = page.items().map(|(at, inputs)| (at, inputs.to_json())).collect();
        assert_eq!(items, [(3, r#"{"b":1.0,"a":2}"#.to_owned()), (7, "{}".to_owned())]);
        assert_eq!((page.last(), page.items.id().map(str::len)), (Some(7), Some(36)));
        assert_eq!(ItemPage::of(Uuid::nil(), &[]).unwrap().last(), None);
    }
}
