//! Whole modules: clones, states, files, DSPy's files, batches.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dsrs::facet::Facet;
use dsrs::graph::{load_dspy, module_to_dspy};
use dsrs::lm::{LmErrorKind, Models, ScriptedAnswer, ScriptedLm};
use dsrs::module::{ModuleState, named_predictors};
use dsrs::predict::{Demo, LmOverrides, PredictError, PredictState};
use dsrs::sandbox::{Sandbox, SandboxError, SandboxOutput};
use dsrs::value::{Fields, Payload};
use dsrs::{
    BestOfN, ChainOfThought, Ctx, Module, MultiChainComparison, Predict, Prediction,
    ProgramOfThought, ReAct, Refine, Signature, load_json, save_json,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// Answer.
#[derive(Signature)]
struct QA {
    #[input]
    question: String,
    #[output]
    answer: String,
}

#[derive(Clone, Module)]
struct Nested {
    first: Predict<QA>,
    items: Vec<Predict<QA>>,
    weights: HashMap<String, Predict<QA>>,
}

impl Nested {
    fn new() -> Self {
        let weights = [("a", Predict::new()), ("b", Predict::new())];
        Self {
            first: Predict::new(),
            items: vec![Predict::new(), Predict::new()],
            weights: weights.map(|(name, found)| (name.to_owned(), found)).into(),
        }
    }
}

impl Module for Nested {
    type Input = QAInput;
    type Output = QAOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: QAInput,
    ) -> Result<Prediction<QAOutput>, PredictError> {
        self.first.call(ctx, input).await
    }
}

fn input(question: &str) -> QAInput {
    QAInput { question: question.into() }
}

fn ctx(lm: ScriptedLm) -> Ctx {
    Ctx::within(Models::only(Arc::new(lm)).into(), Duration::from_secs(600))
}

fn fields(text: &str) -> Fields {
    Payload::from_json(text).unwrap().as_map().unwrap().clone()
}

