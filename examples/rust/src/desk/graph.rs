//! The desk as a graph that a server runs: [`Reply`](super::Reply) derived from the module, in front of
//! it a node of the strategy `find`, and the state of both beside it.

use std::error::Error;
use std::sync::Arc;

use dsrs::Module;
use dsrs::graph::{
    Edge, Edit, Edits, GraphState, INPUT, Program, ProgramGraph, Projection, Source, Target,
};
use dsrs::strategy::BuildEnv;
use dsrs::value::{Map, Payload};

use super::find::FIND;
use super::{Desk, DraftInput};

/// A graph, and the state that a server stores beside it.
pub struct TunedGraph {
    /// The graph, complete and checked.
    pub program: Program,
    /// The instructions, demos and LM settings of its predictors.
    pub state: GraphState,
}

/// Derives the graph `desk`. The strategy `find` must be [registered](super::register) in this process.
///
/// # Errors
/// When a connection of [`Reply`](super::Reply) is not certain, or the parts do not fit together.
pub async fn project(desk: &Desk) -> Result<TunedGraph, Box<dyn Error>> {
    let mut reply = desk.reply.clone();
    let Projection { graph, mut state, nodes, open } =
        ProgramGraph::from_module("desk", &mut reply, &examples()).await?;
    if let Some(open) = open.first() {
        return Err(format!("{}: {}", open.place, open.reason).into());
    }
    let draft = nodes.iter().find(|(_, path)| path == "draft.predict");
    let (draft, _) = draft.ok_or("the reply has no predictor `draft.predict`")?;
    let program = graph.apply_edits(&find_before(draft), &AnyModel)?.graph.compile()?;
    for (path, found) in desk.find.state()?.0 {
        state.0.insert(format!("{FIND}.{path}").into(), found);
    }
    Ok(TunedGraph { program, state })
}

/// Inputs that make the data flow of [`Reply`](super::Reply) visible: no value occurs twice.
fn examples() -> [DraftInput; 2] {
    [("first question", "first fact"), ("second question", "second fact")]
        .map(|(question, fact)| DraftInput { question: question.into(), facts: vec![fact.into()] })
}

/// The edits by which a node `find` makes the facts that were an input of the graph.
fn find_before(draft: &Arc<str>) -> Edits {
    let facts = || Target { node: draft.clone(), field: "facts".into() };
    let asked = Target { node: FIND.into(), field: "question".into() };
    let strategy = (Arc::from("strategy"), Payload::from(FIND));
    Edits(vec![
        Edit::AddNode { name: FIND.into(), node: Payload::map(Map::from_iter([strategy])) },
        Edit::Connect(Edge { from: Source::field_of(INPUT, "question"), to: asked }),
        Edit::Disconnect(Edge { from: Source::field_of(INPUT, "facts"), to: facts() }),
        Edit::Connect(Edge { from: Source::field_of(FIND, "facts"), to: facts() }),
        Edit::RemoveInput { name: "facts".into() },
    ])
}

/// Leaves it to the server to know its models.
struct AnyModel;

impl BuildEnv for AnyModel {
    fn knows_model(&self, _: &str) -> bool {
        true
    }
}
