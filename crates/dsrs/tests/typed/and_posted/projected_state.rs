//! What a projected graph has of its module: the state beside it, and tools only in the refusal.

use std::sync::Arc;

use dsrs::facet::Facet;
use dsrs::graph::{ProgramGraph, ProjectError, load_module_state};
use dsrs::lm::Vectors;
use dsrs::module::{named_predictors, named_predictors_mut};
use dsrs::predict::{LmOverrides, NearestDemos, PredictError, PredictState};
use dsrs::problem::At;
use dsrs::{ChainOfThought, Ctx, Module, Predict, Prediction, ReAct, Signature};

use super::support::{Env, fields, prompt, state};

#[derive(Signature)]
struct Draft {
    #[input]
    question: String,
    #[output]
    draft: String,
}

#[derive(Signature)]
struct Polish {
    #[input]
    draft: String,
    #[output]
    answer: String,
}

#[derive(Facet, Default)]
struct Writer {
    draft: ChainOfThought<Draft>,
    polish: Predict<Polish>,
}

impl Module for Writer {
    type Input = DraftInput;
    type Output = PolishOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: DraftInput,
    ) -> Result<Prediction<PolishOutput>, PredictError> {
        let draft = self.draft.call(ctx, input).await?.draft.clone();
        self.polish.call(ctx, PolishInput { draft }).await
    }
}

fn questions() -> Vec<DraftInput> {
    ["Why?", "How?"].map(|text| DraftInput { question: text.into() }).into()
}

/// A writer with an instruction, demos without reasoning, another model and chosen demos.
fn tuned_writer() -> Writer {
    let mut writer = Writer::default();
    let drafted = state(
        r#"{"instruction": "Draft it.", "demos": [{"input": {"question": "a"}, "output": {"draft": "b"}}]}"#,
    );
    let lm = LmOverrides { model: Some("large".into()), ..LmOverrides::default() };
    writer.draft.predict.load_state(PredictState { lm, ..drafted }).unwrap();
    let polished = state(r#"{"demos": [{"input": {"draft": "a"}, "output": {"answer": "b"}}]}"#);
    let vectors = Vectors::from_base64("AACAPw==", 1).unwrap();
    let nearest = Some(NearestDemos { model: "vectors".into(), k: 1, vectors });
    writer.polish.load_state(PredictState { nearest, ..polished }).unwrap();
    writer
}

#[tokio::test]
async fn instructions_demos_and_settings_are_the_state_of_the_graph() {
    let mut writer = tuned_writer();
    let before = [writer.draft.predict.dump_state(), writer.polish.dump_state()];
    let made = ProgramGraph::from_module("writer", &mut writer, &questions()).await;
    let projection = made.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(projection.open, []);
    assert_eq!([writer.draft.predict.dump_state(), writer.polish.dump_state()], before);
    let names: Vec<&str> = projection.state.0.keys().map(AsRef::as_ref).collect();
    assert_eq!(names, ["draft_predict", "polish"]);

    let program = projection.graph.compile().unwrap_or_else(|problems| panic!("{problems}"));
    let tuned = program.with_state(&Env, &projection.state, &At::Root);
    let tuned = tuned.unwrap_or_else(|problems| panic!("{problems}"));
    let input = fields(r#"{"question": "Why?", "draft": "Because."}"#);
    let nodes = tuned.predictors();
    let own = named_predictors(&writer).unwrap();
    for ((_, node), (path, own)) in nodes.iter().zip(own) {
        assert_eq!(node.state(), own.state(), "{path}");
        assert_eq!(prompt(*node, &input), prompt(own, &input), "{path}");
    }

    let mut other = Writer::default();
    load_module_state(&projection.state, &projection.nodes, &mut other).unwrap();
    assert_eq!([other.draft.predict.dump_state(), other.polish.dump_state()], before);
}

#[tokio::test]
async fn an_untuned_module_has_no_state() {
    let made = ProgramGraph::from_module("writer", &mut Writer::default(), &questions()).await;
    assert!(made.unwrap().state.0.is_empty());
}

#[tokio::test]
async fn a_run_that_is_given_up_leaves_the_state_in_the_module() {
    #[derive(Facet, Default)]
    struct Waiting {
        polish: Predict<Polish>,
    }
    impl Module for Waiting {
        type Input = PolishInput;
        type Output = PolishOutput;

        async fn forward(
            &self,
            _: &Ctx,
            _: PolishInput,
        ) -> Result<Prediction<PolishOutput>, PredictError> {
            std::future::pending().await
        }
    }
    let mut module = Waiting::default();
    let tuned = state(r#"{"instruction": "Polish it."}"#);
    module.polish.load_state(tuned.clone()).unwrap();
    let examples = [PolishInput { draft: "a".into() }];
    let running = ProgramGraph::from_module("waiting", &mut module, &examples);
    tokio::select! {
        biased;
        _ = running => unreachable!("it waits for ever"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(module.polish.dump_state(), tuned);
}

#[derive(Facet)]
struct City {
    name: String,
}

#[derive(Facet)]
struct Guide {
    agent: ReAct<Draft>,
    polish: Predict<Polish>,
}

impl Module for Guide {
    type Input = DraftInput;
    type Output = PolishOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: DraftInput,
    ) -> Result<Prediction<PolishOutput>, PredictError> {
        let draft = self.agent.call(ctx, input).await?.draft.clone();
        self.polish.call(ctx, PolishInput { draft }).await
    }
}

#[tokio::test]
async fn tools_are_refused_by_name() {
    let find = |city: City| async move { Ok::<_, String>(city.name) };
    let mut guide = Guide {
        agent: ReAct::builder().tool("weather", "", find).build().unwrap(),
        polish: Predict::builder()
            .tool("population", "", find)
            .tool("area", "", find)
            .build()
            .unwrap(),
    };
    let wanted = "the predictor `agent.action` offers the tool `weather`; the predictor `polish` offers the \
                  tools `population`, `area`: a node of a graph cannot call functions of this \
                  program. Host the module with `register_module!`, or give the tools to a `react` \
                  node of the graph";
    let found = ProgramGraph::from_module("guide", &mut guide, &questions()).await.err().unwrap();
    assert!(matches!(found, ProjectError::Tools(_)));
    assert_eq!(found.to_string(), wanted);
    let found = ProgramGraph::from_module_with("guide", &mut guide, [], []).err().unwrap();
    assert_eq!(found.to_string(), wanted);
    let tools: Vec<Arc<str>> = named_predictors_mut(&mut guide)
        .unwrap()
        .iter()
        .flat_map(|(_, predictor)| predictor.tools().to_vec())
        .collect();
    assert_eq!(tools.len(), 3);
}
