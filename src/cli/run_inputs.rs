//! The inputs of a run: `name=value` and `name:=JSON` on the command line, and a document of a file or of
//! stdin.

use std::io::Read;
use std::path::Path;

use serde_json::{Map, Value};

use super::documents::{parse, read_text};
use super::failure::CommandFailure;

/// The name that stands for stdin.
const STDIN: &str = "-";

/// One `name=value` of the command line.
#[derive(Debug, PartialEq)]
pub(super) enum Assignment {
    /// `name=text`; the type of the input decides whether the text is JSON.
    Text(String, String),
    /// `name:=JSON`.
    Json(String, Value),
}

/// Reads `name=value` or `name:=JSON`.
pub(super) fn read_assignment(text: &str) -> Result<Assignment, CommandFailure> {
    let wrong = |why: &str| CommandFailure::usage(format!("`{text}` is no input: {why}"));
    let (name, value) = text.split_once('=').ok_or_else(|| wrong("expected name=value"))?;
    let (name, value) = match name.strip_suffix(':') {
        Some(name) => {
            let value = serde_json::from_str(value).map_err(|error| wrong(&error.to_string()))?;
            (name, Assignment::Json(name.to_owned(), value))
        }
        None => (name, Assignment::Text(name.to_owned(), value.to_owned())),
    };
    if name.is_empty() { Err(wrong("it has no name")) } else { Ok(value) }
}

/// The inputs of a file, or of stdin for `-`.
pub(super) fn read_inputs(source: &str) -> Result<Map<String, Value>, CommandFailure> {
    let (place, text) = match source {
        STDIN => {
            let mut text = String::new();
            let unreadable = |error| CommandFailure::usage(format!("cannot read stdin: {error}"));
            std::io::stdin().read_to_string(&mut text).map_err(unreadable)?;
            ("stdin", text)
        }
        path => (path, read_text(Path::new(path))?),
    };
    match parse(Path::new(place), &text)? {
        Value::Object(inputs) => Ok(inputs),
        _ => Err(CommandFailure::no(format!(
            "{place}: expected a JSON object with the inputs by name"
        ))),
    }
}

/// The inputs of both, the command line over the document. `declared` has the types of the graph.
pub(super) fn merge(
    mut inputs: Map<String, Value>,
    assignments: Vec<Assignment>,
    declared: &Value,
) -> Value {
    for assignment in assignments {
        let (name, value) = match assignment {
            Assignment::Json(name, value) => (name, value),
            Assignment::Text(name, text) => {
                let value = as_typed(text, &declared[&name]);
                (name, value)
            }
        };
        inputs.insert(name, value);
    }
    Value::Object(inputs)
}

/// A text stays a text where the type is one or is not known; otherwise it is JSON if it can be.
fn as_typed(text: String, field: &Value) -> Value {
    let declared = field.as_str().or_else(|| field["type"].as_str()).unwrap_or("str");
    // A literal in quotation marks is a text, too.
    let is_text =
        declared.split('|').map(str::trim).any(|part| part == "str" || part.starts_with('"'));
    match serde_json::from_str(&text) {
        Ok(value) if !is_text => value,
        _ => Value::String(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_becomes_what_the_type_of_its_input_says() {
        let declared = json!({"name": "str", "n": {"type": "int", "default": 1}, "mood": "Mood",
            "tags": "list[str]", "size": "\"1\" | \"2\""});
        let texts = ["name=3", "n=3", "mood=calm", "tags=[\"a\"]", "size=1", "other=3", "raw:=3"];
        let assignments = texts.iter().map(|text| read_assignment(text).unwrap()).collect();
        let inputs = merge(Map::new(), assignments, &declared);
        assert_eq!(
            inputs,
            json!({"name": "3", "n": 3, "mood": "calm", "tags": ["a"], "size": "1", "other": "3", "raw": 3})
        );
    }

    #[test]
    fn a_word_without_a_name_or_with_wrong_json_is_refused() {
        for text in ["France", "=x", "n:=oops"] {
            assert!(read_assignment(text).is_err(), "{text}");
        }
        let text = Assignment::Text("a".into(), "b=c".into());
        assert_eq!(read_assignment("a=b=c").unwrap(), text);
    }
}
