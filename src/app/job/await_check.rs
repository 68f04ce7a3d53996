//! Refuses programs that wait for a signal where a client could not address a single run.

use dsrs::graph::Program;
use dsrs::problem::{At, Code, Problems};

/// Refuses nodes that wait for a value. `item` names what each run of the program would be.
pub(crate) fn refuse_await_nodes(program: &Program, item: &str, faults: &mut Problems) {
    for (name, _) in program.graph().nodes().filter(|(_, node)| node.strategy() == "await") {
        let detail = format!(
            "node `{name}` waits for a value from a client, which {item} cannot; start a run for each \
             instead"
        );
        faults.add(&At::Root, Code::InvalidValue, detail);
    }
}
