//! `Value`: a payload with its kind, its provenance and its metadata. The payload may be pending.
//! Values serve to build, trace and explain graphs; runs pass plain payloads. Knows nothing of nodes.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{Failure, Meta, Payload, Selection, SelectionStep, ValueKind, ValueRef};

/// A payload with its provenance. Cloning is O(1).
///
/// ```
/// use dsrs::value::{Value, ValueKind, ValueRef, unwrap, valueify};
///
/// let data = valueify(("Ada", 36)).with_ref(ValueRef::input("person"));
/// let age = data.at(1);
/// assert_eq!(age.kind(), ValueKind::Int);
/// assert_eq!(age.reference().unwrap().to_string(), "input:person[1]");
///
/// // The outputs of a node are pending; their parts can already be selected.
/// let triage = Value::pending(ValueRef::node("triage"));
/// let mood = triage.at("mood");
/// assert_eq!(mood.reference().unwrap().to_string(), "triage.mood");
/// assert_eq!(unwrap(&mood).unwrap_err().to_string(), "not available yet: triage.mood");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    kind: ValueKind,
    content: Content,
    reference: Option<Arc<ValueRef>>,
    meta: Option<Arc<Meta>>,
}

/// The content of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Plain data.
    Plain(Payload),
    /// Values in order, each with a provenance of its own.
    List(Arc<Vec<Value>>),
    /// Named values, each with a provenance of its own.
    Map(Arc<IndexMap<Arc<str>, Value>>),
    /// Data that is not available yet.
    Pending(Arc<PendingValue>),
}

/// A placeholder for data that is not available yet.
#[derive(Clone, Debug, PartialEq)]
pub enum PendingValue {
    /// The target of a reference.
    Of(ValueRef),
    /// A part of a pending value that is not just a reference.
    Part(Value, Selection),
    /// A value, or another one if it is null.
    Or(Value, Value),
}

impl Value {
    /// Plain data of the kind that follows from it. Unlike [`valueify`](super::valueify), it leaves
    /// containers whole.
    #[must_use]
    pub const fn plain(payload: Payload) -> Self {
        Self::of(ValueKind::of(&payload), Content::Plain(payload))
    }

    /// The target of a reference, which is not available yet.
    #[must_use]
    pub fn pending(reference: ValueRef) -> Self {
        let content = Content::Pending(Arc::new(PendingValue::Of(reference.clone())));
        Self::of(ValueKind::Other, content).with_ref(reference)
    }

    /// The answer of an LM.
    #[must_use]
    pub fn response(payload: Payload, meta: Meta) -> Self {
        Self::plain(payload).of_kind(ValueKind::Response).with_meta(meta)
    }

    /// The result of a tool.
    #[must_use]
    pub fn tool_result(payload: Payload, tool: impl Into<Arc<str>>) -> Self {
        let meta = Meta { source: Some(tool.into()), ..Meta::default() };
        Self::plain(payload).of_kind(ValueKind::ToolResult).with_meta(meta)
    }

    /// A failure instead of a value. Both the data and the meta have it.
    #[must_use]
    pub fn failed(failure: Failure) -> Self {
        let payload = Payload::Error(Arc::new(failure.clone()));
        let node_id = failure.node.clone();
        let meta = Meta { node_id, failure: Some(failure), ..Meta::default() };
        Self::plain(payload).with_meta(meta)
    }

    pub(super) const fn of(kind: ValueKind, content: Content) -> Self {
        Self { kind, content, reference: None, meta: None }
    }

    /// The same value with another kind.
    #[must_use]
    pub const fn of_kind(mut self, kind: ValueKind) -> Self {
        self.kind = kind;
        self
    }

    /// The same value with another reference.
    #[must_use]
    pub fn with_ref(mut self, reference: ValueRef) -> Self {
        self.reference = Some(Arc::new(reference));
        self
    }

    /// The same value with other metadata.
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(Arc::new(meta));
        self
    }

    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> ValueKind {
        self.kind
    }

    /// Its content.
    #[must_use]
    pub const fn content(&self) -> &Content {
        &self.content
    }

    /// Its origin, if it is known.
    #[must_use]
    pub fn reference(&self) -> Option<&ValueRef> {
        self.reference.as_deref()
    }

    /// Its metadata, if there is any.
    #[must_use]
    pub fn meta(&self) -> Option<&Meta> {
        self.meta.as_deref()
    }

    /// A part of it, by an index, a field or a [`SelectionStep`], with a reference to that part. Null
    /// if there is no such part, as on edges; pending if the value is pending.
    #[must_use]
    pub fn at(&self, step: impl Into<SelectionStep>) -> Self {
        let step = step.into();
        let mut part = match &self.content {
            Content::Plain(payload) => Self::plain(Selection::new(vec![step.clone()]).get(payload)),
            Content::List(items) => match &step {
                SelectionStep::Index(index) => items.get(*index).cloned(),
                SelectionStep::Field(_) | SelectionStep::Key(_) => None,
            }
            .unwrap_or(Self::plain(Payload::Null)),
            Content::Map(members) => match &step {
                SelectionStep::Field(name) | SelectionStep::Key(name) => members.get(name).cloned(),
                SelectionStep::Index(_) => None,
            }
            .unwrap_or(Self::plain(Payload::Null)),
            Content::Pending(pending) => return Self::part_of(self, pending, step),
        };
        if part.reference.is_none() {
            part.reference = self.reference().map(|whole| Arc::new(whole.step(step)));
            part.meta = part.meta.or_else(|| self.meta_of_part());
        }
        part
    }

    fn part_of(&self, pending: &PendingValue, step: SelectionStep) -> Self {
        let selection = match pending {
            PendingValue::Of(reference) => return Self::pending(reference.step(step)),
            PendingValue::Part(whole, selection) => {
                let content = PendingValue::Part(whole.clone(), selection.step(step));
                return Self::of(ValueKind::Other, Content::Pending(Arc::new(content)));
            }
            PendingValue::Or(..) => Selection::new(vec![step]),
        };
        let content = PendingValue::Part(self.clone(), selection);
        Self::of(ValueKind::Other, Content::Pending(Arc::new(content)))
    }

    /// The metadata of a whole applies to its parts, except the type.
    fn meta_of_part(&self) -> Option<Arc<Meta>> {
        let meta = self.meta.as_ref()?;
        match meta.schema {
            None => Some(meta.clone()),
            Some(_) => Some(Arc::new(Meta { schema: None, ..Meta::clone(meta) })),
        }
    }

    /// As [`Self::at`], with a default if the part is null.
    #[must_use]
    pub fn get(&self, step: impl Into<SelectionStep>, default: Self) -> Self {
        let part = self.at(step);
        match &part.content {
            Content::Plain(Payload::Null) => default,
            Content::Pending(_) => {
                let content = Content::Pending(Arc::new(PendingValue::Or(part, default)));
                Self::of(ValueKind::Other, content)
            }
            _ => part,
        }
    }
}
