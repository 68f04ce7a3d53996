//! The labels of a run as a caller gives them: read, checked and bounded, all problems at once. May not know where they
//! come from.

use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, list, members, text, wrong_type};
use dsrs::value::{Map, Payload};

use dsrs_store::run_label::RunLabels;

/// The most tags of a run, and members of its metadata.
pub(crate) const MOST_LABELS: usize = 16;

/// The longest tag and the longest name in metadata, in characters.
pub(crate) const LONGEST_TAG: usize = 64;

/// The longest session or user, in characters.
pub(crate) const LONGEST_ID: usize = 200;

/// The longest value in metadata, in characters.
pub(crate) const LONGEST_VALUE: usize = 512;

/// Reads the members `tags`, `session_id`, `user_id` and `metadata` of a request. What is invalid is reported and left
/// out.
pub fn read_labels(object: &mut Object<'_, '_, '_>) -> RunLabels {
    RunLabels {
        tags: object.optional("tags", tags),
        session_id: object.optional("session_id", label_id),
        user_id: object.optional("user_id", label_id),
        metadata: object.optional("metadata", metadata),
    }
}

/// Reads a list of tags, and returns it as JSON. `None` if it is empty.
pub(crate) fn tags(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<String> {
    let found = list(payload, at, problems, |tag, at, problems| {
        bounded(text(tag, at, problems)?, LONGEST_TAG, at, problems)
    })?;
    too_many(found.len(), "tags", at, problems)?;
    let mut tags: Vec<Payload> = Vec::new();
    for tag in found {
        let tag = Payload::from(tag);
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    (!tags.is_empty()).then(|| Payload::list(tags).to_json())
}

/// Reads the id of a session or a user.
pub fn label_id(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<String> {
    bounded(text(payload, at, problems)?, LONGEST_ID, at, problems).map(str::to_owned)
}

/// Reads metadata, and returns it as JSON. `None` if it is empty.
pub fn metadata(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<String> {
    let found = members(payload, at, problems, |name, value, at, problems| {
        bounded(name, LONGEST_TAG, at, problems)?;
        metadata_value(value, at, problems)
    })?;
    too_many(found.len(), "members", at, problems)?;
    let members: Map = found.into_iter().collect();
    (!members.is_empty()).then(|| Payload::map(members).to_json())
}

fn metadata_value(value: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Payload> {
    match value {
        Payload::Str(text) if text.is_empty() => Some(value.clone()),
        Payload::Str(text) => {
            bounded(text, LONGEST_VALUE, at, problems)?;
            Some(value.clone())
        }
        Payload::Int(_) | Payload::Float(_) | Payload::Bool(_) => Some(value.clone()),
        _ => {
            wrong_type(at, problems, "a string, a number or a boolean", value);
            None
        }
    }
}

fn too_many(found: usize, what: &str, at: &At<'_>, problems: &mut Problems) -> Option<()> {
    if found <= MOST_LABELS {
        return Some(());
    }
    let detail = format!("expected at most {MOST_LABELS} {what}, found {found}");
    problems.add(at, Code::TooLarge, detail);
    None
}

fn bounded<'t>(
    text: &'t str,
    most: usize,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<&'t str> {
    let length = text.chars().count();
    let detail = match text.chars().any(char::is_control) {
        true => "expected a text without control characters".to_owned(),
        false if (1..=most).contains(&length) => return Some(text),
        false => format!("expected a text of 1 to {most} characters, found {length}"),
    };
    problems.add(at, Code::InvalidValue, detail);
    None
}

/// Labels of which a request gives some in its body and some in its headers: those of the body take precedence.
pub fn body_first(body: RunLabels, headers: RunLabels) -> RunLabels {
    RunLabels {
        tags: body.tags.or(headers.tags),
        session_id: body.session_id.or(headers.session_id),
        user_id: body.user_id.or(headers.user_id),
        metadata: body.metadata.or(headers.metadata),
    }
}

/// Reads the labels of headers and similar places, whose texts have no type: tags separated by commas, metadata as a
/// JSON object. `name` is the place in problems.
pub fn read_tag_list(text: &str, name: &str, problems: &mut Problems) -> Option<String> {
    let words =
        text.split(',').map(|tag| tag.trim_matches([' ', '\t'])).filter(|tag| !tag.is_empty());
    let words: Vec<Payload> = words.map(Payload::from).collect();
    tags(&Payload::list(words), &At::Root.key(name), problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<RunLabels, Vec<String>> {
        let (payload, mut problems) = (Payload::from_json(json).unwrap(), Problems::new());
        let mut object = Object::open(&payload, &At::Root, &mut problems).unwrap();
        let labels = read_labels(&mut object);
        object.close();
        let lines = problems.iter().map(|problem| format!("{} {}", problem.pointer, problem.code));
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() { Ok(labels) } else { Err(lines) }
    }

    #[test]
    fn labels_are_read_without_repeats_and_in_their_order() {
        let read = read(r#"{"tags":["b","a","b"],"metadata":{"z":"1","a":1.5,"t":true,"e":""}}"#);
        let labels = read.unwrap();
        assert_eq!(labels.tags.as_deref(), Some(r#"["b","a"]"#));
        assert_eq!(labels.metadata.as_deref(), Some(r#"{"z":"1","a":1.5,"t":true,"e":""}"#));
    }

    #[test]
    fn empty_lists_are_no_labels() {
        assert!(read(r#"{"tags":[],"metadata":{},"user_id":null}"#).unwrap().is_empty());
    }

    #[test]
    fn every_problem_is_reported_with_its_place() {
        let long = "x".repeat(LONGEST_ID + 1);
        let many: Vec<String> =
            (0..=MOST_LABELS).map(|number| format!("\"m{number}\":1")).collect();
        let problems = read(&format!(
            r#"{{"tags":["",1,"a\nb"],"session_id":"{long}","user_id":2,"metadata":{{{}}}}}"#,
            many.join(",")
        ));
        let expected = [
            "/tags/0 invalid_value",
            "/tags/1 wrong_type",
            "/tags/2 invalid_value",
            "/session_id invalid_value",
            "/user_id wrong_type",
            "/metadata too_large",
        ];
        assert_eq!(problems.unwrap_err(), expected);
        let nested = read(r#"{"metadata":{"a":{},"b":null,"c/d":[1]}}"#).unwrap_err();
        let expected =
            ["/metadata/a wrong_type", "/metadata/b wrong_type", "/metadata/c~1d wrong_type"];
        assert_eq!(nested, expected);
    }
}
