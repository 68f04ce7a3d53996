//! `call`: one call of a tool with typed inputs and a typed output.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsrs::BoxFuture;
use dsrs::graph::{Outcome, Program};
use dsrs::lm::{ScriptedLm, ToolSpec};
use dsrs::predict::{Ctx, PredictErrorKind, RunScope, SpanKind, Tool, ToolError};
use dsrs::strategy::{BuildEnv, HttpTool};
use dsrs::value::{Fields, Payload};

use super::support::{fields, json, outputs, run_on};

/// The arguments of a call, and its key.
type NotedCall = (String, Option<Arc<str>>);

/// A server whose HTTP tools answer what the test says, and note their arguments and keys.
struct Server {
    answers: Vec<Result<&'static str, ToolError>>,
    asked: Arc<AtomicUsize>,
    noted: Arc<Mutex<Vec<NotedCall>>>,
}

impl Server {
    fn answering(answers: impl IntoIterator<Item = Result<&'static str, ToolError>>) -> Self {
        let (asked, noted) = (Arc::default(), Arc::default());
        Self { answers: answers.into_iter().collect(), asked, noted }
    }

    fn arguments(&self) -> Vec<String> {
        self.noted.lock().unwrap().iter().map(|(args, _)| args.clone()).collect()
    }

    fn keys(&self) -> Vec<Option<Arc<str>>> {
        self.noted.lock().unwrap().iter().map(|(_, key)| key.clone()).collect()
    }
}

struct Answering {
    spec: ToolSpec,
    answers: Vec<Result<&'static str, ToolError>>,
    asked: Arc<AtomicUsize>,
    noted: Arc<Mutex<Vec<NotedCall>>>,
}

impl Tool for Answering {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, ctx: &'a Ctx, args: Fields) -> BoxFuture<'a, Result<Payload, ToolError>> {
        self.noted.lock().unwrap().push((Payload::map(args).to_json(), ctx.call_key.clone()));
        let number = self.asked.fetch_add(1, Ordering::Relaxed).min(self.answers.len() - 1);
        let answer = self.answers[number].clone().map(json);
        Box::pin(std::future::ready(answer))
    }
}

impl BuildEnv for Server {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn http_tool(&self, tool: &HttpTool) -> Result<Arc<dyn Tool>, String> {
        Ok(Arc::new(Answering {
            spec: tool.spec.clone(),
            answers: self.answers.clone(),
            asked: self.asked.clone(),
            noted: self.noted.clone(),
        }))
    }
}

const SEARCH: &str = r#"{"http": {
    "name": "search", "description": "Finds pages.", "method": "POST", "url": "https://search.example/find",
    "arguments": {"type": "object", "additionalProperties": false, "required": ["query"], "properties": {
        "query": {"type": "string", "minLength": 1},
        "k": {"type": "integer", "default": 3},
        "language": {"enum": ["en", "de"]},
        "since": {"type": "string", "format": "date"}}}}}"#;

const HITS: &str =
    r#"{"hits": [{"text": "one", "score": 0.5}, {"text": "two", "score": 0.25}], "took": 3}"#;

/// A graph of one node that calls the search.
fn graph(more: &str) -> String {
    format!(
        r#"{{"name": "g", "nodes": {{"find": {{"strategy": "call", "retries": 2, "config": {{"tool": {SEARCH} {more}}}}}}}}}"#
    )
}

fn program(server: &Server, document: &str) -> Result<Program, String> {
    let read = Program::from_document(&json(document), server);
    read.map_err(|problems| {
        let problems = problems
            .iter()
            .map(|found| format!("{} {}: {}", found.pointer, found.code, found.detail));
        problems.collect::<Vec<_>>().join("\n")
    })
}

async fn execute(server: &Server, document: &str, inputs: &str) -> Outcome {
    let program = program(server, document).unwrap_or_else(|problems| panic!("{problems}"));
    let lm = Arc::new(ScriptedLm::answering(Vec::<String>::new()));
    program.execute(&run_on(&lm), fields(inputs)).await
}

