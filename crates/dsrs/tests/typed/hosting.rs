//! Typed modules as graphs: traced, registered as a strategy, and tuned.

use std::sync::Arc;
use std::time::Duration;

use dsrs::facet::Facet;
use dsrs::graph::{
    Edge, GraphState, Program, ProgramGraph, Source, Target, graph_diff, load_module_state,
};
use dsrs::lm::{Lm, Models, ScriptedLm};
use dsrs::module::{named_predictors, named_predictors_mut};
use dsrs::predict::{PredictError, PredictState, RunScope};
use dsrs::strategy::BuildEnv;
use dsrs::value::Payload;
use dsrs::{ChainOfThought, Ctx, Module, Predict, Prediction, Signature};

use crate::story::{fields, json};

struct Env;

impl BuildEnv for Env {
    fn knows_model(&self, _: &str) -> bool {
        true
    }
}

#[derive(Signature)]
struct Retrieve {
    #[input]
    question: String,
    #[output]
    passages: Vec<String>,
    #[output]
    language: String,
}

#[derive(Clone, Debug, Facet)]
struct Source_ {
    title: String,
    page: Option<u16>,
}

#[derive(Signature)]
struct Answer {
    #[input]
    question: String,
    #[input]
    passages: Vec<String>,
    #[output]
    answer: String,
    #[output]
    source: Source_,
}

#[derive(Signature)]
struct Translate {
    #[input]
    text: String,
    #[input]
    language: String,
    #[output]
    translated: String,
}

#[derive(Clone, Debug, Facet)]
struct Reply {
    translated: String,
    source: Source_,
    length: u32,
}

/// Retrieves, answers and translates; the text to translate is computed.
#[derive(Facet, Default)]
struct Rag {
    retrieve: Predict<Retrieve>,
    answer: ChainOfThought<Answer>,
    translate: Predict<Translate>,
}

impl Module for Rag {
    type Input = RetrieveInput;
    type Output = Reply;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: RetrieveInput,
    ) -> Result<Prediction<Reply>, PredictError> {
        let found = self.retrieve.call(ctx, input.clone()).await?;
        let passages = found.passages.clone();
        let answer =
            self.answer.call(ctx, AnswerInput { question: input.question, passages }).await?;
        let text = format!("In short: {}", answer.answer);
        let language = found.language.clone();
        let done = self.translate.call(ctx, TranslateInput { text, language }).await?;
        Ok(done.map(|done| {
            let length = u32::try_from(done.translated.len()).unwrap_or(u32::MAX);
            Reply { translated: done.translated, source: answer.source.clone(), length }
        }))
    }
}

dsrs::register_module!(Rag as "rag", "Retrieves, answers and translates.");

fn questions() -> Vec<RetrieveInput> {
    ["Where is Paris?", "Who was Ada?"].map(|text| RetrieveInput { question: text.into() }).into()
}

