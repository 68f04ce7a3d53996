//! Reading and writing edits as JSON data. Knows their shape and nothing of the graph.

use std::sync::Arc;

use super::{Edge, Edit, Source, Target};
use crate::problem::{At, Code, Problems};
use crate::read::{self, Object, listed, nearest};
use crate::value::{Map, Payload};

/// The most edits of one request.
const MAX_EDITS: usize = 1_000;

const OPERATIONS: [&str; 14] = [
    "add_node",
    "remove_node",
    "replace_node",
    "rename_node",
    "connect",
    "disconnect",
    "insert_between",
    "set_output",
    "remove_output",
    "set_input",
    "remove_input",
    "set_type",
    "remove_type",
    "set_expose",
];

/// Reads the body of a request; `None` with the reasons in the problems.
pub(super) fn edits(body: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Vec<Edit>> {
    let mut object = Object::open(body, at, problems)?;
    let edits = object.required("edits", |payload, at, problems| {
        let count = payload.as_list().map_or(0, <[Payload]>::len);
        if count > MAX_EDITS {
            let detail = format!("{count} edits; a request has at most {MAX_EDITS}");
            problems.add(at, Code::TooLarge, detail);
            return None;
        }
        let before = problems.len();
        let edits = read::list(payload, at, problems, edit)?;
        (problems.len() == before).then_some(edits)
    });
    object.close();
    edits
}

fn edit(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Edit> {
    let mut object = Object::open(payload, at, problems)?;
    let operation = object.required("op", read::text)?;
    let edit = match operation {
        "add_node" => node(&mut object).map(|(name, node)| Edit::AddNode { name, node }),
        "replace_node" => node(&mut object).map(|(name, node)| Edit::ReplaceNode { name, node }),
        "remove_node" => name(&mut object).map(|name| Edit::RemoveNode { name }),
        "rename_node" => {
            let name = name(&mut object);
            let to = object.required("to", read::shared_text);
            name.zip(to).map(|(name, to)| Edit::RenameNode { name, to })
        }
        "connect" => edge(&mut object).map(Edit::Connect),
        "disconnect" => edge(&mut object).map(Edit::Disconnect),
        "insert_between" => insert_between(&mut object),
        "set_output" => {
            let name = name(&mut object);
            let from = object.required("from", Source::read);
            name.zip(from).map(|(name, from)| Edit::SetOutput { name, from })
        }
        "remove_output" => name(&mut object).map(|name| Edit::RemoveOutput { name }),
        "set_input" => typed(&mut object).map(|(name, ty)| Edit::SetInput { name, ty }),
        "remove_input" => name(&mut object).map(|name| Edit::RemoveInput { name }),
        "set_type" => typed(&mut object).map(|(name, ty)| Edit::SetType { name, ty }),
        "remove_type" => name(&mut object).map(|name| Edit::RemoveType { name }),
        "set_expose" => {
            let expose = object.raw("expose").cloned().unwrap_or(Payload::Null);
            Some(Edit::SetExpose { expose })
        }
        unknown => {
            let hint = nearest(unknown, OPERATIONS)
                .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
            let detail =
                format!("there is no edit `{unknown}`; {hint}known ones: {}", listed(OPERATIONS));
            object.problems().add(&at.key("op"), Code::InvalidValue, detail);
            return None;
        }
    };
    object.close();
    edit
}

fn name(object: &mut Object<'_, '_, '_>) -> Option<Arc<str>> {
    object.required("name", read::shared_text)
}

fn node(object: &mut Object<'_, '_, '_>) -> Option<(Arc<str>, Payload)> {
    let name = name(object);
    let node = object.required("node", any);
    name.zip(node)
}

fn typed(object: &mut Object<'_, '_, '_>) -> Option<(Arc<str>, Payload)> {
    let name = name(object);
    let ty = object.required("type", any);
    name.zip(ty)
}

fn any(payload: &Payload, _: &At<'_>, _: &mut Problems) -> Option<Payload> {
    Some(payload.clone())
}

fn edge(object: &mut Object<'_, '_, '_>) -> Option<Edge> {
    let from = object.required("from", Source::read);
    let to = object.required("to", Target::read);
    from.zip(to).map(|(from, to)| Edge { from, to })
}

fn insert_between(object: &mut Object<'_, '_, '_>) -> Option<Edit> {
    let edge =
        object.required("edge", |payload: &Payload, at: &At<'_>, problems: &mut Problems| {
            let mut object = Object::open(payload, at, problems)?;
            let edge = edge(&mut object);
            object.close();
            edge
        });
    let named = node(object);
    let input = object.required("input", read::shared_text);
    let output = object.required("output", read::shared_text);
    let (name, node) = named?;
    Some(Edit::InsertBetween { edge: edge?, name, node, input: input?, output: output? })
}

/// A posted edit.
pub(super) fn to_payload(edit: &Edit) -> Payload {
    let text = |text: &Arc<str>| Payload::Str(text.clone());
    let ends =
        |edge: &Edge| [("from", edge.from.to_string().into()), ("to", edge.to.to_string().into())];
    let (op, members): (&str, Vec<(&str, Payload)>) = match edit {
        Edit::AddNode { name, node } => {
            ("add_node", vec![("name", text(name)), ("node", node.clone())])
        }
        Edit::RemoveNode { name } => ("remove_node", vec![("name", text(name))]),
        Edit::ReplaceNode { name, node } => {
            ("replace_node", vec![("name", text(name)), ("node", node.clone())])
        }
        Edit::RenameNode { name, to } => {
            ("rename_node", vec![("name", text(name)), ("to", text(to))])
        }
        Edit::Connect(edge) => ("connect", ends(edge).into()),
        Edit::Disconnect(edge) => ("disconnect", ends(edge).into()),
        Edit::InsertBetween { edge, name, node, input, output } => (
            "insert_between",
            vec![
                ("edge", object(ends(edge))),
                ("name", text(name)),
                ("node", node.clone()),
                ("input", text(input)),
                ("output", text(output)),
            ],
        ),
        Edit::SetOutput { name, from } => {
            ("set_output", vec![("name", text(name)), ("from", from.to_string().into())])
        }
        Edit::RemoveOutput { name } => ("remove_output", vec![("name", text(name))]),
        Edit::SetInput { name, ty } => {
            ("set_input", vec![("name", text(name)), ("type", ty.clone())])
        }
        Edit::RemoveInput { name } => ("remove_input", vec![("name", text(name))]),
        Edit::SetType { name, ty } => {
            ("set_type", vec![("name", text(name)), ("type", ty.clone())])
        }
        Edit::RemoveType { name } => ("remove_type", vec![("name", text(name))]),
        Edit::SetExpose { expose } => ("set_expose", vec![("expose", expose.clone())]),
    };
    object([("op", Payload::from(op))].into_iter().chain(members))
}

fn object<'m>(members: impl IntoIterator<Item = (&'m str, Payload)>) -> Payload {
    Payload::map(members.into_iter().map(|(name, value)| (Arc::from(name), value)).collect::<Map>())
}