/// A state with everything that an optimizer sets.
fn tuned(instruction: &str) -> PredictState {
    let lm = LmOverrides { model: Some("default".into()), ..LmOverrides::default() };
    let demo =
        Demo { input: fields(r#"{"question": "2 + 2?"}"#), output: fields(r#"{"answer": "4"}"#) };
    let instruction = Some(instruction.into());
    PredictState { instruction, demos: vec![demo], lm, ..PredictState::default() }
}

fn prompts<M: Facet<'static>>(module: &M) -> Vec<String> {
    let found = named_predictors(module).unwrap().into_iter();
    let rendered = found.map(|(path, found)| {
        format!("{path}: {:?}", found.render(&fields(r#"{"question": "3 + 3?"}"#)))
    });
    rendered.collect()
}

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("dsrs-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

struct NoSandbox;

impl Sandbox for NoSandbox {
    fn run<'a>(
        &'a self,
        _: &'a str,
        _: &'a Fields,
    ) -> BoxFuture<'a, Result<SandboxOutput, SandboxError>> {
        async { Ok(SandboxOutput { printed: "".into(), value: Payload::Int(6) }) }.boxed()
    }
}

/// Changes a clone, and returns whether the original stayed as it was and the clone did not.
fn clone_is_independent<M: Module + Facet<'static> + Clone>(module: &M) -> bool {
    let before = module.state().unwrap();
    let mut changed = module.clone();
    let mut state = before.clone();
    for (_, state) in &mut state.0 {
        state.instruction = Some("Be brief.".into());
    }
    changed.load_state(state.clone()).unwrap();
    module.state().unwrap() == before && changed.state().unwrap() == state && state != before
}

#[test]
fn a_clone_of_any_strategy_has_a_state_of_its_own() {
    let reward = |_: &QAInput, _: &QAOutput| 1.0;
    let sandbox = Arc::new(NoSandbox);
    let agent = ReAct::<QA>::builder().build().unwrap();
    let cases = [
        ("Predict", clone_is_independent(&Predict::<QA>::new())),
        ("ChainOfThought", clone_is_independent(&ChainOfThought::<QA>::new())),
        ("BestOfN", clone_is_independent(&BestOfN::new(Predict::<QA>::new(), 2, 1.0, reward))),
        ("Refine", {
            clone_is_independent(&Refine::new(Predict::<QA>::new(), 2, 1.0, reward).unwrap())
        }),
        ("MultiChainComparison", clone_is_independent(&MultiChainComparison::<QA>::new(2))),
        ("ProgramOfThought", {
            clone_is_independent(&ProgramOfThought::<QA>::new(sandbox).unwrap())
        }),
        ("ReAct", clone_is_independent(&agent)),
        ("a module", clone_is_independent(&Nested::new())),
    ];
    for (name, holds) in cases {
        assert!(holds, "{name}");
    }
}

#[tokio::test]
async fn a_clone_answers_like_the_original() {
    let mut qa = ChainOfThought::<QA>::new();
    qa.predict
        .load_state(PredictState {
            instruction: Some("Be brief.".into()),
            ..PredictState::default()
        })
        .unwrap();
    let lm = ScriptedLm::by(|request| {
        let said: String = request.chat.messages().map(|message| &*message.content).collect();
        format!("[[ ## reasoning ## ]]\n-\n[[ ## answer ## ]]\n{}", said.contains("Be brief."))
    });
    let found = qa.clone().call(&ctx(lm), input("2 + 2?")).await.unwrap();
    assert_eq!(found.answer, "true");
}

#[test]
fn a_state_goes_through_a_file_into_an_equal_module() {
    let folder = Folder::new("states");
    let path = folder.0.join("nested.json");
    let mut nested = Nested::new();
    let mut state = nested.state().unwrap();
    let paths: Vec<_> = state.0.keys().map(ToString::to_string).collect();
    assert_eq!(paths, ["first", "items[0]", "items[1]", "weights['a']", "weights['b']"]);
    for (path, found) in &mut state.0 {
        *found = tuned(path);
    }
    nested.load_state(state.clone()).unwrap();
    save_json(&path, &nested.state().unwrap()).unwrap();
    let loaded: ModuleState = load_json(&path).unwrap();
    assert_eq!(loaded, state);
    let mut other = Nested::new();
    other.load_state(loaded).unwrap();
    assert_eq!(prompts(&other), prompts(&nested));
    let one: PredictState =
        serde_json::from_str(&serde_json::to_string(&tuned("x")).unwrap()).unwrap();
    assert_eq!(one, tuned("x"));
}

#[test]
fn a_state_loads_completely_or_not_at_all_with_every_problem_at_its_path() {
    let mut nested = Nested::new();
    let bad = |answer: &str| {
        let output = fields(&format!(r#"{{"answer": {answer}}}"#));
        let demo = Demo { input: fields(r#"{"question": "?"}"#), output };
        PredictState { demos: vec![demo], ..tuned("new") }
    };
    let state = [("first", tuned("new")), ("items[1]", bad("1")), ("weights['b']", bad("[]"))];
    let state = state.into_iter().chain([("frist", tuned("new"))]);
    let state = ModuleState(state.map(|(path, state)| (path.into(), state)).collect());
    let before = nested.state().unwrap();
    let problems = nested.load_state(state).unwrap_err();
    let mut pointers: Vec<_> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
    pointers.sort_unstable();
    pointers.dedup();
    assert_eq!(
        pointers,
        ["/frist", "/items[1]/demos/0/output/answer", "/weights['b']/demos/0/output/answer"]
    );
    assert!(problems.to_string().contains("did you mean `first`?"), "{problems}");
    assert_eq!(nested.state().unwrap(), before);
}

#[test]
fn a_predictor_alone_takes_its_own_state_and_that_of_a_module() {
    let mut qa = Predict::<QA>::new();
    qa.load_state(tuned("one")).unwrap();
    let state = qa.state().unwrap();
    let mut other = Predict::<QA>::new();
    other.load_state(state).unwrap();
    assert_eq!(other.dump_state(), tuned("one"));
    let demos = vec![Demo::default()];
    let problems = other.load_state(PredictState { demos, ..tuned("two") }).unwrap_err();
    let pointer = &problems.iter().next().unwrap().pointer;
    assert!(pointer.starts_with("/demos/0"), "{pointer}");
}

#[test]
fn a_file_of_another_shape_is_refused_with_every_problem() {
    let folder = Folder::new("shapes");
    let path = folder.0.join("state.json");
    save_json(&path, &serde_json::json!({"first": {"instruction": 1, "demo": []}})).unwrap();
    let error = load_json::<ModuleState>(&path).unwrap_err().to_string();
    for part in ["state.json", "/first/instruction", "/first/demo"] {
        assert!(error.contains(part), "{error}");
    }
    assert!(
        load_json::<ModuleState>(folder.0.join("none.json"))
            .unwrap_err()
            .to_string()
            .contains("none.json")
    );
    std::fs::write(&path, r#"{"first": {}, "first": {}}"#).unwrap();
    let error = load_json::<ModuleState>(&path).unwrap_err().to_string();
    assert!(error.contains("`first` appears twice"), "{error}");
}

#[test]
fn a_file_is_replaced_as_a_whole_or_not_at_all() {
    struct Broken;
    impl serde::Serialize for Broken {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no form"))
        }
    }
    let folder = Folder::new("files");
    let path = folder.0.join("state.json");
    save_json(&path, &[1]).unwrap();
    assert!(save_json(&path, &Broken).unwrap_err().to_string().contains("no form"));
    assert_eq!(load_json::<Vec<u8>>(&path).unwrap(), [1]);
    // A directory in its place cannot be replaced.
    std::fs::create_dir(folder.0.join("folder")).unwrap();
    assert!(save_json(folder.0.join("folder"), &[1]).is_err());
    std::thread::scope(|scope| {
        for number in 0..8_u64 {
            let path = &path;
            scope.spawn(move || save_json(path, &vec![number; 10_000]).unwrap());
        }
        for _ in 0..50 {
            let found: Vec<u64> = load_json(&path).unwrap();
            assert!(found == [1] || found == vec![found[0]; 10_000]);
        }
    });
    let left = std::fs::read_dir(&folder.0).unwrap().count();
    assert_eq!(left, 2, "temporary files remain");
}

#[test]
fn a_file_of_dspy_is_written_and_read_back() {
    let mut nested = Nested::new();
    let paths = nested.state().unwrap().0.into_keys();
    let plain = |path: &Arc<str>| PredictState { lm: LmOverrides::default(), ..tuned(path) };
    let state = ModuleState(paths.map(|path| (path.clone(), plain(&path))).collect());
    nested.load_state(state.clone()).unwrap();
    let file = module_to_dspy(&nested).unwrap();
    let members: Vec<_> = file.as_map().unwrap().keys().map(AsRef::as_ref).collect();
    assert_eq!(
        members,
        ["first", "items[0]", "items[1]", "weights['a']", "weights['b']", "metadata"]
    );
    let mut other = Nested::new();
    assert_eq!(load_dspy(&mut other, &file).unwrap(), ["/metadata"]);
    assert_eq!(other.state().unwrap(), state);
    assert_eq!(module_to_dspy(&other).unwrap(), file);
}

#[test]
fn a_lone_predictor_is_a_lone_predict_of_dspy() {
    let mut qa = Predict::<QA>::new();
    qa.load_state(PredictState { lm: LmOverrides::default(), ..tuned("Be brief.") }).unwrap();
    let file = module_to_dspy(&qa).unwrap();
    let members: Vec<_> = file.as_map().unwrap().keys().map(AsRef::as_ref).collect();
    assert_eq!(members, ["traces", "train", "demos", "signature", "lm", "metadata"]);
    let mut other = Predict::<QA>::new();
    load_dspy(&mut other, &file).unwrap();
    assert_eq!(other.dump_state(), qa.dump_state());
    let problems = load_dspy(&mut Nested::new(), &file).unwrap_err();
    assert!(problems.to_string().contains("first, items[0]"), "{problems}");
}

#[test]
fn a_file_of_dspy_that_does_not_fit_changes_nothing() {
    let mut nested = Nested::new();
    let file = Payload::from_json(
        r#"{"first": {"signature": {"instructions": "New."}}, "second": {"signature": {}}}"#,
    );
    let problems = load_dspy(&mut nested, &file.unwrap()).unwrap_err();
    assert!(problems.to_string().contains("there is no predictor `second`"), "{problems}");
    assert_eq!(nested.state().unwrap(), Nested::new().state().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_batch_answers_in_order_with_failures_in_their_places() {
    // The first ones take longest.
    let lm = ScriptedLm::by(|request| {
        let asked = request.chat.messages().last().unwrap().content.to_string();
        let number = asked.chars().find(char::is_ascii_digit).unwrap();
        let answer = match number {
            '2' => ScriptedAnswer::fail(LmErrorKind::Refused, "refused"),
            number => format!("[[ ## answer ## ]]\n{number}").into(),
        };
        let delay = 9 - u64::from(number.to_digit(10).unwrap());
        answer.after(Duration::from_secs(delay))
    });
    let began = tokio::time::Instant::now();
    let questions = (0..6).map(|number| input(&format!("{number}")));
    let results = Predict::<QA>::new().batch(&ctx(lm), questions, 3).await;
    let answers: Vec<_> =
        results.iter().map(|result| result.as_ref().map(|found| &*found.answer).ok()).collect();
    assert_eq!(answers, [Some("0"), Some("1"), None, Some("3"), Some("4"), Some("5")]);
    assert_eq!(results[0].as_ref().unwrap().usage().lm_calls, 1);
    // Three at a time: 9 s, 8 + 5 s, 7 + 6 s; a slow one does not hold up those after it.
    assert_eq!(began.elapsed().as_secs(), 13);
}
