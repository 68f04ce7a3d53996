//! Strategies whose LM writes programs, with a scripted LM and a real child process.

#![allow(clippy::panic, clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use dsrs::Ctx;
use dsrs::lm::{Lm, LmErrorKind, LmRequest, Model, Models, ScriptedAnswer, ScriptedLm};
use dsrs::predict::{PredictError, PredictErrorKind, Span, SpanKind, SpanStatus};
use dsrs::problem::{At, Problems};
use dsrs::sandbox::{Sandbox, SandboxLimits};
use dsrs::signature::read_signature;
use dsrs::strategy::{BuildEnv, DynModule, registry};
use dsrs::types::TypeScope;
use dsrs::value::{Fields, Payload};
use dsrs_sandbox::ChildSandbox;

/// A server with a sandbox and the models `default` and `small`.
struct Env(Arc<ChildSandbox>);

impl Env {
    fn within(limits: SandboxLimits) -> Self {
        Self(Arc::new(ChildSandbox::new(env!("CARGO_BIN_EXE_dsrs-sandbox"), &[], limits)))
    }

    fn new() -> Self {
        Self::within(SandboxLimits { time: Duration::from_secs(600), ..SandboxLimits::default() })
    }

    fn module(&self, strategy: &str, signature: &str, config: &str) -> Box<dyn DynModule> {
        let (mut problems, mut scope) = (Problems::new(), TypeScope::new());
        let draft = read_signature(&json(signature), &mut scope, &At::Root, &mut problems);
        let schema = Arc::new(draft.unwrap().finish(scope.finish()));
        registry::create(self, strategy, &schema, Some(&json(config)), &At::Root)
            .unwrap_or_else(|problems| panic!("{problems}"))
    }
}

impl BuildEnv for Env {
    fn knows_model(&self, alias: &str) -> bool {
        ["default", "small"].contains(&alias)
    }

    fn sandbox(&self) -> Option<Arc<dyn Sandbox>> {
        Some(self.0.clone())
    }
}

fn json(text: &str) -> Payload {
    Payload::from_json(text).unwrap_or_else(|_| text.into())
}

fn fields(text: &str) -> Fields {
    json(text).as_map().unwrap().clone()
}

fn ctx(lm: &Arc<ScriptedLm>) -> Ctx {
    let lm: Arc<dyn Lm> = lm.clone();
    Ctx::within(Models::only(lm).into(), Duration::from_secs(600))
}

fn sections(fields: &[(&str, &str)]) -> String {
    let sections = fields.iter().map(|(name, text)| format!("[[ ## {name} ## ]]\n{text}\n\n"));
    sections.chain(["[[ ## completed ## ]]".to_owned()]).collect()
}

/// The text of a request without its system message.
fn asked(request: &LmRequest) -> String {
    request.chat.turns.iter().map(|turn| turn.content.as_ref()).collect()
}

fn is_query(request: &LmRequest) -> bool {
    asked(request).starts_with("[[ ## prompt ## ]]")
}

/// Writes these programs in turn, and answers the prompts of programs with the length of their texts, or not at all.
fn programs(programs: &[&str]) -> Arc<ScriptedLm> {
    let programs: Vec<String> = programs.iter().map(|program| (*program).to_owned()).collect();
    let next = std::sync::Mutex::new(programs.into_iter());
    Arc::new(ScriptedLm::by(move |request| {
        let text = asked(request);
        let prompt =
            text.strip_prefix("[[ ## prompt ## ]]\n").and_then(|rest| rest.split("\n\n").next());
        match prompt {
            Some("refused") => ScriptedAnswer::fail(LmErrorKind::Filtered, "not this"),
            Some("lost") => ScriptedAnswer::fail(LmErrorKind::Refused, "no such model"),
            Some(prompt) => {
                sections(&[("response", &format!("{} characters", prompt.len()))]).into()
            }
            None => match next.lock().unwrap().next() {
                Some(code) => sections(&[
                    ("reasoning", "next"),
                    ("code", &code),
                    ("generated_code", &code),
                    ("finished", if code.contains("# done") { "True" } else { "False" }),
                ])
                .into(),
                None => sections(&[("reasoning", "read"), ("answer", "extracted")]).into(),
            },
        }
    }))
}