const TEXTS: &str = r#", "select": "hits[*].text", "output": "list[str]""#;

#[tokio::test]
async fn a_part_of_the_result_is_the_output_as_its_type() {
    let server = Server::answering([Ok(HITS)]);
    let found = execute(&server, &graph(TEXTS), r#"{"query": "rust"}"#).await;
    assert_eq!(outputs(&found), r#"{"result":["one","two"]}"#);
    assert_eq!(server.arguments(), [r#"{"query":"rust"}"#]);
    let spans = found.spans.iter().filter(|span| span.kind == SpanKind::Tool);
    let tools: Vec<_> = spans.map(|span| span.tool.clone().unwrap()).collect();
    assert_eq!(tools, ["search".into()]);
}

#[test]
fn the_inputs_are_the_arguments_of_the_tool() {
    let server = Server::answering([Ok(HITS)]);
    let program = program(&server, &graph(TEXTS)).unwrap();
    let schema = program.graph().nodes().next().unwrap().1.schema().clone();
    let inputs: Vec<_> =
        schema.inputs.iter().map(|field| format!("{}: {}", field.name, field.ty)).collect();
    assert_eq!(inputs, ["query: str", "k: int", "language: \"en\" | \"de\" | null", "since: str?"]);
    assert_eq!(&*schema.instructions, "Finds pages.");
}

#[tokio::test]
async fn fixed_arguments_are_no_inputs() {
    let server = Server::answering([Ok(HITS)]);
    let more = format!(r#"{TEXTS}, "arguments": {{"k": 1, "language": "de"}}"#);
    let found = execute(&server, &graph(&more), r#"{"query": "rust"}"#).await;
    found.outputs.unwrap();
    assert_eq!(server.arguments(), [r#"{"query":"rust","k":1,"language":"de"}"#]);
    let unknown = program(&server, &graph(&format!(r#"{TEXTS}, "arguments": {{"qury": 1}}"#)));
    assert_eq!(
        unknown.err().unwrap(),
        "/nodes/find/config/arguments/qury unknown_field: `search` has no argument `qury`; did you mean `query`?; it has query, k, language, since"
    );
}

#[tokio::test]
async fn without_a_type_the_result_is_a_text() {
    let server = Server::answering([Ok(HITS)]);
    let found = execute(&server, &graph(""), r#"{"query": "rust"}"#).await;
    let whole = found.outputs.unwrap();
    assert_eq!(whole["result"].as_str().unwrap(), json(HITS).to_json());
    let unnamed = program(&server, &graph(r#", "select": "hits[*].text""#)).err().unwrap();
    assert_eq!(
        unnamed,
        "/nodes/find/config/output missing_field: the type of what `select` finds is not known; name it"
    );
}

#[tokio::test]
async fn data_that_a_tool_writes_as_text_is_read() {
    let server = Server::answering([Ok(r#""{\"hits\": [{\"text\": \"one\"}]}""#)]);
    let found = execute(&server, &graph(TEXTS), r#"{"query": "rust"}"#).await;
    assert_eq!(outputs(&found), r#"{"result":["one"]}"#);
}

#[tokio::test]
async fn a_result_that_does_not_fit_fails_the_node() {
    for (answer, reason) in [
        (r#"{"pages": []}"#, "it has no `hits`"),
        (r#"{"hits": {}}"#, "`[*]` needs a list, and there is an object instead"),
        (r#"{"hits": [{"text": 4}]}"#, "expected"),
    ] {
        let server = Server::answering([Ok(answer)]);
        let error = execute(&server, &graph(TEXTS), r#"{"query": "a"}"#).await.outputs.unwrap_err();
        assert_eq!(error.error.kind, PredictErrorKind::Tool);
        let message = &error.error.message;
        assert!(message.starts_with("the result of `search` does not fit: "), "{message}");
        assert!(message.contains(reason), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_cannot_answer_is_asked_again() {
    let busy = || ToolError::unavailable("busy", Some(Duration::from_secs(2)));
    let server = Server::answering([Err(busy()), Err(busy()), Ok(HITS)]);
    let found = execute(&server, &graph(TEXTS), r#"{"query": "rust"}"#).await;
    assert_eq!(outputs(&found), r#"{"result":["one","two"]}"#);
    assert_eq!(server.arguments().len(), 3);

    let server = Server::answering([Err(busy())]);
    let error = execute(&server, &graph(TEXTS), r#"{"query": "a"}"#).await.outputs.unwrap_err();
    let retry_after = Some(Duration::from_secs(2));
    assert_eq!(error.error.kind, PredictErrorKind::ToolUnavailable { retry_after });
    assert_eq!(error.error.message, "the call of `search` failed: busy");
    assert_eq!(server.arguments().len(), 3);
}

#[tokio::test]
async fn a_call_that_is_refused_is_not_repeated() {
    let server = Server::answering([Err(ToolError::reported("no such index"))]);
    let error = execute(&server, &graph(TEXTS), r#"{"query": "a"}"#).await.outputs.unwrap_err();
    assert_eq!(error.error.kind, PredictErrorKind::Tool);
    assert_eq!(error.error.kind.code(), "tool_failed");
    assert_eq!(server.arguments().len(), 1);
    let error = execute(&server, &graph(TEXTS), r#"{"query": ""}"#).await.outputs.unwrap_err();
    assert!(error.error.message.contains("the arguments do not fit"), "{}", error.error.message);
    assert_eq!(server.arguments().len(), 1);
}

#[tokio::test]
async fn a_result_is_used_again_for_the_same_arguments() {
    let server = Server::answering([Ok(HITS)]);
    let document = graph(&format!(r#"{TEXTS}, "cache_seconds": 60"#));
    let program = program(&server, &document).unwrap();
    let lm = Arc::new(ScriptedLm::answering(Vec::<String>::new()));
    let ask = async |inputs: &str| program.execute(&run_on(&lm), fields(inputs)).await;
    ask(r#"{"query": "rust"}"#).await.outputs.unwrap();
    let again = ask(r#"{"query": "rust"}"#).await;
    assert_eq!(outputs(&again), r#"{"result":["one","two"]}"#);
    assert!(again.spans.iter().any(|span| span.kind == SpanKind::Tool && span.cached));
    assert_eq!(server.arguments().len(), 1);
    ask(r#"{"query": "go"}"#).await.outputs.unwrap();
    assert_eq!(server.arguments().len(), 2);
}

#[tokio::test]
async fn a_call_has_the_same_key_when_its_run_continues_elsewhere() {
    let server = Server::answering([Ok(HITS)]);
    let program = program(&server, &graph(TEXTS)).unwrap();
    let run = |id: Option<u8>| {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(600);
        let mut run = RunScope::new(Arc::default(), deadline);
        run.id = id.map(|id| [id; 16]);
        Arc::new(run)
    };
    for (id, query) in [(Some(1), "a"), (Some(1), "a"), (Some(1), "b"), (Some(2), "a"), (None, "a")]
    {
        let inputs = fields(&format!(r#"{{"query": "{query}"}}"#));
        program.execute(&run(id), inputs).await.outputs.unwrap();
    }
    let keys = server.keys();
    assert!(keys[0].is_some());
    assert_eq!(keys[0], keys[1]);
    assert_ne!(keys[0], keys[2]);
    assert_ne!(keys[0], keys[3]);
    assert_eq!(keys[4], None);
}

#[tokio::test]
async fn a_built_in_tool_names_the_type_of_its_results() {
    let server = Server::answering([]);
    let document = r#"{"name": "g", "nodes": {
        "work": {"strategy": "call", "config": {"tool": "calculator"}},
        "next": {"strategy": "add", "config": {}}},
        "edges": [{"from": "work.result", "to": "next.a"}]}"#;
    let found = program(&server, document).map(|_| ()).unwrap_err();
    assert!(!found.contains("/nodes/work"), "{found}");
    let document = r#"{"name": "g", "nodes": {"work": {"strategy": "call", "config": {"tool": "calculator"}}}}"#;
    let found = execute(&server, document, r#"{"expression": "6 * 7"}"#).await;
    assert_eq!(outputs(&found), r#"{"result":42}"#);
}

#[test]
fn an_edge_of_another_type_is_refused() {
    let server = Server::answering([]);
    let document = format!(
        r#"{{"name": "g", "nodes": {{
            "find": {{"strategy": "call", "config": {{"tool": {SEARCH} {TEXTS}}}}},
            "answer": {{"strategy": "predict", "signature": "passages: list[int] -> answer"}}}},
            "edges": [{{"from": "find.result", "to": "answer.passages"}}]}}"#
    );
    let found = program(&server, &document).map(|_| ()).unwrap_err();
    assert!(found.starts_with("/edges/0 type_mismatch"), "{found}");
}

#[test]
fn a_resolved_definition_is_read_again_without_its_tool() {
    let server = Server::answering([Ok(HITS)]);
    let program = program(&server, &graph(TEXTS)).unwrap();
    let resolved = json(program.canonical_text());
    let again = Program::from_document(&resolved, &server);
    let again = again.unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(again.canonical_text(), program.canonical_text());
    assert!(Program::from_document(&resolved, &dsrs::strategy::StoredEnv).is_ok());
}

/// The keys of all calls of a run with an id.
async fn keys_of(document: &str, inputs: &str) -> Vec<Arc<str>> {
    let server = Server::answering([Ok(HITS)]);
    let program = program(&server, document).unwrap_or_else(|problems| panic!("{problems}"));
    let deadline = tokio::time::Instant::now() + Duration::from_secs(600);
    let mut run = RunScope::new(Arc::default(), deadline);
    run.id = Some([7; 16]);
    program.execute(&Arc::new(run), fields(inputs)).await.outputs.unwrap();
    server.keys().into_iter().map(|key| key.unwrap()).collect()
}

#[tokio::test]
async fn rounds_elements_arms_and_inner_nodes_have_keys_of_their_own() {
    let call = format!(r#"{{"strategy": "call", "config": {{"tool": {SEARCH} {TEXTS}}}}}"#);
    let node = |config: &str| format!(r#"{{"name": "g", "nodes": {{"n": {config}}}}}"#);
    let rounds =
        node(&format!(r#"{{"strategy": "loop", "config": {{"max": 3, "module": {call}}}}}"#));
    let elements =
        node(&format!(r#"{{"strategy": "map", "config": {{"over": "query", "module": {call}}}}}"#));
    let inner = node(&format!(
        r#"{{"strategy": "subgraph", "config": {{"nodes": {{"a": {call}, "b": {call}}},
            "outputs": {{"a": "a.result", "b": "b.result"}}}}}}"#
    ));
    for (document, inputs, count) in [
        (rounds, r#"{"query": "x"}"#, 3),
        (elements, r#"{"query": ["x", "x"]}"#, 2),
        (inner, r#"{"query": "x"}"#, 2),
    ] {
        let (mut once, mut again) =
            (keys_of(&document, inputs).await, keys_of(&document, inputs).await);
        once.sort();
        again.sort();
        assert_eq!(once, again);
        once.dedup();
        assert_eq!(once.len(), count, "{document}");
    }
}

#[tokio::test]
async fn a_value_that_has_the_type_is_not_read_again() {
    let document = |output: &str| {
        format!(
            r#"{{"name": "g", "nodes": {{"f": {{"strategy": "call", "config": {{"tool": {SEARCH}, "output": {output}}}}}}}}}"#
        )
    };
    for (answer, output, expected) in [
        (r#""5""#, r#""str | null""#, r#"{"result":"5"}"#),
        (r#""[\"a\"]""#, r#""str | list[str]""#, r#"{"result":"[\"a\"]"}"#),
        (r#""5""#, r#""int""#, r#"{"result":5}"#),
    ] {
        let server = Server::answering([Ok(answer)]);
        let found = execute(&server, &document(output), r#"{"query": "a"}"#).await;
        assert_eq!(outputs(&found), expected);
    }
}

/// A graph that calls a tool with these arguments.
fn with_arguments(arguments: &str, more: &str) -> String {
    format!(
        r#"{{"name": "g", "nodes": {{"f": {{"strategy": "call", "config": {{"tool": {{"http": {{
            "name": "ask", "description": "Asks.", "method": "POST", "url": "https://a.example/", "arguments": {arguments}}}}} {more}}}}}}}}}"#
    )
}

#[tokio::test]
async fn an_argument_without_a_value_is_left_out_unless_it_may_be_null() {
    let arguments = r##"{"type": "object", "required": ["known"], "$defs": {"Opt": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        "properties": {"known": {"$ref": "#/$defs/Opt"}, "list": {"type": "array", "items": {"type": ["integer", "null"]}},
            "word": {"enum": ["null", "a"]}, "any": {"description": "anything"}, "a-b": {"type": "string"}}}"##;
    let server = Server::answering([Ok(r#""fine""#)]);
    let document = with_arguments(arguments, "");
    let schema = program(&server, &document).unwrap();
    let names: Vec<_> = schema.graph().inputs().map(|field| field.name.to_string()).collect();
    assert_eq!(names, ["known", "list", "word", "any"]);
    let found =
        execute(&server, &document, r#"{"known": null, "list": null, "word": null, "any": null}"#)
            .await;
    assert_eq!(outputs(&found), r#"{"result":"fine"}"#);
    assert_eq!(server.arguments(), [r#"{"known":null,"any":null}"#]);
}

#[test]
fn arguments_that_no_call_could_fit_are_refused() {
    let server = Server::answering([]);
    let refused = |arguments: &str, more: &str| {
        program(&server, &with_arguments(arguments, more)).map(|_| ()).unwrap_err()
    };
    let number = r#"{"type": "object", "properties": {"k": {"type": "integer"}}}"#;
    let found = refused(number, r#", "arguments": {"k": "five"}"#);
    assert!(found.starts_with("/nodes/f/config/arguments/k invalid_value"), "{found}");
    let found =
        refused(r#"{"type": "object", "required": ["a-b"], "properties": {"a-b": {}}}"#, "");
    assert!(found.starts_with("/nodes/f/config/tool invalid_name: the argument `a-b`"), "{found}");
}

#[test]
fn an_argument_named_result_leaves_its_name_to_the_input() {
    let server = Server::answering([]);
    let arguments = r#"{"type": "object", "properties": {"result": {"type": "string"}}}"#;
    let program = program(&server, &with_arguments(arguments, "")).unwrap();
    let names: Vec<_> = program.graph().outputs().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, ["output"]);
}

#[test]
fn many_arguments_of_many_definitions_are_read_in_a_bounded_number_of_steps() {
    let properties: Vec<_> =
        (0..400).map(|n| format!(r##""p{n}": {{"$ref": "#/$defs/D{n}"}}"##)).collect();
    let definitions: Vec<_> =
        (0..400).map(|n| format!(r#""D{n}": {{"enum": ["a{n}", 1.5]}}"#)).collect();
    let arguments = format!(
        r#"{{"type": "object", "properties": {{{}}}, "$defs": {{{}}}}}"#,
        properties.join(","),
        definitions.join(",")
    );
    let server = Server::answering([]);
    let program = program(&server, &with_arguments(&arguments, "")).unwrap();
    assert!(program.graph().inputs().all(|field| field.ty == dsrs::types::TypeIR::Any));
}
