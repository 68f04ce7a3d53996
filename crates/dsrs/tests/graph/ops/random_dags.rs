//! Random graphs of ops, with nodes and edges in random order: the executor returns what a naive
//! recursive interpreter with its own implementation of the ops returns.

use std::collections::BTreeMap;

use dsrs::value::Payload;
use proptest::prelude::{
    Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::strategy::ValueTree;
use proptest::test_runner::Config as ProptestConfig;
use proptest::test_runner::TestCaseError;

use super::support::{build, run};

/// A value of the three types in the graphs; `Failed` is the output of a node with a failed input.
#[derive(Clone, Debug, PartialEq)]
enum Val {
    Int(i64),
    Text(String),
    List(Vec<i64>),
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ty {
    Int,
    Text,
    List,
}

/// Ops, by their inputs and outputs.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Add,
    Subtract,
    Multiply,
    Negative,
    Sum,
    Max,
    Concat,
    Chain,
    Upper,
    Render,
    First,
    Branch,
    Guarded,
}

const KINDS: [Kind; 13] = [
    Kind::Add,
    Kind::Subtract,
    Kind::Multiply,
    Kind::Negative,
    Kind::Sum,
    Kind::Max,
    Kind::Concat,
    Kind::Chain,
    Kind::Upper,
    Kind::Render,
    Kind::First,
    Kind::Branch,
    Kind::Guarded,
];

impl Kind {
    fn takes(self) -> &'static [(&'static str, Ty)] {
        match self {
            Self::Add | Self::Subtract | Self::Multiply => &[("left", Ty::Int), ("right", Ty::Int)],
            Self::Negative => &[("right", Ty::Int)],
            Self::Sum => &[("a", Ty::Int), ("b", Ty::List)],
            Self::Max | Self::First => &[("value", Ty::List)],
            Self::Concat => &[("a", Ty::Text), ("b", Ty::Text)],
            Self::Chain => &[("a", Ty::List), ("b", Ty::List)],
            Self::Upper => &[("text", Ty::Text)],
            Self::Render => &[("a", Ty::Int), ("b", Ty::Text), ("c", Ty::List)],
            Self::Branch => &[("then", Ty::Int), ("else", Ty::Int), ("word", Ty::Text)],
            Self::Guarded => &[("value", Ty::Int)],
        }
    }

    fn gives(self) -> (&'static str, Ty) {
        match self {
            Self::Concat => ("value", Ty::Text),
            Self::Chain => ("value", Ty::List),
            Self::Upper | Self::Render => ("text", Ty::Text),
            _ => ("value", Ty::Int),
        }
    }

    fn node(self) -> &'static str {
        match self {
            Self::Add => r#"{"strategy": "add"}"#,
            Self::Subtract => r#"{"strategy": "subtract"}"#,
            Self::Multiply => r#"{"strategy": "multiply"}"#,
            Self::Negative => r#"{"strategy": "subtract", "config": {"left": 0}}"#,
            Self::Sum => r#"{"strategy": "sum", "config": {"inputs": ["a", "b"]}}"#,
            Self::Max => r#"{"strategy": "max"}"#,
            Self::Concat => {
                r#"{"strategy": "concat", "config": {"inputs": ["a", "b"], "separator": "-"}}"#
            }
            Self::Chain => r#"{"strategy": "concat", "config": {"inputs": ["a", "b"]}}"#,
            Self::Upper => r#"{"strategy": "upper"}"#,
            Self::Render => r#"{"strategy": "render", "config": {"fstring": "{a}{b}{c}"}}"#,
            Self::First => r#"{"strategy": "select", "config": {"path": "[0]", "default": -1}}"#,
            Self::Branch => r#"{"strategy": "branch", "config": {"if": "word|length > 4"}}"#,
            Self::Guarded => r#"{"strategy": "unwrap_or", "config": {"default": 7}}"#,
        }
    }

    /// The expected output, by an independent definition.
    fn apply(self, given: &[Val]) -> Val {
        use Val::{Failed, Int, List, Text};
        let int = |number: Option<i64>| number.map_or(Failed, Int);
        if let Self::Guarded = self {
            return if given[0] == Failed { Int(7) } else { given[0].clone() };
        }
        if given.contains(&Failed) {
            return Failed;
        }
        match (self, given) {
            (Self::Add, [Int(a), Int(b)]) => int(a.checked_add(*b)),
            (Self::Subtract, [Int(a), Int(b)]) => int(a.checked_sub(*b)),
            (Self::Multiply, [Int(a), Int(b)]) => int(a.checked_mul(*b)),
            (Self::Negative, [Int(a)]) => int(0_i64.checked_sub(*a)),
            (Self::Sum, [Int(a), List(b)]) => {
                let mut sum = Some(*a);
                for number in b {
                    sum = sum.and_then(|sum| sum.checked_add(*number));
                }
                int(sum)
            }
            (Self::Max, [List(a)]) => int(a.iter().max().copied()),
            (Self::Concat, [Text(a), Text(b)]) => Text(format!("{a}-{b}")),
            (Self::Chain, [List(a), List(b)]) => List([a.as_slice(), b].concat()),
            (Self::Upper, [Text(a)]) => Text(a.to_uppercase()),
            (Self::Render, [Int(a), Text(b), List(c)]) => {
                let c: Vec<String> = c.iter().map(ToString::to_string).collect();
                Text(format!("{a}{b}[{}]", c.join(",")))
            }
            (Self::First, [List(a)]) => Int(a.first().copied().unwrap_or(-1)),
            (Self::Branch, [a, b, Text(word)]) => {
                if word.chars().count() > 4 {
                    a.clone()
                } else {
                    b.clone()
                }
            }
            other => unreachable!("{other:?}"),
        }
    }
}

