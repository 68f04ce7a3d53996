//! `react`: steps with tools, then the outputs.

use std::sync::Arc;
use std::time::Duration;

use dsrs::facet::Facet;
use dsrs::graph::{GraphModule, GraphState, Program};
use dsrs::lm::{Lm, LmErrorKind, LmReply, Model, Models, ScriptedAnswer, ScriptedLm, ToolCall};
use dsrs::module::{named_predictors, named_predictors_mut};
use dsrs::predict::{
    Ctx, PredictErrorKind, RunScope, Span, SpanKind, SpanStatus, Tool, function_tool, read_state,
};
use dsrs::problem::{At, Problems};
use dsrs::strategy::{
    BuildEnv, DynModule, GraphUnavailable, HttpTool, StoredGraphRef, builtin_tools,
};
use dsrs::value::Payload;
use dsrs::{Module, ReAct, Signature};
use tokio::time::Instant;

use super::support::{
    answer, asked, assert_demos_are_seen, called, create_in, fields, json, module, outputs, paths,
    refused, run, signature_text,
};

const QA: &str = "question -> answer";
const WITH: &str = r#"{"tools": ["calculator"]}"#;

/// What the LM writes in a step.
fn step(thought: &str, name: &str, args: &str) -> String {
    answer(&[("next_thought", thought), ("next_tool_name", name), ("next_tool_args", args)])
}

fn finish() -> String {
    step("I know enough.", "finish", "{}")
}

fn extract(text: &str) -> String {
    answer(&[("reasoning", "as the steps say"), ("answer", text)])
}

fn scripted(answers: impl IntoIterator<Item = String>) -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::answering(answers))
}

/// A graph of one node with these tools that returns its trajectory.
fn graph(config: &str) -> String {
    format!(
        r#"{{"name": "g", "nodes": {{"a": {{"strategy": "react", "signature": "{QA}", "config": {config}}}}}}}"#
    )
}

