//! The name of a model on the wire. The library reads names: it takes a namespace (`vendor::`) off the front, and off the
//! end an effort (`-high`), for which it asks in the request (genai 0.7.2). But a name is an opaque text of the provider,
//! so the library is given one that it leaves as it is.

use genai::chat::{ChatOptions, ReasoningEffort};
use serde_json::{Value, json};

use super::Protocol;

/// The ends of names that the library takes for an effort.
const EFFORTS: [&str; 8] = ["high", "low", "max", "medium", "minimal", "none", "xhigh", "zero"];

/// A namespace that the library removes.
const NAMESPACE: &str = "model::";

/// An end of a name that is no effort.
const END: &str = "-";

const MODEL: &str = "model";

/// The name that the library is given in place of a model's.
pub(super) fn given_name(protocol: Protocol, name: &str) -> String {
    // For Gemini it removes one from the name and one more from the address.
    let removed = if protocol == Protocol::Gemini { 2 } else { 1 };
    let namespace = if name.contains("::") { NAMESPACE.repeat(removed) } else { String::new() };
    let end = if has_end(protocol, name) { END } else { "" };
    format!("{namespace}{name}{end}")
}

/// Makes a request name the model itself.
pub(super) fn name_model(protocol: Protocol, name: &str, options: &mut ChatOptions) {
    match protocol {
        // With any effort the library leaves the name, which is in the address, as it is. It writes nothing for this one.
        Protocol::Gemini | Protocol::Vertex => {
            options.reasoning_effort.get_or_insert(ReasoningEffort::Zero);
        }
        Protocol::Anthropic | Protocol::Responses if has_end(protocol, name) => {
            let body = options.extra_body.get_or_insert_with(|| json!({}));
            if let Value::Object(members) = body {
                members.entry(MODEL).or_insert_with(|| name.into());
            }
        }
        _ => {}
    }
}

/// Whether the library is given a name with another end: where the body has the name, which extra members replace.
fn has_end(protocol: Protocol, name: &str) -> bool {
    let is_effort = name.rsplit_once('-').is_some_and(|(_, end)| EFFORTS.contains(&end));
    is_effort && matches!(protocol, Protocol::Anthropic | Protocol::Responses)
}
