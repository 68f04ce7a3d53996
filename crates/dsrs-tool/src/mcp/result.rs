//! The result of a call of an MCP tool as data for an LM: structured content, texts, and what else the server sends. Knows
//! no tool.

use dsrs::value::Payload;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use crate::http::shortened;

/// Maximum length of a result, in characters.
const LONGEST: usize = 256 << 10;

/// Maximum size of a result for a program, in bytes.
const MOST_DATA: usize = 10 << 20;

/// Structured content as data; with parts beside it, or without it, the texts.
///
/// # Errors
/// What the server says, if the call has failed.
pub(super) fn result_data(result: &CallToolResult) -> Result<Payload, String> {
    if result.is_error == Some(true) {
        return Err(shortened(&failure(result), LONGEST));
    }
    let Some(structured) = &result.structured_content else {
        return Ok(Payload::str(shortened(&joined(result.content.iter()), LONGEST)));
    };
    let json = structured.to_string();
    let repeats = |block: &&ContentBlock| !repeats(block, structured);
    let beside = joined(result.content.iter().filter(repeats));
    match beside.is_empty() {
        true if json.len() <= LONGEST => Payload::from_json(&json)
            .map_err(|error| format!("the result is not valid data: {error}")),
        true => Ok(Payload::str(shortened(&joined(result.content.iter()), LONGEST))),
        false => Ok(Payload::str(shortened(&format!("{json}\n{beside}"), LONGEST))),
    }
}

/// Structured content alone as data, for a program; without it, the texts.
///
/// # Errors
/// As [`result_data`].
pub(super) fn structured_data(result: &CallToolResult) -> Result<Payload, String> {
    if result.is_error == Some(true) {
        return result_data(result);
    }
    let (text, is_json) = match &result.structured_content {
        Some(structured) => (structured.to_string(), true),
        None => (joined(result.content.iter()), false),
    };
    if text.len() > MOST_DATA {
        return Err(format!("the result has {} bytes; at most {MOST_DATA} are read", text.len()));
    }
    match is_json {
        true => Payload::from_json(&text)
            .map_err(|error| format!("the result is not valid data: {error}")),
        false => Ok(Payload::str(text)),
    }
}

/// Whether a part says nothing that the structured content does not: for older clients, servers write it as text too,
/// as a whole, without the member `result` in which libraries put lists, or one part for each element.
fn repeats(block: &ContentBlock, structured: &Value) -> bool {
    let ContentBlock::Text(text) = block else { return false };
    let said = serde_json::from_str(&text.text).unwrap_or_else(|_| Value::from(&*text.text));
    let inner = structured.as_object().filter(|members| members.len() == 1);
    let inner = inner.and_then(|members| members.get("result")).unwrap_or(structured);
    let is_element = inner.as_array().is_some_and(|elements| elements.contains(&said));
    // A text that looks like a number is one in JSON.
    let is_plain = inner.as_str() == Some(&*text.text);
    said == *structured || said == *inner || is_element || is_plain
}

/// What a failed call says: its texts, or else its structured content.
fn failure(result: &CallToolResult) -> String {
    let texts = joined(result.content.iter());
    match &result.structured_content {
        Some(content) if texts.trim().is_empty() => content.to_string(),
        _ => texts,
    }
}

fn joined<'r>(blocks: impl Iterator<Item = &'r ContentBlock>) -> String {
    blocks.map(text_of).collect::<Vec<String>>().join("\n")
}

/// A part of a result as text; the kind of any other part is named.
fn text_of(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            _ => "(a resource that is not text)".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("({}: {})", link.name, link.uri),
        ContentBlock::Image(image) => format!("(an image, {})", image.mime_type),
        ContentBlock::Audio(audio) => format!("(a sound, {})", audio.mime_type),
        _ => "(content of an unknown kind)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn data(result: Value) -> Result<String, String> {
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        result_data(&result).map(|data| data.to_json())
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn structured_content_whose_texts_repeat_it_is_data() {
        let whole = json!({"content": [text("{\"a\": 1}")], "structuredContent": {"a": 1}});
        assert_eq!(data(whole).unwrap(), r#"{"a":1}"#);
        let elements =
            json!({"content": [text("1"), text("b")], "structuredContent": {"result": [1, "b"]}});
        assert_eq!(data(elements).unwrap(), r#"{"result":[1,"b"]}"#);
        let plain = json!({"content": [text("12")], "structuredContent": {"result": "12"}});
        assert_eq!(data(plain).unwrap(), r#"{"result":"12"}"#);
        let alone = json!({"content": [], "structuredContent": [1]});
        assert_eq!(data(alone).unwrap(), "[1]");
    }

    #[test]
    fn parts_beside_structured_content_reach_the_lm() {
        let link = json!({"type": "resource_link", "uri": "file:///a.pdf", "name": "invoice"});
        let content = [text("{\"a\": 1}"), text("Prices are of last year."), link];
        let found = json!({"content": content, "structuredContent": {"a": 1}});
        assert_eq!(
            data(found).unwrap(),
            r#""{\"a\":1}\nPrices are of last year.\n(invoice: file:///a.pdf)""#
        );
    }

    #[test]
    fn a_failure_says_its_texts_or_else_its_structured_content() {
        let silent =
            json!({"content": [], "isError": true, "structuredContent": {"reason": "none"}});
        assert_eq!(data(silent), Err(r#"{"reason":"none"}"#.to_owned()));
        let worded =
            json!({"content": [text("no parcel")], "isError": true, "structuredContent": {"a": 1}});
        assert_eq!(data(worded), Err("no parcel".to_owned()));
    }
}