/// The programs that the LM saw last, with their outputs.
fn history(lm: &ScriptedLm, field: &str) -> String {
    let requests = lm.requests();
    let last = requests.iter().rev().find(|request| !is_query(request)).unwrap();
    let text = asked(last);
    let (_, history) = text.split_once(&format!("[[ ## {field} ## ]]\n")).unwrap();
    history.split("\n\n[[ ## ").next().unwrap().split("\n\nNow write ").next().unwrap().to_owned()
}

fn json_of(outputs: Result<Fields, PredictError>) -> String {
    Payload::map(outputs.unwrap_or_else(|error| panic!("{error}"))).to_json()
}

/// A line for each span: its kind, what it is of, its status and its parent.
fn lines(spans: &[Span]) -> Vec<String> {
    let name = |span: &Span| span.tool.clone().or(span.predictor.clone()).unwrap_or_default();
    let spans_shown = spans.iter().filter(|span| span.kind != SpanKind::Lm);
    spans_shown
        .map(|span| {
            let parent = span.parent.map(|id| name(&spans[id.0 as usize - 1])).unwrap_or_default();
            format!("{:?} {} {:?} {parent}", span.kind, name(span), span.status)
        })
        .collect()
}

const QUESTION: &str = "document, question -> answer";

#[tokio::test]
async fn programs_read_the_inputs_ask_the_model_and_submit() {
    let lm = programs(&[
        "```python\nparts = document.split('|')\nprint(len(parts))\nparts[0]\n```",
        "answers = llm_query_batched(parts)\nprint(answers)",
        "SUBMIT(answer=llm_query('all: ' + answers[-1]))",
    ]);
    let (env, ctx) = (Env::new(), ctx(&lm));
    let rlm = env.module("rlm", QUESTION, "{}");
    let outputs = rlm.forward(&ctx, fields(r#"{"document": "one|three", "question": "?"}"#)).await;
    assert_eq!(json_of(outputs), r#"{"answer":"17 characters"}"#);
    let expected = "\
Step 1
reasoning: next
code:
parts = document.split('|')
print(len(parts))
parts[0]
output:
2
one

Step 2
reasoning: next
code:
answers = llm_query_batched(parts)
print(answers)
output: ['3 characters', '5 characters']";
    assert_eq!(history(&lm, "repl_history"), expected);
    let last = lm.requests().iter().rev().find(|request| !is_query(request)).map(asked).unwrap();
    let variables =
        "`document`: string, 9 characters\none|three\n`question`: string, 1 characters\n?";
    assert!(last.contains(&format!("[[ ## variables_info ## ]]\n{variables}\n")), "{last}");
    assert!(last.contains("[[ ## iteration ## ]]\n3/20\n"), "{last}");
    let spans = ctx.trace().take();
    let expected = [
        "Predictor generate_action Succeeded ",
        "Tool python Succeeded ",
        "Predictor generate_action Succeeded ",
        "Tool python Succeeded ",
        "Predictor llm_query Succeeded python",
        "Predictor llm_query Succeeded python",
        "Predictor generate_action Succeeded ",
        "Tool python Succeeded ",
        "Predictor llm_query Succeeded python",
    ];
    assert_eq!(lines(&spans), expected);
}

#[tokio::test]
async fn ten_megabytes_are_in_no_prompt() {
    let line = "the needle is not here ";
    let document = format!("{}the needle is 4711 {}", line.repeat(250_000), line.repeat(205_000));
    assert!(document.len() > 10_000_000);
    let find = "import re\nplaces = re.findall('the needle is [0-9]+', document)\nplaces";
    let lm = programs(&[find, "print(document)", "SUBMIT(places[0])"]);
    let (env, ctx) = (Env::new(), ctx(&lm));
    let inputs = Fields::from_iter([
        ("document".into(), document.as_str().into()),
        ("question".into(), "Where is it?".into()),
    ]);
    let outputs = env.module("rlm", QUESTION, "{}").forward(&ctx, inputs).await;
    assert_eq!(json_of(outputs), r#"{"answer":"the needle is 4711"}"#);
    let sizes = lm
        .requests()
        .into_iter()
        .map(|request| request.chat.messages().map(|message| message.content.len()).sum::<usize>());
    // The last one has the beginning of what the second program printed.
    let sizes: Vec<usize> = sizes.collect();
    assert!(sizes[0] < 6_000 && sizes[1] < 6_000 && sizes[2] < 16_000, "{sizes:?}");
    let shown = history(&lm, "repl_history");
    let notice = "… (10455020 of 10465020 characters of the output are left out) …";
    assert!(shown.contains(notice), "{}", &shown[shown.len() - 200..]);
}

#[tokio::test]
async fn outputs_that_do_not_fit_are_errors_that_the_program_sees() {
    let signature = "text -> count: int, mood: Literal['calm', 'angry'], words: list[str]";
    let lm = programs(&[
        "SUBMIT(count='many', mood='calm')",
        "SUBMIT(1, 'furious', words=[1])",
        "SUBMIT(1, 'calm', [], [])",
        "SUBMIT(1, count=2)",
        "try:\n    SUBMIT(sum=1)\nexcept RuntimeError as error:\n    print('caught:', error)",
        "SUBMIT({'count': '12', 'mood': 'calm', 'words': text.split()})",
    ]);
    let (env, ctx) = (Env::new(), ctx(&lm));
    let outputs =
        env.module("rlm", signature, "{}").forward(&ctx, fields(r#"{"text": "a b"}"#)).await;
    assert_eq!(json_of(outputs), r#"{"count":12,"mood":"calm","words":["a","b"]}"#);
    let shown = history(&lm, "repl_history");
    for expected in [
        "The program failed:\nline 1, in <module>\n    SUBMIT(count='many', mood='calm')\nRuntimeError: SUBMIT() was not accepted. `count`: ",
        "`words`: `words` is missing; its type is `list[str]`",
        "`mood`: ",
        "`words/0`: ",
        "RuntimeError: SUBMIT() takes 3 outputs, and 4 were passed",
        "RuntimeError: SUBMIT() got two values for `count`",
        "caught: SUBMIT() was not accepted. `count`: `count` is missing",
        "unknown field `sum`",
    ] {
        assert!(shown.contains(expected), "{expected}\n---\n{shown}");
    }
}

#[tokio::test]
async fn prompts_are_counted_and_those_beyond_the_limit_are_exceptions() {
    let lm = programs(&[
        "a = llm_query('one')\nllm_query_batched(['two', 'three', 'four'])",
        "b = llm_query_batched(['two', 'three'])\nllm_query(prompt='four')",
        "llm_query('')",
        "llm_query_batched('text')",
        "SUBMIT(a + ', ' + b[1])",
    ]);
    let (env, ctx) = (Env::new(), ctx(&lm));
    let rlm = env.module("rlm", QUESTION, r#"{"max_llm_calls": 3}"#);
    let outputs = rlm.forward(&ctx, fields(r#"{"document": "", "question": "?"}"#)).await;
    assert_eq!(json_of(outputs), r#"{"answer":"3 characters, 5 characters"}"#);
    assert_eq!(lm.requests().iter().filter(|request| is_query(request)).count(), 3);
    let shown = history(&lm, "repl_history");
    for expected in [
        "RuntimeError: 1 prompts were sent and 3 more are too many: at most 3 are allowed.",
        "RuntimeError: 3 prompts were sent and 1 more are too many: at most 3 are allowed.",
        "RuntimeError: llm_query() takes one prompt, a text that is not empty",
        "RuntimeError: llm_query_batched() takes one list of texts",
    ] {
        assert!(shown.contains(expected), "{expected}\n---\n{shown}");
    }
}

#[tokio::test]
async fn a_prompt_without_an_answer_is_an_exception_and_an_outage_ends_the_run() {
    let lm = programs(&[
        "try:\n    llm_query('refused')\nexcept RuntimeError as error:\n    print(error)",
        "print(llm_query_batched(['refused', 'two', 'lost']))",
        "llm_query('lost')",
        "SUBMIT('never')",
    ]);
    let (env, ctx) = (Env::new(), ctx(&lm));
    let rlm = env.module("rlm", QUESTION, "{}");
    let error =
        rlm.forward(&ctx, fields(r#"{"document": "", "question": "?"}"#)).await.unwrap_err();
    assert_eq!((error.kind, error.predictor.as_deref()), (PredictErrorKind::Lm, Some("llm_query")));
    let shown = history(&lm, "repl_history");
    assert!(shown.contains("output: not this\n"), "{shown}");
    let expected = "['[ERROR] not this', '3 characters', '[ERROR] no such model']";
    assert!(shown.contains(expected), "{shown}");
    let spans = ctx.trace().take();
    let last = spans.iter().rev().find(|span| span.kind == SpanKind::Tool).unwrap();
    assert_eq!((last.status, last.error_kind), (SpanStatus::Failed, Some("lm_error")));
}

#[tokio::test]
async fn at_the_limit_of_programs_the_outputs_are_extracted() {
    let lm = programs(&["found = 7\nprint('it is', found)", "1 / 0"]);
    let (env, ctx) = (Env::new(), ctx(&lm));
    let config = r#"{"max_iters": 2, "with_trajectory": true}"#;
    let rlm = env.module("rlm", QUESTION, config);
    let outputs = rlm.forward(&ctx, fields(r#"{"document": "", "question": "?"}"#)).await.unwrap();
    assert_eq!(outputs["answer"], Payload::from("extracted"));
    let trajectory = outputs["trajectory"].as_str().unwrap();
    assert!(trajectory.ends_with("ZeroDivisionError: division by zero"), "{trajectory}");
    assert_eq!(history(&lm, "repl_history"), trajectory);
    let spans = ctx.trace().take();
    assert_eq!(lines(&spans).last().unwrap(), "Predictor extract Succeeded ");
}

#[tokio::test]
async fn a_program_that_takes_too_much_is_stopped_and_the_next_one_runs() {
    let limits = SandboxLimits { time: Duration::from_secs(1), ..SandboxLimits::default() };
    let lm = programs(&[
        "found = 1\nwhile True: pass",
        "print(found)",
        "x = []\nwhile True:\n    x.append('a' * 10 ** 7 + str(len(x)))",
        "print(found)",
        "SUBMIT(document)",
    ]);
    let (env, ctx) = (Env::within(limits), ctx(&lm));
    let rlm = env.module("rlm", QUESTION, "{}");
    let outputs = rlm.forward(&ctx, fields(r#"{"document": "still here", "question": "?"}"#)).await;
    assert_eq!(json_of(outputs), r#"{"answer":"still here"}"#);
    let shown = history(&lm, "repl_history");
    assert!(shown.contains("the program was stopped after 1 s, its time limit"), "{shown}");
    assert!(shown.contains("code: print(found)\noutput: 1\n"), "{shown}");
    let lost = "The variables of the programs so far are lost; the inputs are there.";
    assert!(shown.contains(lost) && shown.contains("NameError: name 'found'"), "{shown}");
}

#[tokio::test]
async fn another_model_answers_the_prompts_of_programs() {
    let small: Arc<dyn Lm> = Arc::new(
        ScriptedLm::always(sections(&[("response", "from the small one")])).named("small"),
    );
    let lm = programs(&["SUBMIT(llm_query('one'))"]);
    let models = [Model::of("default", lm.clone()), Model::of("small", small)];
    let models = Models::new(models, Some("default".into()));
    let ctx = Ctx::within(models.into(), Duration::from_secs(600));
    let env = Env::new();
    let rlm = env.module("rlm", QUESTION, r#"{"sub_lm": "small"}"#);
    let outputs = rlm.forward(&ctx, fields(r#"{"document": "", "question": "?"}"#)).await;
    assert_eq!(json_of(outputs), r#"{"answer":"from the small one"}"#);
    assert_eq!(lm.requests().len(), 1);
}

#[tokio::test]
async fn a_cancelled_run_ends_its_program_and_its_prompts() {
    let lm = programs(&["while True: pass"]);
    let (env, ctx) = (Env::new(), ctx(&lm));
    let rlm = env.module("rlm", QUESTION, "{}");
    let cancelled = ctx.run.cancelled.clone();
    let stop = async {
        let is_running = || ctx.trace().spans().iter().any(|span| span.kind == SpanKind::Tool);
        while !is_running() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancelled.cancel();
    };
    let inputs = fields(r#"{"document": "", "question": "?"}"#);
    let (ran, ()) = tokio::join!(rlm.forward(&ctx, inputs), stop);
    assert_eq!(ran.unwrap_err().kind, PredictErrorKind::Cancelled);
    assert_eq!(lines(&ctx.trace().take())[1], "Tool python Cancelled ");
}

#[tokio::test]
async fn programs_call_tools_as_functions() {
    let lm = programs(&[
        "total = calculator('6 * 7')\nprint(total)",
        "calculator(wrong=1)",
        "SUBMIT(str(calculator(expression=f'{total} + 1')))",
    ]);
    let (env, ctx) = (Env::new(), ctx(&lm));
    let rlm = env.module("rlm", QUESTION, r#"{"tools": ["calculator"]}"#);
    let outputs = rlm.forward(&ctx, fields(r#"{"document": "", "question": "?"}"#)).await;
    assert_eq!(json_of(outputs), r#"{"answer":"43"}"#);
    let system = lm.requests()[0].chat.prefix[0].content.to_string();
    assert!(system.contains("- `calculator(expression)`: "), "{system}");
    let shown = history(&lm, "repl_history");
    assert!(shown.contains("RuntimeError: the arguments do not fit"), "{shown}");
    let spans = lines(&ctx.trace().take());
    assert_eq!(spans.iter().filter(|line| line.ends_with("python")).count(), 3, "{spans:?}");
}

#[tokio::test]
async fn code_act_acts_by_programs_until_it_has_finished() {
    let lm = programs(&[
        "total = calculator('6 * 7')\nprint(total)",
        "print(total + missing) # done",
        "print(total + 1) # done",
    ]);
    let (env, ctx) = (Env::new(), ctx(&lm));
    let config = r#"{"tools": ["calculator"], "with_trajectory": true}"#;
    let act = env.module("code_act", "question -> answer", config);
    let outputs = act.forward(&ctx, fields(r#"{"question": "?"}"#)).await.unwrap();
    assert_eq!(outputs["answer"], Payload::from("extracted"));
    let shown = history(&lm, "trajectory");
    assert_eq!(outputs["trajectory"], Payload::from(shown.as_str()));
    let expected = "\
Step 1
code:
total = calculator('6 * 7')
print(total)
output: 42

Step 2
code: print(total + missing) # done
output:
The program failed:
line 1, in <module>
    print(total + missing) # done
NameError: name 'missing' is not defined

Step 3
code: print(total + 1) # done
output: 43";
    assert_eq!(shown, expected);
    let spans = lines(&ctx.trace().take());
    let expected = [
        "Predictor codeact Succeeded ",
        "Tool python Succeeded ",
        "Tool calculator Succeeded python",
        "Predictor codeact Succeeded ",
        "Tool python Failed ",
        "Predictor codeact Succeeded ",
        "Tool python Succeeded ",
        "Predictor extractor.predict Succeeded ",
    ];
    assert_eq!(spans, expected);
}
