//! Converts Rust values and payloads to values. Each element of a container becomes a value of its
//! own. Knows the types of the standard library; higher rooms implement the trait for theirs.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use indexmap::IndexMap;

use super::{Content, Failure, Payload, Value, ValueKind, ValueRef};

/// A conversion to a value.
pub trait IntoValue {
    /// Converts it.
    fn into_value(self) -> Value;
}

/// Converts plain data to a value of its default kind.
///
/// ```
/// use dsrs::value::{ValueKind, valueify, valueify_as};
///
/// assert_eq!(valueify("a text").kind(), ValueKind::Text);
/// assert_eq!(valueify(vec!["a", "b"]).at(0).kind(), ValueKind::Text);
/// assert_eq!(valueify_as("Summarize: {text}", ValueKind::Fstring).kind(), ValueKind::Fstring);
/// let failed = valueify("x".parse::<i64>());
/// assert_eq!(&*failed.meta().unwrap().failure.as_ref().unwrap().message, "invalid digit found in string");
/// ```
pub fn valueify(thing: impl IntoValue) -> Value {
    thing.into_value()
}

/// As [`valueify`], with a kind that the caller chooses.
pub fn valueify_as(thing: impl IntoValue, kind: ValueKind) -> Value {
    thing.into_value().of_kind(kind)
}

impl IntoValue for Value {
    fn into_value(self) -> Value {
        self
    }
}

impl IntoValue for ValueRef {
    fn into_value(self) -> Value {
        Value::pending(self)
    }
}

impl IntoValue for Payload {
    fn into_value(self) -> Value {
        match self {
            Self::List(elements) => elements.iter().cloned().collect::<Vec<_>>().into_value(),
            Self::Map(members) => {
                let members = members.iter();
                members
                    .map(|(n, p)| (n.clone(), p.clone()))
                    .collect::<IndexMap<_, _>>()
                    .into_value()
            }
            plain => Value::plain(plain),
        }
    }
}

impl IntoValue for bool {
    fn into_value(self) -> Value {
        Value::plain(Payload::Bool(self))
    }
}

impl IntoValue for i64 {
    fn into_value(self) -> Value {
        Value::plain(Payload::Int(self))
    }
}

impl IntoValue for i32 {
    fn into_value(self) -> Value {
        i64::from(self).into_value()
    }
}

impl IntoValue for f64 {
    /// Payloads have only finite numbers: another one becomes its name as text.
    fn into_value(self) -> Value {
        match self.is_finite() {
            true => Value::plain(Payload::Float(self)),
            false => Value::plain(self.to_string().into()).of_kind(ValueKind::Other),
        }
    }
}

impl IntoValue for &str {
    fn into_value(self) -> Value {
        Value::plain(self.into())
    }
}

impl IntoValue for String {
    fn into_value(self) -> Value {
        Value::plain(self.into())
    }
}

impl IntoValue for Arc<str> {
    fn into_value(self) -> Value {
        Value::plain(Payload::Str(self))
    }
}

impl IntoValue for &[u8] {
    fn into_value(self) -> Value {
        Value::plain(Payload::Bytes(self.into()))
    }
}

impl IntoValue for () {
    fn into_value(self) -> Value {
        Value::plain(Payload::Null)
    }
}

impl<T: IntoValue> IntoValue for Option<T> {
    fn into_value(self) -> Value {
        self.map_or_else(|| ().into_value(), IntoValue::into_value)
    }
}

impl IntoValue for Failure {
    fn into_value(self) -> Value {
        Value::failed(self)
    }
}

impl<T: IntoValue, E: Error> IntoValue for Result<T, E> {
    fn into_value(self) -> Value {
        self.map_or_else(|error| Value::failed(Failure::of(&error)), IntoValue::into_value)
    }
}

impl<T: IntoValue> IntoValue for Vec<T> {
    fn into_value(self) -> Value {
        list(ValueKind::List, self.into_iter().map(IntoValue::into_value).collect())
    }
}

impl<A: IntoValue, B: IntoValue> IntoValue for (A, B) {
    fn into_value(self) -> Value {
        list(ValueKind::Tuple, vec![self.0.into_value(), self.1.into_value()])
    }
}

impl<A: IntoValue, B: IntoValue, C: IntoValue> IntoValue for (A, B, C) {
    fn into_value(self) -> Value {
        list(ValueKind::Tuple, vec![self.0.into_value(), self.1.into_value(), self.2.into_value()])
    }
}

impl<K: Into<Arc<str>>, T: IntoValue> IntoValue for IndexMap<K, T> {
    fn into_value(self) -> Value {
        map(self)
    }
}

impl<K: Into<Arc<str>>, T: IntoValue> IntoValue for BTreeMap<K, T> {
    fn into_value(self) -> Value {
        map(self)
    }
}

impl<K: Into<Arc<str>>, T: IntoValue, const N: usize> IntoValue for [(K, T); N] {
    fn into_value(self) -> Value {
        map(self)
    }
}

fn list(kind: ValueKind, items: Vec<Value>) -> Value {
    Value::of(kind, Content::List(Arc::new(items)))
}

fn map<K: Into<Arc<str>>, T: IntoValue>(members: impl IntoIterator<Item = (K, T)>) -> Value {
    let members = members.into_iter().map(|(name, member)| (name.into(), member.into_value()));
    Value::of(ValueKind::Structured, Content::Map(Arc::new(members.collect())))
}
