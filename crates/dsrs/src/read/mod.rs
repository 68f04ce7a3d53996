//! The collecting reader of documents from clients: it reports every problem with its place instead
//! of stopping at the first. Knows JSON, but not the meaning of documents.

mod config_schema;
mod schema_cost;
mod value_schema;

pub use config_schema::{ConfigSchema, unknown_name};
pub use value_schema::ValueSchema;

use std::sync::Arc;

use crate::problem::{At, Code, Problems};
use crate::value::{Map, ParsedJson, Payload};

/// A function that reads one member. It returns `None` if the member is invalid and adds the reasons
/// to the problems.
pub trait MemberReader<'v, T>: FnOnce(&'v Payload, &At<'_>, &mut Problems) -> Option<T> {}
impl<'v, T, F: FnOnce(&'v Payload, &At<'_>, &mut Problems) -> Option<T>> MemberReader<'v, T> for F {}

/// Reads an object: returns its members by name and, when closed, reports those that were not
/// requested.
///
/// ```
/// use dsrs::{problem::{At, Problems}, read::{Object, text}, value::Payload};
/// let body = Payload::from_json(r#"{"name": "a", "nmae": 1}"#).unwrap();
/// let mut problems = Problems::new();
/// let mut object = Object::open(&body, &At::Root, &mut problems).unwrap();
/// let name = object.required("name", text);
/// object.close();
/// assert_eq!(name, Some("a"));
/// assert_eq!(problems.to_string(), "/nmae: unknown member `nmae`; did you mean `name`? (unknown_field)");
/// ```
pub struct Object<'v, 'a, 'p> {
    map: &'v Map,
    at: &'a At<'a>,
    problems: &'p mut Problems,
    requested: Vec<&'static str>,
}

impl<'v, 'a, 'p> Object<'v, 'a, 'p> {
    /// Starts to read `payload`. Reports `wrong_type` if it is not an object.
    pub fn open(payload: &'v Payload, at: &'a At<'a>, problems: &'p mut Problems) -> Option<Self> {
        if let Payload::Map(map) = payload {
            return Some(Self { map, at, problems, requested: Vec::new() });
        }
        wrong_type(at, problems, "an object", payload);
        None
    }

    /// A required member.
    pub fn required<T>(&mut self, name: &'static str, read: impl MemberReader<'v, T>) -> Option<T> {
        self.requested.push(name);
        match self.map.get(name) {
            Some(member) => read(member, &self.at.key(name), self.problems),
            None => {
                let detail = format!("`{name}` is missing");
                self.problems.add(&self.at.key(name), Code::MissingField, detail);
                None
            }
        }
    }

    /// An optional member; `null` counts as absent.
    pub fn optional<T>(&mut self, name: &'static str, read: impl MemberReader<'v, T>) -> Option<T> {
        self.requested.push(name);
        match self.map.get(name) {
            None | Some(Payload::Null) => None,
            Some(member) => read(member, &self.at.key(name), self.problems),
        }
    }

    /// An optional member, unread; `null` is a value.
    pub fn raw(&mut self, name: &'static str) -> Option<&'v Payload> {
        self.requested.push(name);
        self.map.get(name)
    }

    /// Whether the member is present and not null. Does not count as requesting it.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.map.get(name).is_some_and(|member| !matches!(member, Payload::Null))
    }

