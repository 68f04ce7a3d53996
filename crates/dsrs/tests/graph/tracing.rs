//! Functions over values, traced into graphs.

use crate::support::{Env, build};
use dsrs::graph::{TracedNode, Tracer};
use dsrs::problem::Problems;
use dsrs::value::{Payload, Value, ValueRef, valueify};

fn predict(signature: &str) -> TracedNode {
    TracedNode::of("predict").signature(signature)
}

/// A small program: who is meant, how they feel, and a letter to them.
fn letter(tracer: &mut Tracer, text: &Value) -> (Value, Value) {
    let person = predict("text -> person: Person");
    let person = tracer.call("person", person, [("text", text.clone())]).at("person");
    let mood = TracedNode::of("chain_of_thought")
        .signature("text -> mood: Mood")
        .member("retries", Payload::Int(0));
    let mood = tracer.call("mood", mood, [("text", text.clone())]).at("mood");
    let arguments = [("name", person.at("name")), ("mood", mood.clone())];
    let letter = tracer.call("letter", predict("name, mood: Mood -> letter"), arguments);
    (letter.at("letter"), mood)
}

const TYPES: &str = r#"{"Person": {"class": {"name": "str", "age": "int"}},
                        "Mood": {"enum": {"calm": null, "angry": null}}}"#;

fn messages(result: Result<impl Sized, Problems>) -> Vec<String> {
    let problems = result.err().map(|problems| problems.iter().map(ToString::to_string).collect());
    problems.unwrap_or_default()
}

#[test]
fn a_traced_function_equals_the_posted_graph() {
    let mut tracer = Tracer::new("letters").with_types(Payload::from_json(TYPES).unwrap());
    let text = tracer.bind_inputs([("text", "str")]).at("text");
    let (letter, mood) = letter(&mut tracer, &text);
    let traced = tracer.finish([("letter", letter), ("mood", mood)], &Env).unwrap();
    let posted = build(&format!(
        r#"{{"name": "letters", "types": {TYPES}, "inputs": {{"text": "str"}}, "nodes": {{
            "person": {{"strategy": "predict", "signature": "text -> person: Person"}},
            "mood":   {{"strategy": "chain_of_thought", "signature": "text -> mood: Mood", "retries": 0}},
            "letter": {{"strategy": "predict", "signature": "name, mood: Mood -> letter"}}}},
          "edges": [{{"from": "input.text", "to": "person.text"}},
                    {{"from": "input.text", "to": "mood.text"}},
                    {{"from": "person.person.name", "to": "letter.name"}},
                    {{"from": "mood.mood", "to": "letter.mood"}}],
          "outputs": {{"letter": "letter.letter", "mood": "mood.mood"}}}}"#
    ))
    .unwrap();
    let traced = traced.compile().unwrap();
    assert_eq!(traced.canonical_text(), posted.canonical_text());
}

#[test]
fn dependencies_are_the_distinct_references_in_the_arguments() {
    let mut tracer = Tracer::new("deps");
    let inputs = tracer.bind_inputs([("a", "str"), ("b", "str")]);
    let first = tracer.call("first", predict("a -> x, y"), [("a", inputs.at("a"))]);
    let arguments = [
        ("x", first.at("x")),
        ("again", first.at("x")),
        ("b", inputs.at("b")),
        ("y", first.at("y")),
    ];
    tracer.call("second", predict("x, again, b, y -> z"), arguments);
    let refs = |node| tracer.dependencies(node).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(refs("first"), ["input:a"]);
    assert_eq!(refs("second"), ["first.x", "input:b", "first.y"]);
    assert!(refs("third").is_empty());
}

#[test]
fn every_connection_is_checked_as_in_a_document() {
    let mut tracer = Tracer::new("wrong");
    let text = tracer.bind_inputs([("text", "str")]).at("text");
    let count = tracer.call("count", predict("text -> count: int"), [("text", text)]);
    let elsewhere = Value::pending(ValueRef::node("nowhere").step("out"));
    let arguments = [("text", count.at("count")), ("other", elsewhere)];
    let last = tracer.call("last", predict("text, other -> done"), arguments);
    let outputs = [("done", last.at("dune"))];
    insta::assert_snapshot!(messages(tracer.finish(outputs, &Env)).join("\n"));
}

#[test]
fn values_that_no_edge_can_carry_are_refused() {
    let mut tracer = Tracer::new("wrong");
    let text = tracer.bind_inputs([("text", "str")]).at("text");
    let one = tracer.call("one", predict("text -> out"), [("text", text.clone())]);
    let several = valueify((one.at("out"), "as it is"));
    let arguments = [
        ("constant", valueify("as it is")),
        ("whole", one.clone()),
        ("several", several),
        ("parameter", Value::pending(ValueRef::param("one"))),
        ("default", one.at("out").get(0, text)),
    ];
    let signature = "constant, whole, several, parameter, default -> done";
    let two = tracer.call("two", predict(signature), arguments.clone());
    tracer.call("two", predict(signature), arguments[..0].to_vec());
    insta::assert_snapshot!(messages(tracer.finish([("done", two.at("done"))], &Env)).join("\n"));
}

#[test]
fn nested_arguments_and_parts_with_defaults_become_ops() {
    let mut tracer = Tracer::new("nested");
    let text = tracer.bind_inputs([("text", "str")]).at("text");
    let one = predict("text -> tags: list[str], name, age: int?");
    let one = tracer.call("one", one, [("text", text.clone())]);
    let card = valueify([
        ("name", one.at("name")),
        ("first", one.at("tags").get(0, valueify("none"))),
        ("pair", valueify((text.clone(), one.at("age")))),
    ]);
    let all = valueify(vec![one.at("name"), text]);
    let signature = "card: {name: str, first: str, pair: tuple[str, int?]}, all: list[str] -> done";
    let two = tracer.call("two", predict(signature), [("card", card), ("all", all)]);
    let refs: Vec<_> = tracer.dependencies("two").iter().map(ToString::to_string).collect();
    assert_eq!(refs, ["one.name", "one.tags[0]", "input:text", "one.age"]);
    let graph = tracer.finish([("done", two.at("done"))], &Env).unwrap();
    let nodes = graph.nodes().map(|(name, node)| format!("{name}: {}", node.strategy()));
    let edges = graph.edges().iter().map(|edge| format!("{} -> {}", edge.from, edge.to));
    insta::assert_snapshot!(nodes.chain(edges).collect::<Vec<_>>().join("\n"));
}
