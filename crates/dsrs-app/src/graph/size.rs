//! The size of a graph document that a client wrote, against the settings. The engine has bounds of its
//! own, which no setting raises. Knows the members of a document, but not what they mean.

use dsrs::problem::{At, Code, Problems};
use dsrs::value::Payload;

use crate::AppError;
use crate::error::graph_problems;
use dsrs_config::Limits;

/// Checks the size of a document before it is built.
///
/// # Errors
/// Everything that is too large, with the settings.
pub(super) fn check_size(limits: &Limits, document: &Payload) -> Result<(), AppError> {
    let mut check = SizeCheck { limits, problems: Problems::new() };
    check.total(document);
    check.members(document);
    check.texts(document, &At::Root);
    match check.problems.is_empty() {
        true => Ok(()),
        false => Err(graph_problems(check.problems)),
    }
}

struct SizeCheck<'l> {
    limits: &'l Limits,
    problems: Problems,
}

impl SizeCheck<'_> {
    fn total(&mut self, document: &Payload) {
        let bytes = document.to_json().len();
        self.bound(&At::Root, bytes, self.limits.graph_bytes, "bytes", "graph_bytes");
    }

    fn members(&mut self, document: &Payload) {
        let Some(members) = document.as_map() else { return };
        let of_members = [
            ("nodes", self.limits.graph_nodes, "graph_nodes"),
            ("edges", self.limits.graph_edges, "graph_edges"),
            ("types", self.limits.graph_types, "graph_types"),
        ];
        for (name, most, setting) in of_members {
            let count = members.get(name).map_or(0, count_of);
            self.bound(&At::Root.key(name), count, most as usize, name, setting);
        }
        for name in ["types", "inputs"] {
            if let Some(types) = members.get(name) {
                self.enums(types, &At::Root.key(name));
            }
        }
        let nodes = members.get("nodes").and_then(Payload::as_map);
        for (name, node) in nodes.into_iter().flatten() {
            let signature = node.as_map().and_then(|node| node.get("signature"));
            if let Some(signature) = signature {
                self.enums(signature, &At::Root.key("nodes").key(name).key("signature"));
            }
        }
    }

    /// The members named `enum`, at any depth. JSON bounds the depth.
    fn enums(&mut self, types: &Payload, at: &At<'_>) {
        for (name, member) in types.as_map().into_iter().flatten() {
            let at = at.key(name);
            if &**name == "enum" {
                let most = self.limits.enum_values as usize;
                self.bound(&at, count_of(member), most, "values of an enum", "enum_values");
            }
            self.enums(member, &at);
        }
        for (index, element) in types.as_list().into_iter().flatten().enumerate() {
            self.enums(element, &at.index(index));
        }
    }

    fn texts(&mut self, value: &Payload, at: &At<'_>) {
        let length = value.as_str().map_or(0, str::len);
        self.bound(at, length, self.limits.text_bytes, "bytes of one text", "text_bytes");
        for (name, member) in value.as_map().into_iter().flatten() {
            self.texts(member, &at.key(name));
        }
        for (index, element) in value.as_list().into_iter().flatten().enumerate() {
            self.texts(element, &at.index(index));
        }
    }

    fn bound(&mut self, at: &At<'_>, count: usize, most: usize, what: &str, setting: &str) {
        if count > most {
            let detail = format!("{count} {what}; at most {most} are allowed (`limits.{setting}`)");
            self.problems.add(at, Code::TooLarge, detail);
        }
    }
}

fn count_of(collection: &Payload) -> usize {
    let members = collection.as_map().map(|members| members.len());
    members.or_else(|| collection.as_list().map(<[Payload]>::len)).unwrap_or(0)
}