fn shown(graph: &ProgramGraph) -> String {
    let nothing = ProgramGraph::new(graph.name(), Arc::default()).unwrap();
    let lines = graph_diff(&nothing, graph).text;
    lines.lines().filter(|line| !line.starts_with("+ type")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn tracing_a_module_finds_edges_and_leaves_computed_inputs_open() {
    let projection =
        ProgramGraph::from_module("rag", &mut Rag::default(), &questions()).await.unwrap();
    let nodes: Vec<_> =
        projection.nodes.iter().map(|(node, path)| format!("{node} = {path}")).collect();
    assert_eq!(
        nodes,
        ["retrieve = retrieve", "answer_predict = answer.predict", "translate = translate"]
    );
    assert_eq!(
        shown(&projection.graph),
        "+ node retrieve: predict\n+ node answer_predict: predict\n+ node translate: predict\n\
         + input question: str\n\
         + edge input.question -> retrieve.question\n\
         + edge input.question -> answer_predict.question\n\
         + edge retrieve.passages -> answer_predict.passages\n\
         + edge retrieve.language -> translate.language\n\
         + output translated: translate.translated\n\
         + output source: answer_predict.source"
    );
    let computed = "it is computed: no earlier output or input had its value";
    let open: Vec<_> =
        projection.open.iter().map(|open| format!("{}: {}", open.place, open.reason)).collect();
    assert_eq!(open, [format!("translate.text: {computed}"), format!("output.length: {computed}")]);
    assert!(projection.graph.compile().is_err());
}

#[tokio::test]
async fn a_derived_program_and_its_document_read_back_are_one_program() {
    let mut module = Predict::<Retrieve>::new();
    let projection = ProgramGraph::from_module("find", &mut module, &questions()).await.unwrap();
    let derived = projection.graph.compile().unwrap();
    let document = json(derived.canonical_text());
    let again = Program::from_document(&document, &Env).unwrap();
    assert_eq!(again.canonical_text(), derived.canonical_text());
    assert_eq!(again.content_hash(), derived.content_hash());
    assert_eq!(graph_diff(derived.graph(), again.graph()).text, "");
}

#[derive(Signature)]
struct Pair {
    #[input]
    first: String,
    #[input]
    second: String,
    #[output]
    flag: bool,
}

#[derive(Signature)]
struct Judge {
    #[input]
    one: String,
    #[input]
    flag: bool,
    #[output]
    verdict: String,
}

#[derive(Facet, Default)]
struct Unclear {
    pair: Predict<Pair>,
    check: Predict<Pair>,
    judge: Predict<Judge>,
    twice: Predict<Judge>,
}

impl Module for Unclear {
    type Input = PairInput;
    type Output = JudgeOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: PairInput,
    ) -> Result<Prediction<JudgeOutput>, PredictError> {
        let pair = self.pair.call(ctx, input.clone()).await?;
        self.check.call(ctx, input.clone()).await?;
        let judged = JudgeInput { one: input.first.clone(), flag: pair.flag };
        self.twice.call(ctx, judged.clone()).await?;
        self.twice.call(ctx, judged.clone()).await?;
        self.judge.call(ctx, judged).await
    }
}

#[tokio::test]
async fn ambiguous_inputs_are_left_open() {
    let examples = [("a", "a"), ("b", "b")]
        .map(|(first, second)| PairInput { first: first.into(), second: second.into() });
    let projection =
        ProgramGraph::from_module("unclear", &mut Unclear::default(), &examples).await.unwrap();
    let open: Vec<_> =
        projection.open.iter().map(|open| format!("{}: {}", open.place, open.reason)).collect();
    let any = "it may come from any of `input.first`, `input.second`: they had the same value";
    let often = "its predictor was not called exactly once in every run";
    assert_eq!(
        open,
        [
            format!("pair.first: {any}"),
            format!("pair.second: {any}"),
            format!("check.first: {any}"),
            format!("check.second: {any}"),
            format!("judge.one: {any}"),
            "judge.flag: it may come from any of `check.flag`, `pair.flag`: they had the same value".to_owned(),
            format!("twice.one: {often}"),
            format!("twice.flag: {often}"),
        ]
    );
}

/// Passes a constant where an earlier output has the same type, and one of two values.
#[derive(Facet, Default)]
struct Constant {
    pair: Predict<Pair>,
    constant: Predict<Judge>,
    handed: Predict<Judge>,
}

impl Module for Constant {
    type Input = PairInput;
    type Output = JudgeOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: PairInput,
    ) -> Result<Prediction<JudgeOutput>, PredictError> {
        let flag = self.pair.call(ctx, input.clone()).await?.flag;
        self.constant.call(ctx, JudgeInput { one: input.first.clone(), flag: true }).await?;
        self.handed.call(ctx, JudgeInput { one: input.first, flag }).await
    }
}

#[tokio::test]
async fn a_constant_is_not_mistaken_for_an_output() {
    let example = |name: &str| PairInput { first: name.into(), second: format!("{name}!") };
    let opened = async |examples: &[PairInput]| {
        let made = ProgramGraph::from_module("g", &mut Constant::default(), examples).await;
        let open = made.unwrap().open.into_iter();
        open.map(|open| format!("{}: {}", open.place, open.reason)).collect::<Vec<_>>()
    };
    let either = "it may come from `pair.flag` or be a constant: it had one of few values, the same \
                  in every run; give more examples";
    assert_eq!(
        opened(&[example("a")]).await,
        [format!("constant.flag: {either}"), format!("handed.flag: {either}")]
    );
    assert_eq!(
        opened(&[example("a"), example("b")]).await,
        ["constant.flag: it is computed: no earlier output or input had its value"]
    );
}