    /// Accepts members and ignores them (the read-only ones of a resource).
    pub fn ignore(&mut self, names: &[&'static str]) {
        self.requested.extend_from_slice(names);
    }

    /// The place of this object.
    #[must_use]
    pub const fn at(&self) -> &'a At<'a> {
        self.at
    }

    /// The problems, to add more.
    pub fn problems(&mut self) -> &mut Problems {
        self.problems
    }

    /// Reports every member that was not requested.
    pub fn close(self) {
        for name in self.map.keys().filter(|name| !self.requested.contains(&name.as_ref())) {
            let hint = nearest(name, self.requested.iter().copied())
                .map_or_else(String::new, |known| format!("; did you mean `{known}`?"));
            let detail = format!("unknown member `{name}`{hint}");
            self.problems.add(&self.at.key(name), Code::UnknownField, detail);
        }
    }
}

/// The longest name that is compared with others: the cost is the product of both lengths.
const COMPARED_LENGTH: usize = 100;
/// The number of names that one is compared with: a document may have thousands of unknown names.
const COMPARED_NAMES: usize = 50;

/// The known name that is most similar to an unknown one, if any is similar enough. Compares a
/// limited number of short names, so that hints stay cheap.
pub fn nearest<'k>(unknown: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let allowed_edits = |name: &str| 1 + name.len() / 4;
    let length = unknown.len();
    known
        .into_iter()
        .filter(|name| length.max(name.len()) <= COMPARED_LENGTH)
        .filter(|name| length.abs_diff(name.len()) <= allowed_edits(name))
        .take(COMPARED_NAMES)
        .map(|name| (strsim::osa_distance(unknown, name), name))
        // Short names without a common letter are not similar.
        .filter(|(distance, name)| {
            *distance <= allowed_edits(name) && *distance < length.min(name.len())
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Names as a list for a message: the first ten, and the number of further ones.
pub fn listed<'k>(names: impl IntoIterator<Item = &'k str>) -> String {
    let mut names = names.into_iter();
    let mut text = names.by_ref().take(10).collect::<Vec<_>>().join(", ");
    match names.count() {
        0 => {}
        more => text.push_str(&format!(" and {more} more")),
    }
    text
}

/// Reports that `found` is not of the expected kind (`an object`, `a string`, …).
pub fn wrong_type(at: &At<'_>, problems: &mut Problems, expected: &str, found: &Payload) {
    problems.add(at, Code::WrongType, format!("expected {expected}, found {}", found.kind()));
}

/// Reads the members of the object that a document has to be. Returns the result together with the problems found so
/// far, to be reported together with those of further checks.
///
/// # Errors
/// All problems, if too little could be read for further checks.
pub fn read_object<'v, T>(
    document: &'v ParsedJson,
    read: impl FnOnce(&mut Object<'v, '_, '_>) -> Option<T>,
) -> Result<(T, Problems), Problems> {
    let mut problems = document.duplicates.clone();
    let found = Object::open(&document.payload, &At::Root, &mut problems).and_then(|mut object| {
        let found = read(&mut object);
        object.close();
        found
    });
    match found {
        Some(found) => Ok((found, problems)),
        None => Err(problems),
    }
}

/// Reads a string.
pub fn text<'v>(payload: &'v Payload, at: &At<'_>, problems: &mut Problems) -> Option<&'v str> {
    let found = payload.as_str();
    if found.is_none() {
        wrong_type(at, problems, "a string", payload);
    }
    found
}

/// Reads a string and shares it.
pub fn shared_text(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Arc<str>> {
    if let Payload::Str(found) = payload {
        return Some(found.clone());
    }
    wrong_type(at, problems, "a string", payload);
    None
}

/// Reads an object without its members.
pub fn map<'v>(payload: &'v Payload, at: &At<'_>, problems: &mut Problems) -> Option<&'v Map> {
    let found = payload.as_map();
    if found.is_none() {
        wrong_type(at, problems, "an object", payload);
    }
    found
}

/// Reads a boolean.
pub fn boolean(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<bool> {
    if let Payload::Bool(found) = payload {
        return Some(*found);
    }
    wrong_type(at, problems, "a boolean", payload);
    None
}

/// Reads an integer of zero or more.
pub fn count(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<u64> {
    let found = integer(payload, at, problems)?;
    u64::try_from(found).ok().or_else(|| {
        problems.add(at, Code::InvalidValue, format!("expected zero or more, found {found}"));
        None
    })
}

/// Reads an integer. As in JSON Schema, `2.0` is one.
pub fn integer(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<i64> {
    let found = match payload {
        Payload::Int(found) => Some(*found),
        Payload::Float(found) => whole(*found),
        _ => None,
    };
    if found.is_none() {
        wrong_type(at, problems, "an integer", payload);
    }
    found
}

/// A number without a fraction, within the range of integers.
fn whole(number: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let fits = number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number);
    // The conversion is exact.
    fits.then_some(number as i64)
}

/// Reads a number as a float.
pub fn number(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<f64> {
    match payload {
        Payload::Int(found) => Some(*found as f64),
        Payload::Float(found) => Some(*found),
        other => {
            wrong_type(at, problems, "a number", other);
            None
        }
    }
}

/// Reads an array, each element with its place. Invalid elements are reported and left out.
pub fn list<'v, T>(
    payload: &'v Payload,
    at: &At<'_>,
    problems: &mut Problems,
    mut read: impl FnMut(&'v Payload, &At<'_>, &mut Problems) -> Option<T>,
) -> Option<Vec<T>> {
    let Payload::List(elements) = payload else {
        wrong_type(at, problems, "an array", payload);
        return None;
    };
    let read_one = |(index, element)| read(element, &at.index(index), problems);
    Some(elements.iter().enumerate().filter_map(read_one).collect())
}

/// Reads an object as a dictionary, each member with its place, in order.
pub fn members<'v, T>(
    payload: &'v Payload,
    at: &At<'_>,
    problems: &mut Problems,
    mut read: impl FnMut(&'v Arc<str>, &'v Payload, &At<'_>, &mut Problems) -> Option<T>,
) -> Option<Vec<(Arc<str>, T)>> {
    let Payload::Map(map) = payload else {
        wrong_type(at, problems, "an object", payload);
        return None;
    };
    let read_one = |(name, member): (&'v Arc<str>, &'v Payload)| {
        read(name, member, &at.key(name), problems).map(|found| (name.clone(), found))
    };
    Some(map.iter().filter_map(read_one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_of_an_object_are_reported_at_once() {
        let body = Payload::from_json(r#"{"name": 3, "flg": true}"#).unwrap();
        let mut problems = Problems::new();
        let mut object = Object::open(&body, &At::Root, &mut problems).unwrap();
        object.required("name", text);
        object.required("size", count);
        object.optional("flag", boolean);
        object.close();
        let found: Vec<_> = problems.iter().map(|p| (p.pointer.as_str(), p.code)).collect();
        assert_eq!(
            found,
            [
                ("/name", Code::WrongType),
                ("/size", Code::MissingField),
                ("/flg", Code::UnknownField)
            ]
        );
    }

    #[test]
    fn a_number_without_a_fraction_is_an_integer() {
        let read = |text: &str| {
            let payload = Payload::from_json(text).unwrap();
            integer(&payload, &At::Root, &mut Problems::new())
        };
        assert_eq!((read("2.0"), read("-2"), read("1e3")), (Some(2), Some(-2), Some(1000)));
        for wrong in ["2.5", "1e19", "-1e19", "\"2\"", "true", "null"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_hint_is_a_name_with_few_differences_and_a_common_letter() {
        assert_eq!(nearest("tikcet", ["mood", "ticket"]), Some("ticket"));
        assert_eq!(nearest("b", ["a"]), None);
        assert_eq!(nearest("mood", ["ticket"]), None);
    }

    #[test]
    fn a_huge_name_gets_no_hint() {
        let huge = "k".repeat(200_000);
        assert_eq!(nearest(&huge, [huge.as_str()]), None);
    }

    #[test]
    fn long_lists_of_names_are_cut() {
        assert_eq!(listed(["a", "b"]), "a, b");
        assert_eq!(listed(["a"; 12]), "a, a, a, a, a, a, a, a, a, a and 2 more");
    }
}
