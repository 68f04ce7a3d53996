//! Attributing problems of an edited graph to edits: a pointer into the document becomes a pointer below
//! `/edits`.

use super::apply::{DocumentPart, EditedDocument, graph_input};
use crate::problem::{At, Code, Problem, Problems};

/// The problems of the result, at the edits that caused them. If no edit is known, the place is
/// `/edits`. If an edit itself failed, these problems are omitted as consequences.
pub(super) fn blame(found: Problems, applied: &EditedDocument, complete: bool) -> Problems {
    let mut blamed = Problems::new();
    for problem in found.iter() {
        match place(problem, applied) {
            Some(pointer) => blamed.push(Problem { pointer, ..problem.clone() }),
            None if complete => {
                let pointer = At::Root.key("edits").pointer();
                blamed.push(Problem { pointer, ..problem.clone() });
            }
            None => {}
        }
    }
    blamed
}

fn place(problem: &Problem, applied: &EditedDocument) -> Option<String> {
    let mut steps = problem.pointer.split('/').skip(1);
    let (room, name) = (steps.next()?, unescaped(steps.next()?));
    let rest: Vec<&str> = steps.collect();
    let edit = |part: DocumentPart| applied.touched.get(&part).copied();
    let at = |number: usize, member: &str| {
        let below = rest.iter().map(|step| format!("/{step}")).collect::<String>();
        format!("/edits/{number}{member}{below}")
    };
    match room {
        "nodes" => {
            let node = edit(DocumentPart::Node(name.clone().into()));
            let fed = edit(DocumentPart::Fed(name.clone().into()));
            match (node, fed) {
                (Some(number), _) if problem.code == Code::InvalidType => {
                    // A type that existed when the node was written may have been removed.
                    let later = newest(applied).filter(|types| *types > number);
                    Some(
                        later
                            .map_or_else(|| at(number, "/node"), |types| format!("/edits/{types}")),
                    )
                }
                (Some(number), _) if rest.is_empty() => Some(at(number, "")),
                (Some(number), _) => Some(at(number, "/node")),
                (None, Some(number)) => Some(at(number, "")),
                (None, None) => newest(applied).map(|number| format!("/edits/{number}")),
            }
        }
        "edges" => {
            let edge = applied.edges.get(name.parse::<usize>().ok()?)?;
            let own = edit(DocumentPart::Edge(edge.clone()));
            let own = own.map(|number| match applied.inserted.get(edge) {
                Some(member) => format!("/edits/{number}{member}"),
                None => at(number, ""),
            });
            let ends =
                [&edge.from.node, &edge.to.node].map(|node| edit(DocumentPart::Node(node.clone())));
            let input =
                graph_input(&edge.from).and_then(|name| edit(DocumentPart::Input(name.clone())));
            let other = ends.into_iter().flatten().chain(input).max();
            own.or_else(|| {
                other.or_else(|| newest(applied)).map(|number| format!("/edits/{number}"))
            })
        }
        "outputs" => {
            let own = edit(DocumentPart::Output(name.into())).map(|number| at(number, "/from"));
            own.or_else(|| newest(applied).map(|number| format!("/edits/{number}")))
        }
        "inputs" => edit(DocumentPart::Input(name.into())).map(|number| at(number, "/type")),
        "types" => edit(DocumentPart::Type(name.into())).map(|number| at(number, "/type")),
        "expose" => {
            edit(DocumentPart::Exposure).map(|number| at(number, &format!("/expose/{name}")))
        }
        _ => None,
    }
}

/// The last edit of a definition: what changes under all nodes at once.
fn newest(applied: &EditedDocument) -> Option<usize> {
    let types = applied.touched.iter().filter(|(part, _)| matches!(part, DocumentPart::Type(_)));
    types.map(|(_, number)| *number).max()
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
