//! The fields of a definition that is being written: of every node as far as it can be read, whether the graph is valid
//! or not. For pictures and suggestions; nothing is checked. May not know runs.

use std::collections::HashMap;
use std::sync::Arc;

use dsrs::graph::{Program, ProgramGraph, document_references};
use dsrs::problem::{At, Problems};
use dsrs::read::Object;
use dsrs::signature::FieldSchema;
use dsrs::strategy::{BuildEnv, StrategyFactory, registry};
use dsrs::value::{Map, ParsedJson, Payload};

use super::size::check_size;
use crate::strategy::{previewed_module, read_types};
use crate::{App, AppError};
use dsrs_store::Scope;

/// A field of a node or of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SketchPort {
    pub name: Arc<str>,
    /// Its type, if it is known.
    pub ty: Option<String>,
}

/// A node as far as it can be read.
#[derive(Clone, Debug)]
pub struct NodeSketch {
    pub name: Arc<str>,
    pub strategy: Arc<str>,
    pub inputs: Vec<SketchPort>,
    pub outputs: Vec<SketchPort>,
}

/// An output of the graph and its source.
#[derive(Clone, Debug)]
pub struct OutputSketch {
    pub port: SketchPort,
    pub from: String,
}

/// A graph as far as it can be read.
#[derive(Clone, Debug, Default)]
pub struct GraphSketch {
    pub inputs: Vec<SketchPort>,
    pub nodes: Vec<NodeSketch>,
    /// Source and target, as written.
    pub edges: Vec<(String, String)>,
    pub outputs: Vec<OutputSketch>,
}

impl App {
    /// The nodes of a definition with their fields, as far as they can be read; and the program, if it is one.
    pub async fn graph_sketch(
        &self,
        scope: &Scope,
        document: &ParsedJson,
    ) -> Result<(GraphSketch, Option<Program>), AppError> {
        let document = &document.payload;
        check_size(&self.limits, document)?;
        let build = |env: &dyn BuildEnv| match ProgramGraph::from_document(document, env) {
            Ok(graph) => (of_graph(&graph), graph.compile().ok()),
            Err(_) => (Reading { env, document, known: HashMap::new() }.sketch(), None),
        };
        self.build_new(scope, None, document_references(document), build).await
    }
}

fn of_graph(graph: &ProgramGraph) -> GraphSketch {
    let nodes = graph.nodes().map(|(name, node)| NodeSketch {
        name: name.clone(),
        strategy: node.strategy().into(),
        inputs: ports(&node.schema().inputs),
        outputs: ports(&node.schema().outputs),
    });
    let outputs = graph.outputs().map(|(name, output)| OutputSketch {
        port: SketchPort { name: name.clone(), ty: Some(output.ty.ir.to_string()) },
        from: output.source.to_string(),
    });
    GraphSketch {
        inputs: graph.inputs().map(port).collect(),
        nodes: nodes.collect(),
        edges: graph
            .edges()
            .iter()
            .map(|edge| (edge.from.to_string(), edge.to.to_string()))
            .collect(),
        outputs: outputs.collect(),
    }
}

fn ports(fields: &[FieldSchema]) -> Vec<SketchPort> {
    fields.iter().map(port).collect()
}

fn port(field: &FieldSchema) -> SketchPort {
    SketchPort { name: field.name.clone(), ty: Some(field.ty.to_string()) }
}

/// A document that is not a valid graph, read part by part.
struct Reading<'d> {
    env: &'d dyn BuildEnv,
    document: &'d Payload,
    /// The types of sources that are known, by `node.field`.
    known: HashMap<String, String>,
}