/// A node: its op, and for each input the choice among the fitting sources before it.
#[derive(Clone, Debug)]
struct Drawn {
    kind: Kind,
    picks: [usize; 3],
}

#[derive(Clone, Debug)]
struct Dag {
    nodes: Vec<Drawn>,
    /// Ranks by which nodes and edges are shuffled.
    shuffle: Vec<u32>,
    int: i64,
    text: String,
    list: Vec<i64>,
}

fn dags() -> impl Strategy<Value = Dag> {
    let node = (0..KINDS.len(), any::<[usize; 3]>());
    let nodes = prop::collection::vec(node, 1..40);
    let numbers = prop_oneof![4 => -9_i64..10, 1 => Just(i64::MAX), 1 => Just(i64::MIN)];
    let list = prop::collection::vec(numbers.clone(), 0..4);
    let shuffle = prop::collection::vec(any::<u32>(), 200);
    (nodes, shuffle, numbers, "[a-zß]{0,6}", list).prop_map(|(nodes, shuffle, int, text, list)| {
        let drawn = |(kind, picks): (usize, [usize; 3])| Drawn { kind: KINDS[kind], picks };
        Dag { nodes: nodes.into_iter().map(drawn).collect(), shuffle, int, text, list }
    })
}

/// A source of a value: an input of the graph or the output of a node.
type Named = (String, Ty);

