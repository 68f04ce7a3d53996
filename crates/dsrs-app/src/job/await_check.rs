//! The nodes that wait for a signal, which are refused where a client could not address a single run.

use dsrs::graph::Program;
use dsrs::problem::{At, Code, Problems};

/// The nodes of a program that wait for a value.
pub(crate) fn await_nodes(program: &Program) -> impl Iterator<Item = &str> {
    let nodes = program.graph().nodes();
    nodes.filter(|(_, node)| node.parks()).map(|(name, _)| &**name)
}

/// Refuses nodes that wait for a value. `item` names what each run of the program would be.
pub(crate) fn refuse_await_nodes(program: &Program, item: &str, faults: &mut Problems) {
    for name in await_nodes(program) {
        let detail = format!(
            "node `{name}` waits for a value from a client, which {item} cannot; start a run for each \
             instead"
        );
        faults.add(&At::Root, Code::InvalidValue, detail);
    }
}