impl Reading<'_> {
    fn sketch(mut self) -> GraphSketch {
        let edges = self.edges();
        let inputs = self.inputs(&edges);
        for SketchPort { name, ty } in &inputs {
            self.know("input", name, ty.as_deref());
        }
        let nodes = self.nodes(&edges);
        let outputs = self.outputs();
        GraphSketch { inputs, nodes, edges, outputs }
    }

    fn members(&self, part: &str) -> impl Iterator<Item = (&Arc<str>, &Payload)> {
        let part = self.document.as_map().and_then(|members| members.get(part));
        part.and_then(Payload::as_map).into_iter().flatten()
    }

    fn edges(&self) -> Vec<(String, String)> {
        let edges = self.document.as_map().and_then(|members| members.get("edges"));
        let edges = edges.and_then(Payload::as_list).unwrap_or_default().iter();
        let end = |edge: &Payload, side| Some(edge.as_map()?.get(side)?.as_str()?.to_owned());
        edges.filter_map(|edge| Some((end(edge, "from")?, end(edge, "to")?))).collect()
    }

    /// The declared inputs, and those that edges name.
    fn inputs(&self, edges: &[(String, String)]) -> Vec<SketchPort> {
        let declared = self.members("inputs");
        let mut inputs: Vec<SketchPort> = declared
            .map(|(name, ty)| SketchPort { name: name.clone(), ty: written_type(ty) })
            .collect();
        for (from, _) in edges {
            add_port(
                &mut inputs,
                ends(from).filter(|(node, _)| *node == "input").map(|(_, field)| field),
            );
        }
        inputs
    }

    fn outputs(&self) -> Vec<OutputSketch> {
        let written =
            self.members("outputs").filter_map(|(name, from)| Some((name, from.as_str()?)));
        let outputs = written.map(|(name, from)| OutputSketch {
            port: SketchPort { name: name.clone(), ty: self.known.get(from).cloned() },
            from: from.to_owned(),
        });
        outputs.collect()
    }

    fn know(&mut self, node: &str, field: &str, ty: Option<&str>) {
        if let Some(ty) = ty {
            self.known.insert(format!("{node}.{field}"), ty.to_owned());
        }
    }

    /// Every node: first those with a signature, then ops as soon as what feeds them is known.
    fn nodes(&mut self, edges: &[(String, String)]) -> Vec<NodeSketch> {
        let written: Vec<(Arc<str>, Payload)> =
            self.members("nodes").map(|(name, node)| (name.clone(), node.clone())).collect();
        let mut found: HashMap<Arc<str>, NodeSketch> = HashMap::new();
        loop {
            let before = found.len();
            for (name, node) in &written {
                let is_ready = !found.contains_key(name) && self.is_ready(name, node, edges);
                if let Some(sketch) = is_ready.then(|| self.node(name, node, edges)) {
                    self.learn(&sketch);
                    found.insert(name.clone(), sketch);
                }
            }
            if found.len() == before {
                break;
            }
        }
        let rest =
            |(name, node)| found.remove(&name).unwrap_or_else(|| self.node(&name, &node, edges));
        written.into_iter().map(rest).collect()
    }

    fn is_ready(&self, name: &str, node: &Payload, edges: &[(String, String)]) -> bool {
        let is_op =
            registry::get(&strategy_of(node)).is_some_and(|strategy| strategy.op().is_some());
        !is_op || feeding(name, edges).all(|(_, from)| self.known.contains_key(from))
    }

    fn learn(&mut self, node: &NodeSketch) {
        for SketchPort { name, ty } in &node.outputs {
            self.know(&node.name, name, ty.as_deref());
        }
    }

    /// One node. The fields that only edges and outputs name are those of a node that cannot be read.
    fn node(&self, name: &Arc<str>, node: &Payload, edges: &[(String, String)]) -> NodeSketch {
        let strategy = strategy_of(node);
        let found = self.fields(name, node, &strategy, edges);
        let found = found.or_else(|| self.signature_fields(node));
        let (mut inputs, mut outputs) =
            found.unwrap_or_else(|| (self.op_inputs(node, &strategy), Vec::new()));
        for (field, _) in feeding(name, edges) {
            add_port(&mut inputs, Some(field));
        }
        let from_outputs = self.members("outputs").filter_map(|(_, from)| from.as_str());
        for from in edges.iter().map(|(from, _)| from.as_str()).chain(from_outputs) {
            add_port(
                &mut outputs,
                ends(from).filter(|(node, _)| *node == name.as_ref()).map(|(_, field)| field),
            );
        }
        NodeSketch { name: name.clone(), strategy: strategy.into(), inputs, outputs }
    }

    fn fields(
        &self,
        name: &str,
        node: &Payload,
        strategy: &str,
        edges: &[(String, String)],
    ) -> Option<(Vec<SketchPort>, Vec<SketchPort>)> {
        let op = registry::get(strategy)?.op();
        let mut request = Map::new();
        let types = self.document.as_map().and_then(|members| members.get("types"));
        for (member, value) in [("types", types), ("config", member(node, "config"))] {
            request.extend(value.map(|value| (Arc::from(member), value.clone())));
        }
        let signature = if op.is_some() {
            Some(self.fed(name, edges))
        } else {
            member(node, "signature").cloned()
        };
        request.extend(signature.map(|signature| (Arc::from("signature"), signature)));
        let mut problems = Problems::new();
        let module = previewed_module(self.env, strategy, &Payload::map(request), &mut problems)?;
        Some((ports(&module.schema().inputs), ports(&module.schema().outputs)))
    }

    /// The fields of a signature whose strategy or config cannot be read.
    fn signature_fields(&self, node: &Payload) -> Option<(Vec<SketchPort>, Vec<SketchPort>)> {
        let signature = member(node, "signature")?.clone();
        let plain: Map = [(Arc::from("signature"), signature)].into_iter().collect();
        self.fields("", &Payload::map(plain), "predict", &[])
    }

    /// What feeds an op, as the inputs of a signature.
    fn fed(&self, name: &str, edges: &[(String, String)]) -> Payload {
        let field = |name: &str, ty: &str| {
            let members = [("name", name), ("type", ty)];
            Payload::map(
                members
                    .into_iter()
                    .map(|(member, text)| (Arc::from(member), text.into()))
                    .collect::<Map>(),
            )
        };
        let typed =
            feeding(name, edges).filter_map(|(to, from)| Some(field(to, self.known.get(from)?)));
        let members = [
            ("inputs", Payload::list(typed.collect())),
            ("outputs", Payload::list(vec![field("ignored", "str")])),
        ];
        Payload::map(
            members.into_iter().map(|(member, list)| (Arc::from(member), list)).collect::<Map>(),
        )
    }

    /// The inputs that an op has whatever is connected.
    fn op_inputs(&self, node: &Payload, strategy: &str) -> Vec<SketchPort> {
        let Some(op) = registry::get(strategy).and_then(StrategyFactory::op) else {
            return Vec::new();
        };
        let empty = Payload::map(Map::new());
        let mut problems = Problems::new();
        let scope = Object::open(self.document, &At::Root, &mut problems)
            .map(|mut object| read_types(&mut object));
        let config = member(node, "config").unwrap_or(&empty);
        let read = op.read(self.env, config, &mut scope.unwrap_or_default(), &At::Root);
        let inputs = read.map(|op| op.inputs()).unwrap_or_default().into_iter();
        inputs
            .map(|input| SketchPort { name: input.name, ty: input.ty.map(|ty| ty.to_string()) })
            .collect()
    }
}

