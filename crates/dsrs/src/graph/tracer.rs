//! Tracing: a function written over values becomes a graph. Inputs are bound to references, every
//! call records a node whose dependencies are the references in its arguments, and the result is
//! read, resolved and checked like any posted document. Knows documents; calls no LM.

use std::sync::Arc;

use indexmap::IndexMap;

use super::edge::{INPUT, Source};
use super::program_graph::ProgramGraph;
use crate::problem::{At, Code, Problems};
use crate::strategy::BuildEnv;
use crate::value::{
    Content, Map, Payload, PendingValue, Selection, SelectionStep, Value, ValueKind, ValueOrigin,
    ValueRef, collect_refs, unwrap, valueify,
};

/// A graph that is being recorded.
///
/// ```
/// use dsrs::graph::{ProgramGraph, TracedNode, Tracer};
/// use dsrs::strategy::StoredEnv;
/// use dsrs::value::{Payload, Value};
///
/// /// A program as a function over values.
/// fn reply(tracer: &mut Tracer, ticket: Value) -> Value {
///     let triage = TracedNode::of("predict").signature("ticket -> mood, topics: list[str]");
///     let triage = tracer.call("triage", triage, [("ticket", ticket.clone())]);
///     let reply = TracedNode::of("chain_of_thought").signature("ticket, topic: str? -> answer");
///     let topic = triage.at("topics").at(0);
///     tracer.call("reply", reply, [("ticket", ticket), ("topic", topic)]).at("answer")
/// }
///
/// let mut tracer = Tracer::new("support");
/// let inputs = tracer.bind_inputs([("ticket", "str")]);
/// let answer = reply(&mut tracer, inputs.at("ticket"));
/// let graph = tracer.finish([("answer", answer)], &StoredEnv).unwrap();
///
/// // The same graph as the posted document.
/// let posted = Payload::from_json(r#"{"name": "support", "inputs": {"ticket": "str"},
///     "nodes": {
///         "triage": {"strategy": "predict", "signature": "ticket -> mood, topics: list[str]"},
///         "reply": {"strategy": "chain_of_thought", "signature": "ticket, topic: str? -> answer"}},
///     "edges": [
///         {"from": "input.ticket", "to": "triage.ticket"},
///         {"from": "input.ticket", "to": "reply.ticket"},
///         {"from": "triage.topics[0]", "to": "reply.topic"}],
///     "outputs": {"answer": "reply.answer"}}"#).unwrap();
/// let posted = ProgramGraph::from_document(&posted, &StoredEnv).unwrap();
/// assert_eq!(
///     graph.compile().unwrap().content_hash(),
///     posted.compile().unwrap().content_hash(),
/// );
/// ```
#[derive(Debug)]
pub struct Tracer {
    name: Arc<str>,
    types: Payload,
    inputs: Map,
    nodes: Map,
    edges: Vec<Payload>,
    dependencies: IndexMap<Arc<str>, Vec<ValueRef>>,
    problems: Problems,
}

/// A node before it is connected: a strategy with its settings.
#[derive(Clone, Debug)]
pub struct TracedNode(Map);

impl TracedNode {
    /// A strategy by name.
    #[must_use]
    pub fn of(strategy: &str) -> Self {
        Self(Map::new()).member("strategy", strategy)
    }

    /// Its signature, in any spelling of documents.
    #[must_use]
    pub fn signature(self, signature: impl Into<Payload>) -> Self {
        self.member("signature", signature)
    }

    /// Its config.
    #[must_use]
    pub fn config(self, config: impl Into<Payload>) -> Self {
        self.member("config", config)
    }

    /// Any other member of a node in a document: `lm`, `timeout_ms`, `retries`, …
    #[must_use]
    pub fn member(mut self, name: &str, member: impl Into<Payload>) -> Self {
        self.0.insert(name.into(), member.into());
        self
    }
}

