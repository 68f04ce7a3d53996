//! Helpers of the tests of strategies: modules, programs and runs from JSON text.

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::{Outcome, Program};
use dsrs::lm::{Lm, LmRequest, Models, ScriptedLm};
use dsrs::predict::{Ctx, Demo, PredictState, RunScope, Span, SpanKind};
use dsrs::problem::{At, Problems};
use dsrs::signature::{FieldSchema, SignatureSchema, read_signature};
use dsrs::strategy::{BuildEnv, DynModule, registry};
use dsrs::types::{TypeIR, TypeScope};
use dsrs::value::{Fields, Payload};
use tokio::time::Instant;

/// A server with one model and without stored graphs.
pub(crate) struct Env;

impl BuildEnv for Env {
    fn knows_model(&self, alias: &str) -> bool {
        alias == "default"
    }
}

pub(crate) fn json(text: &str) -> Payload {
    Payload::from_json(text).expect("the test's text is JSON")
}

pub(crate) fn fields(text: &str) -> Fields {
    json(text).as_map().expect("the test's text is an object").clone()
}

/// A signature in the text spelling.
pub(crate) fn signature(text: &str) -> Arc<SignatureSchema> {
    let (mut problems, mut scope) = (Problems::new(), TypeScope::new());
    let draft = read_signature(&text.into(), &mut scope, &At::Root, &mut problems);
    assert!(problems.is_empty(), "{problems}");
    Arc::new(draft.unwrap().finish(scope.finish()))
}

/// A module of the registry, in an environment of the test's own.
pub(crate) fn create_in(
    env: &dyn BuildEnv,
    strategy: &str,
    base: &str,
    config: &str,
) -> Result<Box<dyn DynModule>, Problems> {
    registry::create(env, strategy, &signature(base), Some(&json(config)), &At::Root)
}

/// A module of the registry.
pub(crate) fn module(strategy: &str, base: &str, config: &str) -> Box<dyn DynModule> {
    create_in(&Env, strategy, base, config).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Why a module cannot be made: `pointer code` of each problem.
pub(crate) fn refused(strategy: &str, base: &str, config: &str) -> Vec<String> {
    let problems = create_in(&Env, strategy, base, config).err().expect("it is refused");
    problems.iter().map(|found| format!("{} {}", found.pointer, found.code)).collect()
}

/// The inputs and outputs of a module with their types.
pub(crate) fn signature_text(module: &dyn DynModule) -> String {
    let schema = module.schema();
    let side = |fields: &[FieldSchema]| {
        let fields = fields.iter().map(|field| format!("{}: {}", field.name, field.ty));
        fields.collect::<Vec<_>>().join(", ")
    };
    format!("{} -> {}", side(&schema.inputs), side(&schema.outputs))
}

/// The paths of a module's predictors.
pub(crate) fn paths(module: &dyn DynModule) -> Vec<String> {
    module.predictors().into_iter().map(|(path, _)| path.to_owned()).collect()
}

/// A context over one model, with a minute.
pub(crate) fn ctx(lm: &Arc<ScriptedLm>) -> Ctx {
    let lm: Arc<dyn Lm> = lm.clone();
    Ctx::within(Models::only(lm).into(), Duration::from_secs(600))
}

pub(crate) fn build(document: &str) -> Program {
    Program::from_document(&json(document), &Env).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A run over one scripted model, with ten minutes.
pub(crate) fn run_on(lm: &Arc<ScriptedLm>) -> Arc<RunScope> {
    let lm: Arc<dyn Lm> = lm.clone();
    let models = Arc::new(Models::only(lm));
    Arc::new(RunScope::new(models, Instant::now() + Duration::from_secs(600)))
}

/// Posts a graph and runs it once.
pub(crate) async fn run(document: &str, lm: &Arc<ScriptedLm>, inputs: &str) -> Outcome {
    build(document).execute(&run_on(lm), fields(inputs)).await
}

/// The graph's outputs as JSON.
pub(crate) fn outputs(outcome: &Outcome) -> String {
    let outputs = outcome.outputs.as_ref().unwrap_or_else(|error| panic!("{error}"));
    Payload::map(outputs.clone()).to_json()
}

/// The predictors that were called, in the order in which they started.
pub(crate) fn called(spans: &[Span]) -> Vec<String> {
    let calls = spans.iter().filter(|span| span.kind == SpanKind::Predictor);
    calls.map(|span| span.predictor.as_deref().unwrap_or_default().to_owned()).collect()
}

/// The last user message of this request, without demos.
pub(crate) fn asked(request: &LmRequest) -> String {
    request.chat.turns.iter().map(|turn| turn.content.as_ref()).collect()
}

/// An answer in sections.
pub(crate) fn answer(fields: &[(&str, &str)]) -> String {
    let sections = fields.iter().map(|(name, text)| format!("[[ ## {name} ## ]]\n{text}\n\n"));
    sections.chain(["[[ ## completed ## ]]".to_owned()]).collect()
}

/// Sets a demo on each predictor of a module and sees it in what that predictor would send.
pub(crate) fn assert_demos_are_seen(module: &mut dyn DynModule) {
    let mut count = 0;
    for (path, predictor) in module.predictors_mut() {
        let schema = predictor.schema().clone();
        let mark = format!("shown to {path}");
        let side = |fields: &[FieldSchema]| -> Fields {
            let sampled = fields.iter().map(|field| (field.name.clone(), sample(field, &mark)));
            sampled.collect()
        };
        let demo = Demo { input: side(&schema.inputs), output: side(&schema.outputs) };
        let state = PredictState { demos: vec![demo], ..PredictState::default() };
        predictor.load_state(state, &At::Root).unwrap_or_else(|problems| panic!("{problems}"));
        let sent = predictor.render(&side(&schema.inputs));
        let shown = sent.iter().rev().skip(1).any(|message| message.content.contains(&mark));
        assert!(shown, "{path}: {sent:?}");
        count += 1;
    }
    assert!(count > 0, "there are no predictors");
}

/// A value of a field's type that shows the mark wherever there is room for a text.
fn sample(field: &FieldSchema, mark: &str) -> Payload {
    fn of(ty: &TypeIR, mark: &str) -> Payload {
        match ty {
            TypeIR::Int => Payload::Int(7),
            TypeIR::Float => Payload::Float(0.5),
            TypeIR::Bool => Payload::Bool(true),
            TypeIR::List(element) => Payload::list(vec![of(element, mark)]),
            TypeIR::Dict(value) => {
                Payload::map(std::iter::once(("key".into(), of(value, mark))).collect())
            }
            TypeIR::Union(members) => members.first().map_or(Payload::Null, |ty| of(ty, mark)),
            TypeIR::Class(class) => {
                let members = class.fields.iter();
                members
                    .map(|(name, field)| (name.clone(), of(&field.ty, mark)))
                    .collect::<Fields>()
                    .into()
            }
            _ => Payload::str(mark),
        }
    }
    of(&field.ty, mark)
}
