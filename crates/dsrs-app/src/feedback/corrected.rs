//! Corrected outputs: converted to the types of a graph's outputs. May not know runs.

use dsrs::graph::ProgramGraph;
use dsrs::problem::{At, Code, Problems};
use dsrs::read::nearest;
use dsrs::types::admit;
use dsrs::value::Map;

/// Converts some outputs of a graph to exactly their types, in the order of the graph; reports every problem. `None` if
/// there is one.
pub(super) fn admit_outputs(
    graph: &ProgramGraph,
    outputs: &Map,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Map> {
    let before = problems.len();
    if outputs.is_empty() {
        problems.add(at, Code::InvalidValue, "expected at least one output");
    }
    let mut corrected = Map::new();
    for (name, output) in graph.outputs() {
        let Some(value) = outputs.get(name) else { continue };
        if let Some(value) = admit(value, &output.ty, &at.key(name), problems) {
            corrected.insert(name.clone(), value);
        }
    }
    let known = || graph.outputs().map(|(name, _)| name.as_ref());
    for name in outputs.keys().filter(|name| known().all(|known| known != &***name)) {
        let hint = nearest(name, known())
            .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        let detail = format!("the graph has no output `{name}`{hint}");
        problems.add(&at.key(name), Code::UnknownField, detail);
    }
    (problems.len() == before).then_some(corrected)
}
