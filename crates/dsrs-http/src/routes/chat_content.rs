//! The content of a message of OpenAI's API as a text. What is no text is refused: a graph that answers without it
//! answers another question.

use serde_json::Value;

use crate::protocol::problem::ApiProblem;
use crate::routes::chat_refusal::{refused, shown};

/// The types of parts that are texts.
const TEXTS: [&str; 3] = ["text", "input_text", "output_text"];

/// The text of a content: the content itself, or the texts of its parts. A message of the assistant may have none.
pub(super) fn text_of(role: &str, content: &Value, pointer: &str) -> Result<String, ApiProblem> {
    match content {
        Value::String(text) => Ok(text.clone()),
        Value::Null if role == "assistant" => Ok(String::new()),
        Value::Array(parts) => {
            let texts = parts.iter().enumerate();
            let texts = texts.map(|(index, part)| {
                text_of_part(part).map_err(|detail| refused(format!("{pointer}/{index}"), detail))
            });
            Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
        }
        _ => Err(refused(pointer, "expected a text, or a list of parts of the type `text`")),
    }
}

/// The text of a part, or why it has none.
fn text_of_part(part: &Value) -> Result<&str, String> {
    let text = match &part["type"] {
        Value::Null => &part["text"],
        Value::String(kind) if TEXTS.contains(&kind.as_str()) => &part["text"],
        Value::String(kind) if kind == "refusal" => &part["refusal"],
        Value::String(kind) => {
            let kind = shown(kind);
            return Err(format!(
                "a graph reads texts, and no part of the type `{kind}`; leave it out"
            ));
        }
        _ => &Value::Null,
    };
    text.as_str()
        .ok_or_else(|| "expected a part such as {\"type\": \"text\", \"text\": \"…\"}".to_owned())
}
