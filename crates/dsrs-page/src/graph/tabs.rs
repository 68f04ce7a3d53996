//! The views of one graph beside each other, below the head of each of them.

use maud::{Markup, html};

use crate::form::encoded;
use crate::parts::head::tabs;
use crate::visitor::Visitor;
use dsrs_store::key_scope::KeyScope;

/// A view of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GraphTab {
    Graph,
    Edit,
    Run,
    State,
    Runs,
}

const TABS: [(GraphTab, &str, KeyScope); 5] = [
    (GraphTab::Graph, "Graph", KeyScope::Read),
    (GraphTab::Edit, "Edit", KeyScope::Write),
    (GraphTab::Run, "Run", KeyScope::Execute),
    (GraphTab::State, "State", KeyScope::Read),
    (GraphTab::Runs, "Runs", KeyScope::Read),
];

/// The views of a graph that the key may open.
pub(crate) fn graph_tabs(visitor: &Visitor, name: &str, current: GraphTab) -> Markup {
    let path = format!("/graphs/{}", encoded(name));
    let address = |tab| match tab {
        GraphTab::Graph => path.clone(),
        GraphTab::Edit => format!("{path}/edit"),
        GraphTab::Run => format!("{path}/run"),
        GraphTab::State => format!("{path}/state"),
        GraphTab::Runs => format!("/runs?graph={}", encoded(name)),
    };
    let allowed = TABS.into_iter().filter(|(_, _, scope)| visitor.may(*scope));
    let shown: Vec<_> =
        allowed.map(|(tab, label, _)| (address(tab), label, tab == current)).collect();
    html! { (tabs("Views of the graph", &shown)) }
}
