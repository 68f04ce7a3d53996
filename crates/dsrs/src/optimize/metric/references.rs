//! The stored graphs that a metric refers to, found before it is read.

use crate::strategy::{StoredGraphRef, stored_graphs as graphs_of_strategy};
use crate::value::Payload;

/// The deepest metric that is looked into: deeper ones are refused when they are read.
const DEPTH: usize = 16;

/// Every stored graph in a metric, which may be any value.
pub(super) fn stored_graphs(metric: &Payload) -> Vec<StoredGraphRef> {
    let mut found = Vec::new();
    collect(metric, DEPTH, &mut found);
    found
}

fn collect(metric: &Payload, depth: usize, found: &mut Vec<StoredGraphRef>) {
    let (Some(members), Some(depth)) = (metric.as_map(), depth.checked_sub(1)) else { return };
    if let Some(graph) = StoredGraphRef::named_by(metric) {
        return found.push(graph);
    }
    for (name, options) in members {
        let part = |options: &Payload| member(options, "metric").cloned();
        let parts = || options.as_list().unwrap_or_default().iter();
        match name.as_ref() {
            "judge" => found.extend(of_judge(options)),
            "weighted" => {
                parts().filter_map(part).for_each(|metric| collect(&metric, depth, found));
            }
            "at_least" => part(options).iter().for_each(|metric| collect(metric, depth, found)),
            _ => parts().for_each(|metric| collect(metric, depth, found)),
        }
    }
}

fn of_judge(judge: &Payload) -> Vec<StoredGraphRef> {
    let strategy = member(judge, "strategy").and_then(Payload::as_str);
    let config = member(judge, "config");
    strategy.zip(config).map(|(name, config)| graphs_of_strategy(name, config)).unwrap_or_default()
}

fn member<'p>(object: &'p Payload, name: &str) -> Option<&'p Payload> {
    object.as_map().and_then(|members| members.get(name))
}
