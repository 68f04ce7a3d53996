//! Requests that the SDK cannot read: of an unknown method, or with `params` that the method does not have.

use dsrs::value::Payload;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::{Map, Value, json};

/// A member of `params`.
struct Member {
    name: &'static str,
    /// Whether it is a text; otherwise it is an object.
    is_text: bool,
    is_needed: bool,
}

const fn text(name: &'static str, is_needed: bool) -> Member {
    Member { name, is_text: true, is_needed }
}

const fn object(name: &'static str, is_needed: bool) -> Member {
    Member { name, is_text: false, is_needed }
}

/// The methods, with the members that this server reads.
const METHODS: &[(&str, &[Member])] = &[
    (
        "initialize",
        &[text("protocolVersion", true), object("capabilities", true), object("clientInfo", true)],
    ),
    ("server/discover", &[]),
    ("ping", &[]),
    ("tools/list", &[text("cursor", false)]),
    ("tools/call", &[text("name", true), object("arguments", false)]),
    ("resources/list", &[text("cursor", false)]),
    ("resources/templates/list", &[text("cursor", false)]),
    ("resources/read", &[text("uri", true)]),
];

/// What is wrong with a request that the SDK cannot read.
pub(super) fn fault_of(method: &str, params: Option<&Value>) -> ErrorData {
    match METHODS.iter().find(|(name, _)| *name == method) {
        Some((_, members)) => {
            let fault = fault_in(params, members);
            ErrorData::invalid_params(format!("`params` of `{method}`: {fault}"), None)
        }
        None => {
            let shown: String = method.chars().take(200).collect();
            let detail = format!("there is no method `{shown}` on this server");
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, detail, None)
        }
    }
}

/// The answer to a request whose `params` are no object: to the SDK it is no message at all.
pub(super) fn answer_to_no_object(message: &Payload) -> Option<Value> {
    let members = message.as_map()?;
    let value = |name: &str| serde_json::from_str::<Value>(&members.get(name)?.to_json()).ok();
    let (id, params) = (value("id")?, value("params")?);
    if !(id.is_string() || id.is_i64()) || params.is_object() || params.is_null() {
        return None;
    }
    let fault = fault_of(members.get("method")?.as_str()?, Some(&params));
    Some(json!({"jsonrpc": "2.0", "id": id, "error": fault}))
}

fn fault_in(params: Option<&Value>, members: &[Member]) -> String {
    let none = Map::new();
    let params = match params {
        None | Some(Value::Null) => &none,
        Some(Value::Object(params)) => params,
        Some(_) => return "expected an object".to_owned(),
    };
    let meta = object("_meta", false);
    let mut faults =
        members.iter().chain([&meta]).filter_map(|member| fault_of_member(params, member));
    faults.next().unwrap_or_else(|| "they do not have the form of this method".to_owned())
}

fn fault_of_member(params: &Map<String, Value>, member: &Member) -> Option<String> {
    let Member { name, is_text, is_needed } = member;
    let kind = if *is_text { "a text" } else { "an object" };
    match params.get(*name) {
        None | Some(Value::Null) if *is_needed => {
            Some(format!("`{name}` is missing; it is {kind}"))
        }
        None | Some(Value::Null) => None,
        Some(Value::String(_)) if *is_text => None,
        Some(Value::Object(_)) if !is_text => None,
        Some(_) => Some(format!("`{name}` is not {kind}")),
    }
}