#[test]
fn invisible_edges_can_be_declared() {
    let edge = |from: (&str, &str), to: (&str, &str)| Edge {
        from: Source::field_of(from.0, from.1),
        to: Target { node: to.0.into(), field: to.1.into() },
    };
    let edges = [
        edge(("input", "question"), ("retrieve", "question")),
        edge(("input", "question"), ("answer_predict", "question")),
        edge(("retrieve", "passages"), ("answer_predict", "passages")),
        edge(("answer_predict", "answer"), ("translate", "text")),
        edge(("retrieve", "language"), ("translate", "language")),
    ];
    let outputs = [("translated".into(), Source::field_of("translate", "translated"))];
    let mut module = Rag::default();
    let projection = ProgramGraph::from_module_with("rag", &mut module, edges, outputs).unwrap();
    let program = projection.graph.compile().unwrap();
    let paths: Vec<_> = program.predictors().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["retrieve", "answer_predict", "translate"]);

    let tuned = |node: &str, text: &str| {
        let state = PredictState { instruction: Some(text.into()), ..PredictState::default() };
        (Arc::<str>::from(node), state)
    };
    let state = GraphState(
        [tuned("answer_predict", "Be brief."), tuned("translate", "Well.")].into_iter().collect(),
    );
    load_module_state(&state, &projection.nodes, &mut module).unwrap();
    assert_eq!(module.answer.predict.dump_state().instruction.as_deref(), Some("Be brief."));
    assert_eq!(module.retrieve.dump_state(), PredictState::default());

    let stray =
        GraphState([tuned("answer_predict", "Other."), tuned("nobody", "x")].into_iter().collect());
    let refused =
        load_module_state(&stray, &projection.nodes, &mut module).unwrap_err().to_string();
    assert_eq!(refused, "/nobody: `nobody` has no predictor of the module (unknown_node)");
    assert_eq!(module.answer.predict.dump_state().instruction.as_deref(), Some("Be brief."));
}

fn run_on(lm: Arc<dyn Lm>) -> Arc<RunScope> {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(600);
    Arc::new(RunScope::new(Models::only(lm).into(), deadline))
}

#[tokio::test]
async fn a_registered_module_is_a_strategy_with_its_own_signature() {
    let graph = json(
        r#"{"name": "hosted", "nodes": {"rag": {"strategy": "rag"},
                                        "title": {"strategy": "predict", "signature": "source: Source_ -> title"}},
            "types": {"Source_": {"class": {"title": "str", "page": "int?"}}},
            "edges": [{"from": "rag.source", "to": "title.source"}]}"#,
    );
    let program =
        Program::from_document(&graph, &Env).unwrap_or_else(|problems| panic!("{problems}"));
    let paths: Vec<_> = program.predictors().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["rag.retrieve", "rag.answer.predict", "rag.translate", "title"]);
    let again = Program::from_document(&json(program.canonical_text()), &Env)
        .unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(again.canonical_text(), program.canonical_text());

    let lm = Arc::new(ScriptedLm::answering([
        "[[ ## passages ## ]]\n[\"p\"]\n\n[[ ## language ## ]]\nfr",
        "[[ ## reasoning ## ]]\nso\n\n[[ ## answer ## ]]\n42\n\n[[ ## source ## ]]\n{\"title\": \"Guide\", \"page\": 7}",
        "[[ ## translated ## ]]\nquarante-deux",
        "[[ ## title ## ]]\nThe Guide",
    ]));
    let inputs = fields(r#"{"question": "?"}"#);
    let outcome = program.execute(&run_on(lm.clone()), inputs).await;
    let outputs = outcome.outputs.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(Payload::map(outputs).to_json(), r#"{"title":"The Guide"}"#);
}

#[test]
fn the_signature_of_a_registered_module_must_match() {
    let graph = json(
        r#"{"name": "g", "nodes": {"rag": {"strategy": "rag", "signature": "question -> answer"}}}"#,
    );
    let problems = Program::from_document(&graph, &Env).err().unwrap();
    assert_eq!(
        problems.to_string(),
        "/nodes/rag/signature: this strategy has its own signature, and this one differs; omit it (invalid_signature)"
    );
    let graph = json(r#"{"name": "g", "nodes": {"a": {"strategy": "predict"}}}"#);
    let problems = Program::from_document(&graph, &Env).err().unwrap();
    assert_eq!(problems.to_string(), "/nodes/a/signature: `signature` is missing (missing_field)");
}

#[test]
fn ten_thousand_nested_predictors_are_found_and_changed() {
    #[derive(Facet, Default)]
    struct Shelf {
        rows: Vec<Vec<Option<Box<Predict<Judge>>>>>,
    }
    let row = || (0..100).map(|_| Some(Box::default())).collect();
    let mut shelf = Shelf { rows: (0..100).map(|_| row()).collect() };
    assert_eq!(named_predictors(&shelf).unwrap().len(), 10_000);
    let found = named_predictors_mut(&mut shelf).unwrap();
    assert_eq!(found[9_999].0, "rows[99][99]");
}