impl Tracer {
    /// An empty graph.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            types: Payload::map(Map::new()),
            inputs: Map::new(),
            nodes: Map::new(),
            edges: Vec::new(),
            dependencies: IndexMap::new(),
            problems: Problems::new(),
        }
    }

    /// Defines the types that signatures and inputs may name, as in a document.
    #[must_use]
    pub fn with_types(self, types: Payload) -> Self {
        Self { types, ..self }
    }

    /// Declares the inputs, each a type or a field as in a document, and returns them as one value
    /// with a part for each input, which has the reference `input:name`.
    pub fn bind_inputs<N: Into<Arc<str>>, T: Into<Payload>>(
        &mut self,
        inputs: impl IntoIterator<Item = (N, T)>,
    ) -> Value {
        let mut bound = IndexMap::new();
        for (name, ty) in inputs {
            let name: Arc<str> = name.into();
            bound.insert(name.clone(), Value::pending(ValueRef::input(name.clone())));
            self.inputs.insert(name, ty.into());
        }
        valueify(bound)
    }

    /// Calls a strategy: records a node that depends on the references in its arguments, and returns
    /// its pending answer, whose parts are the outputs. `finish` reports problems.
    pub fn call<N: AsRef<str>>(
        &mut self,
        name: &str,
        node: TracedNode,
        arguments: impl IntoIterator<Item = (N, Value)>,
    ) -> Value {
        let arguments: Vec<(N, Value)> = arguments.into_iter().collect();
        let dependencies = collect_refs(arguments.iter().map(|(_, value)| value));
        for (field, value) in &arguments {
            let target = format!("{name}.{}", field.as_ref());
            if let Some(source) = self.source(value, &target) {
                self.edges.push(edge(&source, &target));
            }
        }
        self.record(name, node, dependencies);
        Value::pending(ValueRef::node(name)).of_kind(ValueKind::Response)
    }

    /// What a node depends on, as its arguments were.
    #[must_use]
    pub fn dependencies(&self, node: &str) -> &[ValueRef] {
        self.dependencies.get(node).map_or(&[], Vec::as_slice)
    }

    /// The graph, with these outputs.
    ///
    /// # Errors
    /// Everything that is wrong with it, as of a posted document, and every value that nothing of a
    /// graph can give.
    pub fn finish<N: AsRef<str>>(
        mut self,
        outputs: impl IntoIterator<Item = (N, Value)>,
        env: &dyn BuildEnv,
    ) -> Result<ProgramGraph, Problems> {
        let mut named = Map::new();
        for (name, value) in outputs {
            if let Some(source) = self.source(&value, &format!("the output {}", name.as_ref())) {
                named.insert(name.as_ref().into(), source.to_string().into());
            }
        }
        self.problems.or(())?;
        let document = [
            ("name", Payload::Str(self.name)),
            ("types", self.types),
            ("inputs", Payload::map(self.inputs)),
            ("nodes", Payload::map(self.nodes)),
            ("edges", Payload::list(self.edges)),
            ("outputs", Payload::map(named)),
        ];
        let document = document.into_iter().map(|(name, member)| (name.into(), member)).collect();
        ProgramGraph::from_document(&Payload::map(document), env)
    }

    fn record(&mut self, name: &str, node: TracedNode, dependencies: Vec<ValueRef>) {
        if self.nodes.insert(name.into(), Payload::map(node.0)).is_some() {
            let detail = format!("two calls are named `{name}`");
            self.problems.add(&At::Root.key("nodes").key(name), Code::DuplicateName, detail);
        }
        self.dependencies.insert(name.into(), dependencies);
    }

    /// What an edge reads to get a value; a node is recorded where no edge alone can.
    fn source(&mut self, value: &Value, target: &str) -> Option<Source> {
        if let Some(reference) = value.reference() {
            return self.read(reference, target);
        }
        match value.content() {
            Content::Plain(_) => self.refuse(target, CONSTANT),
            Content::List(items) => {
                let name = |position| format!("item_{position}");
                let named = items.iter().enumerate().map(|(at, item)| (name(at), item));
                let shape = if value.kind() == ValueKind::Tuple { "tuple" } else { "list" };
                self.collect(named.collect(), shape, target)
            }
            Content::Map(members) => {
                let named = members.iter().map(|(name, member)| (name.to_string(), member));
                self.collect(named.collect(), "class", target)
            }
            Content::Pending(pending) => match pending.as_ref() {
                PendingValue::Of(reference) => self.read(reference, target),
                PendingValue::Part(of, selection) => {
                    let Source { node, selection: way } = self.source(of, target)?;
                    Some(Source { node, selection: way.then(selection) })
                }
                PendingValue::Or(value, default) => self.select(value, default, target),
            },
        }
    }

    fn read(&mut self, reference: &ValueRef, target: &str) -> Option<Source> {
        match &reference.origin {
            ValueOrigin::Input(name) => {
                let field = Selection::new(vec![SelectionStep::Field(name.clone())]);
                let selection = field.then(&reference.selection);
                Some(Source { node: INPUT.into(), selection })
            }
            ValueOrigin::Node(node) if !reference.selection.is_empty() => {
                Some(Source { node: node.clone(), selection: reference.selection.clone() })
            }
            ValueOrigin::Node(node) => {
                let what = format!("all of `{node}`: choose one of its outputs with `at`");
                self.refuse(target, &what)
            }
            ValueOrigin::Param(path) => {
                let what = format!("the parameter `{path}`, which stays state and feeds no input");
                self.refuse(target, &what)
            }
        }
    }

    /// Several values as one: a node of the op `collect`.
    fn collect(
        &mut self,
        parts: Vec<(String, &Value)>,
        shape: &str,
        target: &str,
    ) -> Option<Source> {
        if parts.is_empty() {
            return self.refuse(target, CONSTANT);
        }
        let mut arguments = Vec::with_capacity(parts.len());
        for (name, part) in parts {
            // Nodes that are recorded for a part precede the node that reads it.
            let Source { node, selection } = self.source(part, target)?;
            arguments.push((name, referred(node, &selection)));
        }
        let config = Map::from([("as".into(), shape.into())]);
        let name = self.free_name(COLLECT);
        let called = self.call(&name, TracedNode::of(COLLECT).config(config), arguments);
        self.source(&called.at("value"), target)
    }

    /// A part with a default: a node of the op `select`.
    fn select(&mut self, value: &Value, default: &Value, target: &str) -> Option<Source> {
        let part = value.reference().and_then(|reference| {
            let (last, before) = reference.selection.steps().split_last()?;
            // A node's outputs as a whole feed nothing.
            let whole = !before.is_empty() || matches!(reference.origin, ValueOrigin::Input(_));
            let selection = Selection::new(before.to_vec());
            whole.then(|| (ValueRef { origin: reference.origin.clone(), selection }, last.clone()))
        });
        let (Some((whole, last)), Ok(default)) = (part, unwrap(default)) else {
            return self.refuse(target, DEFAULT);
        };
        let path = Selection::new(vec![last]).to_string();
        let config = [("path".into(), path.into()), ("default".into(), default)];
        let name = self.free_name(SELECT);
        let node = TracedNode::of(SELECT).config(Map::from(config));
        let called = self.call(&name, node, [("value", Value::pending(whole))]);
        self.source(&called.at("value"), target)
    }

    fn free_name(&self, strategy: &str) -> String {
        let mut names = (1_usize..).map(|number| format!("{strategy}_{number}"));
        names.find(|name| !self.nodes.contains_key(name.as_str())).unwrap_or_default()
    }

    fn refuse(&mut self, target: &str, what: &str) -> Option<Source> {
        let detail = format!("`{target}` receives {what}");
        self.problems.add(&At::Root.key("edges"), Code::InvalidValue, detail);
        None
    }
}

/// The op of parts with defaults.
const SELECT: &str = "select";
/// The op that makes one value of several.
const COLLECT: &str = "collect";
const CONSTANT: &str = "a constant, which no edge can carry; set a default of the field or a \
                        config of the op";
const DEFAULT: &str = "a value with a default that `select` cannot return: the default must be plain, \
                       and the value a part of an output or an input; call `unwrap_or` for others";

/// What an edge reads, as a value.
fn referred(node: Arc<str>, selection: &Selection) -> Value {
    let reference = match selection.split_first() {
        Some((SelectionStep::Field(input), rest)) if node.as_ref() == INPUT => {
            ValueRef { origin: ValueOrigin::Input(input.clone()), selection: rest }
        }
        _ => ValueRef { origin: ValueOrigin::Node(node), selection: selection.clone() },
    };
    Value::pending(reference)
}

fn edge(from: &Source, to: &str) -> Payload {
    let members = [("from".into(), from.to_string().into()), ("to".into(), to.into())];
    Payload::map(Map::from(members))
}
