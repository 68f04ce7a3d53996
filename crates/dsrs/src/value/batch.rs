//! `ValueBatch`: the elements of a list or the members of a dict as separate items, in order, under
//! the name of their batch. Knows nothing of the work on the items.

use std::sync::Arc;

use super::{Content, IntoValue, Meta, Payload, SelectionStep, Value, ValueKind, unwrap};

/// Items in order, and the structure that their results are assembled into.
///
/// ```
/// use dsrs::value::{ValueBatch, unwrap, valueify};
///
/// let batch = ValueBatch::of(&valueify([("a", 1), ("b", 2)])).unwrap().named("batch-7");
/// // Results may be in any order; each goes to the place of its item.
/// let results = [(1, valueify(20)), (0, valueify(10))];
/// let whole = batch.gather(results).unwrap();
/// assert_eq!(unwrap(&whole).unwrap().to_json(), r#"{"a":10,"b":20}"#);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ValueBatch {
    id: Option<Arc<str>>,
    kind: ValueKind,
    keys: Option<Arc<[Arc<str>]>>,
    items: Arc<[Value]>,
}

/// Items of a batch that have no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("items without a result: {}, the first is item {first}", .count)]
pub struct IncompleteBatch {
    /// The number of such items.
    pub count: usize,
    /// The position of the first.
    pub first: usize,
}

impl ValueBatch {
    /// The items of a list, a tuple or a dict; `None` for anything else. Each item has a reference to
    /// its part of the whole.
    #[must_use]
    pub fn of(value: &Value) -> Option<Self> {
        let keys = keys(value)?;
        let steps: Vec<SelectionStep> = match &keys {
            Some(keys) => keys.iter().cloned().map(SelectionStep::Key).collect(),
            None => (0..length(value)).map(SelectionStep::Index).collect(),
        };
        let items = steps.into_iter().map(|step| value.at(step)).collect();
        let kind = if keys.is_some() { ValueKind::Structured } else { ValueKind::List };
        Some(Self { id: None, kind, keys, items })
    }

    /// The same batch with a name, which is also in the meta of its items.
    #[must_use]
    pub fn named(self, id: impl Into<Arc<str>>) -> Self {
        let id = id.into();
        let name = |item: &Value| {
            let meta = item.meta().cloned().unwrap_or_default();
            item.clone().with_meta(Meta { batch_id: Some(id.clone()), ..meta })
        };
        let items = self.items.iter().map(name).collect();
        Self { id: Some(id), items, ..self }
    }

    /// The name, if it has one.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The items, in order.
    #[must_use]
    pub fn items(&self) -> &[Value] {
        &self.items
    }

    /// The step that leads to an item from the whole.
    #[must_use]
    pub fn step(&self, position: usize) -> Option<SelectionStep> {
        match &self.keys {
            Some(keys) => keys.get(position).cloned().map(SelectionStep::Key),
            None => (position < self.items.len()).then_some(SelectionStep::Index(position)),
        }
    }

    /// The position of the item that a step leads to.
    #[must_use]
    pub fn position(&self, step: &SelectionStep) -> Option<usize> {
        match (&self.keys, step) {
            (Some(keys), SelectionStep::Field(name) | SelectionStep::Key(name)) => {
                keys.iter().position(|key| key == name)
            }
            (None, SelectionStep::Index(index)) => {
                Some(*index).filter(|index| *index < self.items.len())
            }
            _ => None,
        }
    }

    /// Assembles results, in any order, into the structure of the items.
    ///
    /// # Errors
    /// If an item has no result.
    pub fn gather(
        &self,
        results: impl IntoIterator<Item = (usize, Value)>,
    ) -> Result<Value, IncompleteBatch> {
        let mut places: Vec<Option<Value>> = vec![None; self.items.len()];
        for (position, result) in results {
            if let Some(place) = places.get_mut(position) {
                *place = Some(result);
            }
        }
        if let Some(first) = places.iter().position(Option::is_none) {
            let count = places.iter().filter(|place| place.is_none()).count();
            return Err(IncompleteBatch { count, first });
        }
        let results: Vec<Value> = places.into_iter().flatten().collect();
        Ok(match &self.keys {
            Some(keys) => {
                let members = keys.iter().cloned().zip(results);
                members.collect::<indexmap::IndexMap<_, _>>().into_value()
            }
            None => results.into_value().of_kind(self.kind),
        })
    }

    /// The payloads of the items, in order; null for pending ones.
    pub fn payloads(&self) -> impl Iterator<Item = Payload> {
        self.items.iter().map(|item| unwrap(item).unwrap_or_default())
    }
}

/// The keys of a dict, `Some(None)` for a list, and `None` for a value without items.
#[expect(clippy::option_option, reason = "two questions: whether it has items, and by which keys")]
fn keys(value: &Value) -> Option<Option<Arc<[Arc<str>]>>> {
    match value.content() {
        Content::List(_) | Content::Plain(Payload::List(_)) => Some(None),
        Content::Map(members) => Some(Some(members.keys().cloned().collect())),
        Content::Plain(Payload::Map(members)) => Some(Some(members.keys().cloned().collect())),
        Content::Plain(_) | Content::Pending(_) => None,
    }
}

fn length(value: &Value) -> usize {
    match value.content() {
        Content::List(items) => items.len(),
        Content::Plain(Payload::List(elements)) => elements.len(),
        _ => 0,
    }
}