/// Runs a node with the calculator and returns its trajectory.
async fn trajectory(lm: &Arc<ScriptedLm>) -> String {
    let document = graph(r#"{"tools": ["calculator"], "with_trajectory": true, "max_iters": 3}"#);
    let outcome = run(&document, lm, r#"{"question": "6 * 7?"}"#).await;
    let found = outcome.outputs.unwrap();
    found["trajectory"].as_str().unwrap().to_owned()
}

/// The kinds of spans with their names and statuses, in the order of their start.
fn shape(spans: &[Span]) -> Vec<String> {
    let describe = |span: &Span| match span.kind {
        SpanKind::Node | SpanKind::Attempt | SpanKind::Element | SpanKind::Round => None,
        SpanKind::Predictor => Some(format!("predictor {}", span.predictor.as_deref().unwrap())),
        SpanKind::Lm => Some("lm".to_owned()),
        SpanKind::Embedding => Some("embedding".to_owned()),
        SpanKind::Tool => Some(format!("tool {} {:?}", span.tool.as_deref().unwrap(), span.status)),
    };
    spans.iter().filter_map(describe).collect()
}

#[test]
fn react_has_two_predictors_that_use_demos() {
    let mut agent = module("react", QA, WITH);
    assert_eq!(signature_text(&*agent), "question: str -> answer: str");
    assert_eq!(paths(&*agent), ["action", "extract.predict"]);
    let fields = |index: usize| {
        let schema = agent.predictors()[index].1.schema().clone();
        let all = schema.inputs.iter().chain(&schema.outputs);
        all.map(|field| field.name.to_string()).collect::<Vec<_>>().join(" ")
    };
    let action = "question trajectory next_thought next_tool_name next_tool_args more_tool_calls";
    assert_eq!(fields(0), action);
    assert_eq!(fields(1), "question trajectory reasoning answer");
    assert_demos_are_seen(&mut *agent);
    let with_trajectory = module("react", QA, r#"{"with_trajectory": true}"#);
    assert_eq!(signature_text(&*with_trajectory), "question: str -> answer: str, trajectory: str");
}

#[tokio::test]
async fn the_lm_calls_a_tool_and_answers_from_its_result() {
    let lm = scripted([
        step("I multiply.", "calculator", r#"{"expression": "6 * 7"}"#),
        finish(),
        extract("42"),
    ]);
    let outcome = run(&graph(WITH), &lm, r#"{"question": "6 * 7?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"answer":"42"}"#);
    assert_eq!(
        shape(&outcome.spans),
        [
            "predictor action",
            "lm",
            "tool calculator Succeeded",
            "predictor action",
            "lm",
            "predictor extract.predict",
            "lm"
        ]
    );
    let tool = outcome.spans.iter().find(|span| span.kind == SpanKind::Tool).unwrap();
    assert_eq!(Payload::map(tool.inputs.clone().unwrap()).to_json(), r#"{"expression":"6 * 7"}"#);
    assert_eq!(Payload::map(tool.outputs.clone().unwrap()).to_json(), r#"{"result":42}"#);
    let requests = lm.requests();
    assert!(asked(&requests[0]).contains("(no steps yet)"));
    let seen =
        "Step 1\nthought: I multiply.\ncall: calculator {\"expression\":\"6 * 7\"}\nresult: 42";
    assert!(asked(&requests[1]).contains(seen), "{}", asked(&requests[1]));
    assert!(asked(&requests[2]).contains("Step 2\nthought: I know enough."));
}

#[tokio::test]
async fn the_lm_sees_unknown_tools_invalid_arguments_and_failures() {
    let lm = scripted([
        step("a slip", "calculater", "{}"),
        step("another", "calculator", r#"{"expresion": "1"}"#),
        step("a third", "calculator", r#"{"expression": "1 / 0"}"#),
        extract("?"),
    ]);
    let text = trajectory(&lm).await;
    assert!(text.contains("there is no tool `calculater`; did you mean `calculator`?"), "{text}");
    assert!(text.contains("\"expression\" is a required property"), "{text}");
    assert!(text.contains("result: Error: division by zero"), "{text}");
}

#[tokio::test]
async fn the_last_step_is_followed_by_the_outputs() {
    let again = || step("once more", "calculator", r#"{"expression": "1"}"#);
    let lm = scripted([again(), again(), extract("1")]);
    let document = graph(r#"{"tools": ["calculator"], "max_iters": 2}"#);
    let outcome = run(&document, &lm, r#"{"question": "?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"answer":"1"}"#);
    assert_eq!(called(&outcome.spans), ["action", "action", "extract.predict"]);
}

#[tokio::test]
async fn an_unreadable_step_ends_the_steps_if_there_are_any() {
    let looked = step("I look.", "calculator", r#"{"expression": "1"}"#);
    let lm = scripted([looked, "hm".into(), "hm".into(), extract("1")]);
    let outcome = run(&graph(WITH), &lm, r#"{"question": "?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"answer":"1"}"#);
    let lm = scripted(["hm".into(), "hm".into()]);
    let outcome = run(&graph(WITH), &lm, r#"{"question": "?"}"#).await;
    let error = outcome.outputs.unwrap_err().error;
    assert_eq!(error.predictor.as_deref(), Some("action"));
    assert!(matches!(error.kind, PredictErrorKind::Parse { .. }));
}

#[derive(Facet)]
struct Name {
    name: String,
}

/// A server with tools of its own, as those of an MCP server.
struct Own(Vec<Arc<dyn Tool>>);

impl BuildEnv for Own {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn mcp_tools(&self, server: &str) -> Result<Vec<Arc<dyn Tool>>, String> {
        match server {
            "own" => Ok(self.0.clone()),
            other => Err(format!("no MCP server `{other}` is configured; known: own")),
        }
    }

    fn http_tool(&self, tool: &HttpTool) -> Result<Arc<dyn Tool>, String> {
        let tool = tool.clone();
        let (name, description) = (tool.spec.name.clone(), tool.spec.description.clone());
        let call = move |name: Name| {
            let sent = tool.call(&fields(&format!(r#"{{"name": "{}"}}"#, name.name)));
            async move { sent.map(|sent| sent.url) }
        };
        function_tool(name, description, call).map_err(|error| error.to_string())
    }
}

/// Runs an agent with these tools, with one second for all.
async fn run_with(
    tools: Vec<Arc<dyn Tool>>,
    models: Models,
    cancel: Option<Duration>,
) -> dsrs::graph::Outcome {
    let document = graph(r#"{"tools": [{"mcp": "own"}], "with_trajectory": true}"#);
    let program = Program::from_document(&json(&document), &Own(tools)).unwrap();
    let run = RunScope::new(models.into(), Instant::now() + Duration::from_secs(1));
    let run = Arc::new(run);
    if let Some(after) = cancel {
        let token = run.cancelled.clone();
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            token.cancel();
        });
    }
    program.execute(&run, fields(r#"{"question": "?"}"#)).await
}

fn only(lm: Arc<ScriptedLm>) -> Models {
    Models::only(lm)
}

fn hangs() -> Arc<dyn Tool> {
    let hang = |_: Name| std::future::pending::<Result<String, String>>();
    function_tool("wait", "Never answers.", hang).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_hanging_tool_is_stopped_at_the_deadline() {
    let lm = scripted([step("I wait.", "wait", r#"{"name": "x"}"#)]);
    let outcome = run_with(vec![hangs()], only(lm), None).await;
    let error = outcome.outputs.unwrap_err();
    assert_eq!(error.error.kind, PredictErrorKind::Timeout);
    assert!(error.to_string().contains("the tool `wait`"), "{error}");
    assert_eq!(shape(&outcome.spans).last().unwrap(), "tool wait Failed");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_stops_a_running_tool() {
    let lm = scripted([step("I wait.", "wait", r#"{"name": "x"}"#)]);
    let outcome = run_with(vec![hangs()], only(lm), Some(Duration::from_millis(100))).await;
    assert_eq!(outcome.outputs.unwrap_err().error.kind, PredictErrorKind::Cancelled);
    assert_eq!(shape(&outcome.spans).last().unwrap(), "tool wait Cancelled");
}

/// A tool that answers when three calls of it are at work.
fn meets() -> Arc<dyn Tool> {
    let barrier = Arc::new(tokio::sync::Barrier::new(3));
    let meet = move |name: Name| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            Ok::<_, String>(format!("met {}", name.name))
        }
    };
    function_tool("meet", "Meets the others.", meet).unwrap()
}

const MET: &str = "Step 1\nthought: I meet all three.\n\
    call: meet {\"name\":\"a\"}\nresult: met a\ncall: meet {\"name\":\"b\"}\nresult: met b\n\
    call: meet {\"name\":\"c\"}\nresult: met c\n\nStep 2\nthought: Done.\ncall: finish {}";

fn met_shape() -> Vec<&'static str> {
    let met = "tool meet Succeeded";
    let action = ["predictor action", "lm"];
    [action.as_slice(), &[met, met, met], &action, &["predictor extract.predict", "lm"]].concat()
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_step_run_at_once_with_results_in_order() {
    let more =
        r#"[{"name": "meet", "args": {"name": "b"}}, {"name": "meet", "args": {"name": "c"}}]"#;
    let all = answer(&[
        ("next_thought", "I meet all three."),
        ("next_tool_name", "meet"),
        ("next_tool_args", r#"{"name": "a"}"#),
        ("more_tool_calls", more),
    ]);
    let lm = scripted([all, step("Done.", "finish", "{}"), extract("ok")]);
    let outcome = run_with(vec![meets()], only(lm), None).await;
    assert_eq!(outcome.outputs.unwrap()["trajectory"].as_str(), Some(MET));
    assert_eq!(shape(&outcome.spans), met_shape());
}

/// An answer with text and tool calls.
fn native(text: &str, calls: &[(&str, &str)]) -> ScriptedAnswer {
    let tool_calls = calls.iter().map(|(name, args)| ToolCall {
        id: "call".into(),
        name: (*name).into(),
        arguments: (*args).into(),
    });
    LmReply { tool_calls: tool_calls.collect(), ..LmReply::of(text, "m") }.into()
}

#[tokio::test(start_paused = true)]
async fn native_tool_calls_produce_the_same_steps_and_trace() {
    let calls = ["a", "b", "c"].map(|name| ("meet", format!(r#"{{"name": "{name}"}}"#)));
    let calls: Vec<_> = calls.iter().map(|(tool, args)| (*tool, args.as_str())).collect();
    let lm = Arc::new(ScriptedLm::answering([
        native("I meet all three.", &calls),
        native("[[ ## next_thought ## ]]\nDone.", &[("finish", "")]),
        ScriptedAnswer::from(extract("ok")),
    ]));
    let lm_dyn: Arc<dyn Lm> = lm.clone();
    let model = Model { tools: true, ..Model::of("default", lm_dyn) };
    let outcome = run_with(vec![meets()], Models::new([model], None), None).await;
    assert_eq!(outcome.outputs.unwrap()["trajectory"].as_str(), Some(MET));
    assert_eq!(shape(&outcome.spans), met_shape());
    let requests = lm.requests();
    let offered = |index: usize| {
        let tools = requests.get(index).and_then(|request| request.tools.as_ref());
        tools.map(|tools| tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>())
    };
    assert_eq!(offered(0).unwrap(), ["meet", "finish"]);
    assert_eq!(offered(2), None);
}

/// Models that call tools natively end with words when they have nothing more to call.
#[tokio::test(start_paused = true)]
async fn an_answer_in_words_ends_the_steps_and_the_outputs_are_derived_from_it() {
    let calls = [r#"{"name": "a"}"#, r#"{"name": "b"}"#, r#"{"name": "c"}"#];
    let answers = [
        native("I meet all three.", &calls.map(|args| ("meet", args))),
        native("I have met a, so the answer is ok.", &[]),
        ScriptedAnswer::from(extract("ok")),
    ];
    let lm = Arc::new(ScriptedLm::answering(answers));
    let model = Model { tools: true, ..Model::of("default", lm.clone()) };
    let outcome = run_with(vec![meets()], Models::new([model], None), None).await;
    assert_eq!(outcome.outputs.unwrap()["answer"].as_str(), Some("ok"));
    let requests = lm.requests();
    assert_eq!(requests.len(), 3, "it is not asked to repeat itself in the layout");
    let last = asked(requests.last().unwrap());
    assert!(last.contains("I have met a, so the answer is ok."), "{last}");
}

#[tokio::test]
async fn the_oldest_steps_are_left_out_if_the_context_overflows() {
    let lm = Arc::new(ScriptedLm::by(|request| {
        let asked = asked(request);
        if asked.contains("Step 1\n") && asked.contains("Step 3\n") {
            return ScriptedAnswer::fail(LmErrorKind::ContextOverflow, "too long").status(400);
        }
        if request.chat.prefix[0].content.contains("`reasoning`") {
            return extract("done").into();
        }
        step("on", "calculator", r#"{"expression": "1"}"#).into()
    }));
    let document = graph(r#"{"tools": ["calculator"], "max_iters": 3}"#);
    let outcome = run(&document, &lm, r#"{"question": "?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"answer":"done"}"#);
    let last = lm.requests().pop().unwrap();
    assert!(asked(&last).contains("(1 earlier step left out)\n\nStep 2\n"), "{}", asked(&last));
    let lm = Arc::new(ScriptedLm::by(|_| {
        ScriptedAnswer::fail(LmErrorKind::ContextOverflow, "too long").status(400)
    }));
    let outcome = run(&document, &lm, r#"{"question": "?"}"#).await;
    assert!(outcome.outputs.unwrap_err().error.is_context_overflow());
    assert_eq!(lm.requests().len(), 1);
}

#[test]
fn every_problem_of_the_tools_is_reported_at_its_place() {
    let config = r#"{"tools": ["calculater", "calculator", {"builtin": "calculator"}, {"mcp": "x"}, {},
        {"graph": "g"}, {"http": {"name": "a b", "description": "d", "method": "GET", "url": "ftp://x"}},
        {"http": {"name": "w", "description": "d", "method": "GET", "url": "https://a.example/{cty}",
                  "headers": {"host": "x", "x-key": {"secret": "KEY"}},
                  "arguments": {"type": "object", "properties": {"city": {"type": "string"}}}}}]}"#;
    assert_eq!(
        refused("react", QA, config),
        [
            "/config/tools/0 invalid_config",
            "/config/tools/2 invalid_config",
            "/config/tools/3/mcp invalid_config",
            "/config/tools/4 invalid_config",
            "/config/tools/5/graph invalid_config",
            "/config/tools/6/http/name invalid_name",
            "/config/tools/6/http/url invalid_value",
            "/config/tools/7/http/headers/host reserved_name",
            "/config/tools/7/http/arguments/properties missing_field",
        ]
    );
    let odd = r#"{"tools": [{"http": {"name": "w", "timeout_ms": 0}}], "max_iter": 3}"#;
    let problems = refused("react", QA, odd);
    assert!(
        problems.contains(&"/config/tools/0/http/timeout_ms invalid_config".to_owned()),
        "{problems:?}"
    );
    assert!(problems.contains(&"/config invalid_config".to_owned()), "{problems:?}");
    assert_eq!(refused("react", "trajectory -> answer", "{}"), ["/signature duplicate_name"]);
    assert_eq!(refused("react", "q -> reasoning", "{}"), ["/signature duplicate_name"]);
}

#[tokio::test]
async fn an_http_tool_and_mcp_tools_work_side_by_side() {
    let config = r#"{"tools": [{"mcp": "own", "tools": ["wait"]},
        {"http": {"name": "page", "description": "Reads.", "method": "GET", "url": "https://a.example/{name}"}}]}"#;
    let agent = create_in(&Own(vec![hangs(), meets()]), "react", QA, config).unwrap();
    let instruction = agent.predictors()[0].1.instruction().to_owned();
    assert!(
        instruction.contains("- `wait`: Never answers.\n  Arguments: {name: string}"),
        "{instruction}"
    );
    assert!(instruction.contains("- `page`") && !instruction.contains("`meet`"), "{instruction}");
    let missing = r#"{"tools": [{"mcp": "own", "tools": ["wiat"]}]}"#;
    let problems = create_in(&Own(vec![hangs()]), "react", QA, missing).err().unwrap().to_string();
    assert!(
        problems.contains(
            "/config/tools/0/tools/0: the MCP server `own` has no tool `wiat`; did you mean `wait`?"
        ),
        "{problems}"
    );
}

#[tokio::test]
async fn a_tool_with_the_name_of_an_earlier_one_gets_the_name_of_its_server() {
    let config = r#"{"tools": ["calculator", {"mcp": "own"}, {"mcp": "own"}]}"#;
    let agent = create_in(&Own(vec![meets()]), "react", QA, config).unwrap();
    let instruction = agent.predictors()[0].1.instruction().to_owned();
    for name in ["`calculator`", "`meet`", "`own_meet`"] {
        assert!(instruction.contains(&format!("- {name}")), "{instruction}");
    }
}

#[tokio::test]
async fn a_tool_named_finish_is_refused_in_any_case() {
    let config = r#"{"tools": [{"http": {"name": "Finish", "description": "d", "method": "GET", "url": "https://a.example"}}]}"#;
    let found = create_in(&Own(vec![]), "react", QA, config).err().unwrap().to_string();
    assert!(found.starts_with("/config/tools/0: `Finish` is reserved"), "{found}");
    let add = |sum: Sum| async move { dsrs::expr::calculate(&sum.expression) };
    let typed = ReAct::<Qa>::builder().tool("finish", "Adds.", add).build();
    assert!(typed.err().unwrap().to_string().contains("`finish` is reserved"));
}

/// A server whose MCP server got a `calculator` after a graph was stored.
struct Grown;

impl BuildEnv for Grown {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn is_stored(&self) -> bool {
        true
    }

    fn mcp_tools(&self, _: &str) -> Result<Vec<Arc<dyn Tool>>, String> {
        let call = |_: Name| async { Ok::<_, String>("x".to_owned()) };
        let named = |name: &str| function_tool(name, "New.", call).unwrap();
        Ok(vec![named("calculator"), named("look up"), named("page")])
    }
}

#[test]
fn a_stored_agent_loads_whatever_tools_a_server_offers() {
    let config = r#"{"tools": ["calculator", {"mcp": "own"}]}"#;
    let agent = create_in(&Grown, "react", QA, config).unwrap_or_else(|found| panic!("{found}"));
    let instruction = agent.predictors()[0].1.instruction().to_owned();
    assert_eq!(instruction.matches("- `calculator`: Evaluates").count(), 1, "{instruction}");
    assert!(instruction.contains("- `page`: New.") && !instruction.contains("look up"));
}

/// A server with a stored graph of one node, `action`, which has a tenth of a second.
struct Asks;

impl BuildEnv for Asks {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn graph(&self, _: &StoredGraphRef) -> Result<Box<dyn DynModule>, GraphUnavailable> {
        let document = r#"{"name": "ask", "nodes": {"action": {"strategy": "predict",
            "signature": "word -> meaning", "timeout_ms": 100}}}"#;
        let module = GraphModule::new(&json(document), &GraphState::default(), self);
        Ok(Box::new(module.unwrap_or_else(|problems| panic!("{problems}"))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_graph_that_times_out_is_a_failed_tool_call() {
    let config = r#"{"tools": [{"graph": "ask"}], "with_trajectory": true}"#;
    let agent = create_in(&Asks, "react", QA, config).unwrap();
    let look = || ScriptedAnswer::from(step("I ask.", "ask", r#"{"word": "x"}"#));
    let known = answer(&[("meaning", "unknown")]).into();
    let answers =
        [look(), ScriptedAnswer::hang(), look(), known, finish().into(), extract("?").into()];
    let lm = Arc::new(ScriptedLm::answering(answers));
    let hint = [(Arc::from("action"), Arc::from("Ask twice."))];
    let ctx = Ctx::within(only(lm.clone()).into(), Duration::from_secs(600)).with_hints(hint);
    let found = agent.forward(&ctx, fields(r#"{"question": "?"}"#)).await.unwrap();
    let text = found["trajectory"].as_str().unwrap().to_owned();
    assert!(
        text.contains("result: Error: the time limit passed before the model answered"),
        "{text}"
    );
    assert!(text.contains("result: unknown"), "{text}");
    let with_hints: Vec<_> =
        lm.requests().iter().map(|sent| asked(sent).contains("twice")).collect();
    assert_eq!(with_hints, [true, false, true, false, true, false]);
}

#[test]
fn calculator_and_python_are_built_in_and_python_needs_a_sandbox() {
    let known: Vec<_> = builtin_tools().map(|tool| tool.name).collect();
    assert_eq!(known, ["calculator", "python", "search"]);
    assert_eq!(
        refused("react", QA, r#"{"tools": ["python"]}"#),
        ["/config/tools/0 invalid_config"]
    );
}

#[derive(Signature)]
#[instruction = "Answer the question."]
struct Qa {
    #[input]
    question: String,
    #[output]
    answer: String,
}

#[derive(Facet)]
struct Sum {
    /// such as `1 + 1`
    expression: String,
}

#[tokio::test]
async fn a_typed_agent_prompts_like_a_posted_one() {
    let answers = || [step("I add.", "add", r#"{"expression": "1 + 1"}"#), finish(), extract("2")];
    let add = |sum: Sum| async move { dsrs::expr::calculate(&sum.expression) };

    let mut typed = ReAct::<Qa>::builder().tool("add", "Adds.", add).build().unwrap();
    let found = named_predictors(&typed).unwrap();
    assert_eq!(
        found.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(),
        ["action", "extract.predict"]
    );
    let lm = scripted(answers());
    let ctx = Ctx::within(only(lm.clone()).into(), Duration::from_secs(600));
    let result = typed.call(&ctx, QaInput { question: "1 + 1?".into() }).await.unwrap();
    assert_eq!((result.answer.as_str(), result.usage().lm_calls), ("2", 3));
    assert!(result.trajectory.contains("result: 2"), "{}", result.trajectory);

    let own = Own(vec![function_tool("add", "Adds.", add).unwrap()]);
    let document = r#"{"instructions": "Answer the question.", "inputs": [{"name": "question"}], "outputs": [{"name": "answer"}]}"#;
    let document = format!(
        r#"{{"name": "g", "nodes": {{"a": {{"strategy": "react", "signature": {document}, "config": {{"tools": [{{"mcp": "own"}}]}}}}}}}}"#
    );
    let program = Program::from_document(&json(&document), &own).unwrap();
    let posted = scripted(answers());
    let run = RunScope::new(only(posted.clone()).into(), Instant::now() + Duration::from_secs(600));
    program.execute(&Arc::new(run), fields(r#"{"question": "1 + 1?"}"#)).await.outputs.unwrap();

    let texts = |lm: &ScriptedLm| -> Vec<String> {
        let requests = lm.requests();
        let all = requests.iter().flat_map(|request| request.chat.messages());
        all.map(|message| message.content.to_string()).collect()
    };
    assert_eq!(texts(&lm), texts(&posted));

    let demo = r#"{"demos": [{"input": {"question": "2 + 2?", "trajectory": "(no steps yet)"},
        "output": {"next_thought": "shown", "next_tool_name": "add", "next_tool_args": {"expression": "2 + 2"},
                   "more_tool_calls": [{"name": "add", "args": {"expression": "3"}}]}}]}"#;
    let state = read_state(&json(demo), &At::Root, &mut Problems::new()).unwrap();
    let (_, action) = named_predictors_mut(&mut typed).unwrap().swap_remove(0);
    action.load_state(state, &At::Root).unwrap();
    assert!(action.render(&fields(r#"{"question": "?"}"#))[2].content.contains("shown"));
    insta::assert_snapshot!(texts(&lm)[..2].join("\n--- user\n"));
}

#[tokio::test]
async fn duplicate_typed_tools_and_reserved_fields_are_refused() {
    #[derive(Signature)]
    struct Odd {
        #[input]
        trajectory: String,
        #[output]
        answer: String,
    }
    let add = |sum: Sum| async move { dsrs::expr::calculate(&sum.expression) };
    let twice = ReAct::<Odd>::builder().tool("add", "Adds.", add).tool("add", "Adds.", add);
    let problems = twice.build().err().unwrap().to_string();
    assert!(problems.contains("two tools are named `add`"), "{problems}");
    assert!(problems.contains("`trajectory` is a field that react adds"), "{problems}");
}

#[tokio::test]
async fn the_span_of_a_failed_tool_has_the_reason() {
    let lm =
        scripted([step("slip", "calculator", r#"{"expression": "x"}"#), finish(), extract("?")]);
    let outcome = run(&graph(WITH), &lm, r#"{"question": "?"}"#).await;
    let tool = outcome.spans.iter().find(|span| span.kind == SpanKind::Tool).unwrap();
    assert_eq!(tool.status, SpanStatus::Failed);
    assert!(tool.error.as_deref().unwrap().contains("`x` is not defined"));
}
