//! Values as plain texts, without the notation of any language but JSON.

use crate::value::Payload;

/// A value as a text: texts as they are, everything else as JSON.
pub(super) fn plain(value: &Payload) -> String {
    match value {
        Payload::Str(text) => text.as_ref().to_owned(),
        // Bytes are base64 in JSON; the quotes are not part of it.
        Payload::Bytes(_) => value.to_json().trim_matches('"').to_owned(),
        other => other.to_json(),
    }
}