impl Dag {
    /// The sources of each node's inputs: only nodes before it, so that there is no cycle.
    fn wired(&self) -> Vec<Vec<Named>> {
        let mut known: Vec<Named> = vec![
            ("input.int".into(), Ty::Int),
            ("input.text".into(), Ty::Text),
            ("input.list".into(), Ty::List),
        ];
        let mut wired = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let source = |(position, (_, ty)): (usize, &(&str, Ty))| {
                let fitting: Vec<&Named> = known.iter().filter(|(_, found)| found == ty).collect();
                fitting[node.picks[position] % fitting.len()].clone()
            };
            wired.push(node.kind.takes().iter().enumerate().map(source).collect());
            let (field, ty) = node.kind.gives();
            known.push((format!("n{number}.{field}"), ty));
        }
        wired
    }

    /// The document, with nodes and edges in random order, and with every unread node as an output.
    fn document(&self, wired: &[Vec<Named>]) -> String {
        let rank = |salt: usize, at: usize| self.shuffle[(at * 7 + salt) % self.shuffle.len()];
        let mut nodes: Vec<(u32, String)> = Vec::new();
        let mut edges: Vec<(u32, String)> = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            nodes.push((rank(0, number), format!(r#""n{number}": {}"#, node.kind.node())));
            for ((field, _), (from, _)) in node.kind.takes().iter().zip(&wired[number]) {
                let edge = format!(r#"{{"from": "{from}", "to": "n{number}.{field}"}}"#);
                edges.push((rank(3, edges.len()), edge));
            }
        }
        nodes.sort();
        edges.sort();
        let joined = |parts: Vec<(u32, String)>| {
            parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(", ")
        };
        let outputs: Vec<String> = self
            .ends(wired)
            .into_iter()
            .map(|end| format!(r#""o{end}": "n{end}.{}""#, self.nodes[end].kind.gives().0))
            .collect();
        format!(
            r#"{{"name": "g", "inputs": {{"int": "int", "text": "str", "list": "list[int]"}},
                "nodes": {{{}}}, "edges": [{}], "outputs": {{{}}}}}"#,
            joined(nodes),
            joined(edges),
            outputs.join(", ")
        )
    }

    fn ends(&self, wired: &[Vec<Named>]) -> Vec<usize> {
        let read = |number: usize| {
            let start = format!("n{number}.");
            wired.iter().flatten().any(|(from, _)| from.starts_with(&start))
        };
        (0..self.nodes.len()).filter(|number| !read(*number)).collect()
    }

    /// The value of every source, in the order in which they were drawn.
    fn interpret(&self, wired: &[Vec<Named>]) -> BTreeMap<String, Val> {
        let mut values = BTreeMap::from([
            ("input.int".to_owned(), Val::Int(self.int)),
            ("input.text".to_owned(), Val::Text(self.text.clone())),
            ("input.list".to_owned(), Val::List(self.list.clone())),
        ]);
        for (number, node) in self.nodes.iter().enumerate() {
            let given: Vec<Val> =
                wired[number].iter().map(|(from, _)| values[from].clone()).collect();
            let name = format!("n{number}.{}", node.kind.gives().0);
            values.insert(name, node.kind.apply(&given));
        }
        values
    }
}

fn payload(value: &Val) -> Payload {
    match value {
        Val::Int(number) => Payload::Int(*number),
        Val::Text(text) => text.as_str().into(),
        Val::List(numbers) => {
            Payload::list(numbers.iter().map(|number| Payload::Int(*number)).collect())
        }
        Val::Failed => Payload::Null,
    }
}

fn check(dag: &Dag) -> Result<(), TestCaseError> {
    let wired = dag.wired();
    let document = dag.document(&wired);
    let program = build(&document)
        .map_err(|problems| TestCaseError::fail(format!("refused: {problems}\n{document}")))?;
    let again = build(program.canonical_text()).expect("a resolved document is accepted");
    prop_assert_eq!(again.canonical_text(), program.canonical_text());

    let inputs = [("int", Val::Int(dag.int)), ("text", Val::Text(dag.text.clone()))];
    let mut inputs: Vec<(&str, Payload)> =
        inputs.iter().map(|(name, value)| (*name, payload(value))).collect();
    inputs.push(("list", payload(&Val::List(dag.list.clone()))));
    let inputs =
        Payload::map(inputs.into_iter().map(|(name, value)| (name.into(), value)).collect());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let outcome = runtime.block_on(run(&program, &inputs.to_json()));

    let expected = dag.interpret(&wired);
    let ends = dag.ends(&wired);
    let end = |number: &usize| format!("n{number}.{}", dag.nodes[*number].kind.gives().0);
    let fails = ends.iter().any(|number| expected[&end(number)] == Val::Failed);
    match outcome.outputs {
        Err(failure) => prop_assert!(fails, "failed: {failure}\n{document}"),
        Ok(outputs) => {
            prop_assert!(!fails, "did not fail\n{}", document);
            for number in ends {
                let found = outputs[format!("o{number}").as_str()].to_json();
                prop_assert_eq!(found, payload(&expected[&end(&number)]).to_json(), "{}", document);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_of_ops_match_a_naive_interpreter(dag in dags()) {
        check(&dag)?;
    }
}

#[test]
fn random_graphs_both_succeed_and_fail_often() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut failing, mut outlived) = (0, 0);
    for _ in 0..200 {
        let dag = dags().new_tree(&mut runner).expect("a graph").current();
        let wired = dag.wired();
        let values = dag.interpret(&wired);
        let ends = dag.ends(&wired);
        let failed = |number: usize| {
            values[&format!("n{number}.{}", dag.nodes[number].kind.gives().0)] == Val::Failed
        };
        if ends.iter().any(|number| failed(*number)) {
            failing += 1;
        } else if (0..dag.nodes.len()).any(failed) {
            outlived += 1;
        }
    }
    assert!(failing > 20 && failing < 180, "{failing} of 200 fail");
    assert!(outlived >= 1, "{outlived} of 200 outlive a failure");
}
