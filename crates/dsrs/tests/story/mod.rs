//! What the tests of prompts and calls share: signatures and values from JSON text.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{Lm, LmParams, Model, Models};
use dsrs::predict::{Ctx, DynPredictor, LmOverrides, NodeScope, RunScope, SchemaPredictor};
use dsrs::predict::{PredictState, read_state};
use dsrs::problem::{At, Problems};
use dsrs::signature::{SignatureSchema, read_signature};
use dsrs::types::{Type, TypeScope};
use dsrs::value::{Fields, Payload};
use tokio::time::Instant;

pub(crate) fn json(text: &str) -> Payload {
    Payload::from_json(text).unwrap()
}

pub(crate) fn fields(text: &str) -> Fields {
    json(text).as_map().unwrap().clone()
}

/// A signature in any spelling (as JSON text), over `types` (as JSON text).
pub(crate) fn signature(types: &str, signature: &str) -> Arc<SignatureSchema> {
    let mut problems = Problems::new();
    let mut scope = TypeScope::read(&json(types), &At::Root, &mut problems);
    let draft = read_signature(&json(signature), &mut scope, &At::Root, &mut problems);
    assert!(problems.is_empty(), "{problems}");
    Arc::new(draft.unwrap().finish(scope.finish()))
}

/// A type in its expression, over `types` (as JSON text).
pub(crate) fn type_of(types: &str, ty: &str) -> Type {
    let mut problems = Problems::new();
    let mut scope = TypeScope::read(&json(types), &At::Root, &mut problems);
    let ir = scope.read_type(&Payload::str(ty), &At::Root, &mut problems);
    assert!(problems.is_empty(), "{problems}");
    Type::new(ir.unwrap(), scope.finish())
}

pub(crate) fn predictor(schema: &Arc<SignatureSchema>, state: &str) -> SchemaPredictor {
    let mut predictor = SchemaPredictor::new(schema.clone(), "predictor");
    predictor.load_state(self::state(state), &At::Root).unwrap();
    predictor
}

pub(crate) fn state(text: &str) -> PredictState {
    let mut problems = Problems::new();
    let state = read_state(&json(text), &At::Root, &mut problems);
    assert!(problems.is_empty(), "{problems}");
    state.unwrap()
}

/// A run over one model, within ten minutes.
pub(crate) fn ctx(lm: &Arc<impl Lm + 'static>) -> Ctx {
    let lm: Arc<dyn Lm> = lm.clone();
    let prices = Some(dsrs::lm::Prices::of(1.0, 2.0));
    let params = LmParams { temperature: Some(0.9), max_tokens: Some(50), ..LmParams::default() };
    let model = Model { model: "tiny-1".into(), params, prices, ..Model::of("fast", lm) };
    over(Models::new([model], Some("fast".into())))
}

pub(crate) fn over(models: Models) -> Ctx {
    let deadline = Instant::now() + Duration::from_secs(600);
    let node = NodeScope {
        node: "triage".into(),
        lm: LmOverrides::default(),
        retries: 2,
        parse_retries: 1,
        deadline,
    };
    let run = Arc::new(RunScope::new(Arc::new(models), deadline));
    Ctx::of(run, node.into(), None)
}