fn member<'n>(node: &'n Payload, name: &str) -> Option<&'n Payload> {
    node.as_map()?.get(name)
}

fn strategy_of(node: &Payload) -> String {
    member(node, "strategy").and_then(Payload::as_str).unwrap_or_default().to_owned()
}

/// The type of an input as it is written.
fn written_type(input: &Payload) -> Option<String> {
    input.as_str().or_else(|| member(input, "type")?.as_str()).map(str::to_owned)
}

/// Node and field of an end of an edge.
fn ends(end: &str) -> Option<(&str, &str)> {
    let (node, rest) = end.split_once('.')?;
    let field = rest.find(['.', '[']).map_or(rest, |at| &rest[..at]);
    (!node.is_empty() && !field.is_empty()).then_some((node, field))
}

/// The edges into a node: its input, and the source.
fn feeding<'e>(
    name: &'e str,
    edges: &'e [(String, String)],
) -> impl Iterator<Item = (&'e str, &'e str)> {
    let ends = edges.iter().filter_map(|(from, to)| Some((ends(to)?, from.as_str())));
    ends.filter(move |((node, _), _)| *node == name).map(|((_, field), from)| (field, from))
}

fn add_port(ports: &mut Vec<SketchPort>, name: Option<&str>) {
    if let Some(name) = name.filter(|name| ports.iter().all(|port| port.name.as_ref() != *name)) {
        ports.push(SketchPort { name: name.into(), ty: None });
    }
}
