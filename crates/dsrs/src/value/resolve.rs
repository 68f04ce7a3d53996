//! Values back to payloads: the references that values depend on, filling their placeholders, and
//! unwrapping complete values. Knows no graphs: the caller provides the results.

use std::fmt;

use indexmap::IndexSet;

use super::{Content, Payload, PendingValue, Value, ValueRef};

/// A part of a value is not available yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnresolvedRefs {
    /// The missing references, in order of appearance.
    pub refs: Vec<ValueRef>,
}

impl fmt::Display for UnresolvedRefs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refs: Vec<String> = self.refs.iter().map(ToString::to_string).collect();
        write!(f, "not available yet: {}", refs.join(", "))
    }
}

/// The references of all values in these, in order of appearance, each once. Parts of a value that
/// has a reference itself are not searched.
///
/// ```
/// use dsrs::value::{Value, ValueRef, collect_refs, valueify};
/// let node = |name: &str| Value::pending(ValueRef::node(name));
/// let args = valueify([
///     ("summary", valueify((node("n1").at("text"), "plain"))),
///     ("entities", valueify(vec![node("n2"), node("n1").at("text")])),
/// ]);
/// let refs = collect_refs([&args]);
/// assert_eq!(refs.iter().map(ToString::to_string).collect::<Vec<_>>(), ["n1.text", "n2"]);
/// ```
pub fn collect_refs<'v>(values: impl IntoIterator<Item = &'v Value>) -> Vec<ValueRef> {
    let mut found = IndexSet::new();
    for value in values {
        collect(value, &mut found);
    }
    found.into_iter().cloned().collect()
}

fn collect<'v>(value: &'v Value, found: &mut IndexSet<&'v ValueRef>) {
    if let Some(reference) = value.reference() {
        found.insert(reference);
        return;
    }
    match value.content() {
        Content::Plain(_) => {}
        Content::List(items) => items.iter().for_each(|item| collect(item, found)),
        Content::Map(members) => members.values().for_each(|member| collect(member, found)),
        Content::Pending(pending) => match pending.as_ref() {
            PendingValue::Of(reference) => drop(found.insert(reference)),
            PendingValue::Part(whole, _) => collect(whole, found),
            PendingValue::Or(value, default) => {
                collect(value, found);
                collect(default, found);
            }
        },
    }
}

/// The payload of a value; containers are assembled from their elements.
///
/// # Errors
/// If a part of it is pending.
pub fn unwrap(value: &Value) -> Result<Payload, UnresolvedRefs> {
    match value.content() {
        Content::Plain(payload) => Ok(payload.clone()),
        Content::List(items) => gather(items.iter().map(unwrap)).map(Payload::list),
        Content::Map(members) => {
            let payloads: Vec<Payload> = gather(members.values().map(unwrap))?;
            Ok(Payload::map(members.keys().cloned().zip(payloads).collect()))
        }
        Content::Pending(_) => Err(UnresolvedRefs { refs: missing(value) }),
    }
}

/// All results, or all references that are missing for any of them.
fn gather<T>(
    results: impl Iterator<Item = Result<T, UnresolvedRefs>>,
) -> Result<Vec<T>, UnresolvedRefs> {
    let mut done = Vec::with_capacity(results.size_hint().0);
    let mut refs = IndexSet::new();
    for result in results {
        match result {
            Ok(found) => done.push(found),
            Err(unresolved) => refs.extend(unresolved.refs),
        }
    }
    if refs.is_empty() {
        Ok(done)
    } else {
        Err(UnresolvedRefs { refs: refs.into_iter().collect() })
    }
}

fn missing(value: &Value) -> Vec<ValueRef> {
    match value.content() {
        Content::Pending(pending) => match pending.as_ref() {
            PendingValue::Of(reference) => vec![reference.clone()],
            PendingValue::Part(whole, _) => missing(whole),
            PendingValue::Or(value, _) => missing(value),
        },
        _ => unwrap(value).err().map(|unresolved| unresolved.refs).unwrap_or_default(),
    }
}

impl Value {
    /// The same value with its placeholders replaced by results, each with its reference.
    ///
    /// # Errors
    /// If a result is missing.
    pub fn resolve(
        &self,
        results: &dyn Fn(&ValueRef) -> Option<Payload>,
    ) -> Result<Self, UnresolvedRefs> {
        let content = match self.content() {
            Content::Plain(_) => return Ok(self.clone()),
            Content::List(items) => {
                Content::List(gather(items.iter().map(|item| item.resolve(results)))?.into())
            }
            Content::Map(members) => {
                let filled = gather(members.values().map(|member| member.resolve(results)))?;
                Content::Map(std::sync::Arc::new(members.keys().cloned().zip(filled).collect()))
            }
            Content::Pending(pending) => return self.fill(pending, results),
        };
        let filled = Self::of(self.kind(), content);
        Ok(self.with_provenance_of(filled))
    }

    fn fill(
        &self,
        pending: &PendingValue,
        results: &dyn Fn(&ValueRef) -> Option<Payload>,
    ) -> Result<Self, UnresolvedRefs> {
        match pending {
            PendingValue::Of(reference) => match results(reference) {
                Some(payload) => Ok(self.with_provenance_of(Self::plain(payload))),
                None => Err(UnresolvedRefs { refs: vec![reference.clone()] }),
            },
            PendingValue::Part(whole, selection) => {
                let whole = whole.resolve(results)?;
                Ok(selection.steps().iter().fold(whole, |value, step| value.at(step.clone())))
            }
            PendingValue::Or(value, default) => {
                let value = value.resolve(results)?;
                match value.content() {
                    Content::Plain(Payload::Null) => default.resolve(results),
                    _ => Ok(value),
                }
            }
        }
    }

    /// Another value with the reference and the meta of this one.
    fn with_provenance_of(&self, mut other: Self) -> Self {
        if let Some(reference) = self.reference() {
            other = other.with_ref(reference.clone());
        }
        match self.meta() {
            Some(meta) => other.with_meta(meta.clone()),
            None => other,
        }
    }
}
