//! Which predictors are found in a module, under which paths, and which modules are rejected.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use dsrs::facet::Facet;
use dsrs::module::{named_predictors, named_predictors_mut};
use dsrs::predict::{DynPredictor, PredictAccessorFns, PredictCell, PredictError, PredictState};
use dsrs::problem::At;
use dsrs::strategy::{DynModule, HostedModule};
use dsrs::{Ctx, Module, Predict, Prediction, Signature};

/// Answer.
#[derive(Signature)]
struct Qa {
    #[input]
    question: String,
    #[output]
    answer: String,
}

#[derive(Facet, Default)]
struct Inner {
    predict: Predict<Qa>,
}

#[derive(Facet, Default)]
#[allow(clippy::redundant_allocation, reason = "a box in a box is one of the cases")]
struct Everything {
    first: Predict<Qa>,
    inner: Inner,
    some: Option<Predict<Qa>>,
    none: Option<Predict<Qa>>,
    items: Vec<Inner>,
    pair: [Predict<Qa>; 2],
    weights: HashMap<String, Inner>,
    nested: BTreeMap<String, Vec<Option<Box<Predict<Qa>>>>>,
    boxed: Box<Box<Inner>>,
    label: String,
    numbers: HashMap<u32, Vec<u8>>,
}

fn everything() -> Everything {
    let keys = ["foo", "a'b", "back\\slash", "tab\tx", "Z", "é"];
    let weights = keys.map(|key| (key.to_owned(), Inner::default())).into();
    let nested = [("k2".to_owned(), vec![Some(Box::default()), None]), ("k1".to_owned(), vec![])];
    Everything {
        some: Some(Predict::new()),
        items: vec![Inner::default(), Inner::default()],
        weights,
        nested: nested.into(),
        ..Everything::default()
    }
}

const PATHS: [&str; 15] = [
    "first",
    "inner.predict",
    "some",
    "items[0].predict",
    "items[1].predict",
    "pair[0]",
    "pair[1]",
    "weights['Z'].predict",
    "weights['a\\'b'].predict",
    "weights['back\\\\slash'].predict",
    "weights['foo'].predict",
    "weights['tab\\u{9}x'].predict",
    "weights['é'].predict",
    "nested['k2'][0]",
    "boxed.predict",
];

fn paths<M: Facet<'static>>(module: &M) -> Vec<String> {
    named_predictors(module).unwrap().into_iter().map(|(path, _)| path).collect()
}

fn instruct(predictor: &mut dyn DynPredictor, text: &str) {
    let state = PredictState { instruction: Some(text.into()), ..predictor.state().clone() };
    predictor.load_state(state, &At::Root).unwrap();
}

#[test]
fn every_container_has_its_path() {
    assert_eq!(paths(&everything()), PATHS);
    assert_eq!(paths(&Predict::<Qa>::new()), [""]);
}

#[test]
fn a_hundred_walks_return_the_same_paths() {
    let module = everything();
    let first = paths(&module);
    assert!((0..100).all(|_| paths(&module) == first));
    assert!((0..100).all(|_| paths(&everything()) == first));
}

#[test]
fn a_change_by_path_changes_the_module() {
    let mut module = everything();
    let mut handles = named_predictors_mut(&mut module).unwrap();
    for (path, predictor) in &mut handles {
        instruct(*predictor, &format!("first {path}"));
    }
    for (path, predictor) in handles.iter_mut().rev() {
        assert_eq!(predictor.instruction(), format!("first {path}"));
        instruct(*predictor, &format!("then {path}"));
    }
    assert_eq!(module.first.instruction(), "then first");
    assert_eq!(module.weights["foo"].predict.instruction(), "then weights['foo'].predict");
    assert_eq!(module.nested["k2"][0].as_ref().unwrap().instruction(), "then nested['k2'][0]");
    assert_eq!(module.boxed.predict.instruction(), "then boxed.predict");
}

/// Predictors in a recursive type: finding one must not end the search.
#[derive(Facet)]
struct Chain {
    link: Link,
    last: Predict<Qa>,
}

#[derive(Facet)]
struct Link {
    next: Option<Box<Chain>>,
}

#[test]
fn recursive_types_are_searched_to_the_end() {
    let end = Chain { link: Link { next: None }, last: Predict::new() };
    let middle = Chain { link: Link { next: Some(Box::new(end)) }, last: Predict::new() };
    let chain = Chain { link: Link { next: Some(Box::new(middle)) }, last: Predict::new() };
    assert_eq!(paths(&chain), ["link.next.link.next.last", "link.next.last", "last"]);
}

#[derive(Facet)]
#[repr(u8)]
#[allow(dead_code)]
enum Either {
    One { first: Predict<Qa> },
    Other(Inner),
}

#[test]
fn the_active_variant_is_searched() {
    assert_eq!(paths(&Either::One { first: Predict::new() }), ["first"]);
    assert_eq!(paths(&Either::Other(Inner::default())), ["0.predict"]);
}

#[derive(Facet)]
struct Shared {
    ok: Predict<Qa>,
    many: Vec<Arc<Predict<Qa>>>,
}

#[derive(Facet)]
struct Numbered {
    by_number: HashMap<u32, Predict<Qa>>,
}

#[derive(Facet)]
struct Hidden {
    #[facet(opaque)]
    callback: Box<dyn Fn() + Send + Sync>,
}

/// An opaque type.
#[derive(Facet)]
#[facet(opaque)]
#[allow(dead_code)]
struct Sealed(Predict<Qa>);

#[derive(Facet)]
struct Sealing {
    sealed: Vec<Sealed>,
}

#[derive(Facet)]
struct Allowed {
    #[facet(opaque, dsrs::skip)]
    callback: Box<dyn Fn() + Send + Sync>,
    predict: Predict<Qa>,
}

#[derive(Facet)]
#[facet(opaque, dsrs::parameter)]
struct Unreachable;

#[derive(Facet)]
#[facet(opaque, dsrs::parameter, dsrs::accessor = 7_u32)]
struct Undecodable;

#[derive(Facet)]
struct Holds<T> {
    inside: Vec<T>,
}

fn refusal<M: Facet<'static>>(module: &mut M) -> String {
    let shared = named_predictors(module).err().unwrap();
    assert_eq!(named_predictors_mut(module).err(), Some(shared.clone()));
    shared.to_string()
}

#[test]
fn a_type_that_cannot_be_searched_is_rejected_with_its_path() {
    let container = "may contain predictors and cannot be searched; use a struct, Option, Vec, array, \
                     Box, or a map with String keys, or mark the field `#[module(skip)]`";
    let mut shared = Shared { ok: Predict::new(), many: vec![Arc::new(Predict::new())] };
    assert_eq!(refusal(&mut shared), format!("`many[0]`: `Arc<Predict>` {container}"));
    let mut numbered = Numbered { by_number: HashMap::from([(1, Predict::new())]) };
    let keys = "has keys that are not String, so its predictors have no path";
    assert_eq!(refusal(&mut numbered), format!("`by_number`: `HashMap<u32, Predict>` {keys}"));
    let opaque = "is opaque; mark the field `#[module(skip)]` if it contains no predictor";
    let mut hidden = Hidden { callback: Box::new(|| ()) };
    assert_eq!(refusal(&mut hidden), format!("`callback`: `Opaque` {opaque}"));
    let mut sealing = Sealing { sealed: vec![Sealed(Predict::new())] };
    assert_eq!(refusal(&mut sealing), format!("`sealed[0]`: `Sealed` {opaque}"));
    assert_eq!(refusal(&mut Sealed(Predict::new())), format!("``: `Sealed` {opaque}"));
    let accessor = "is marked as a predictor and its accessor is missing, of another type, or of \
                    another version of dsrs";
    let mut unreachable = Holds { inside: vec![Unreachable] };
    assert_eq!(refusal(&mut unreachable), format!("`inside[0]`: `Unreachable` {accessor}"));
    let mut undecodable = Holds { inside: vec![Undecodable] };
    assert_eq!(refusal(&mut undecodable), format!("`inside[0]`: `Undecodable` {accessor}"));
}

#[test]
fn fields_marked_to_be_skipped_are_skipped() {
    let module = Allowed { callback: Box::new(|| ()), predict: Predict::new() };
    (module.callback)();
    assert_eq!(paths(&module), ["predict"]);
}

#[test]
fn shared_predictors_are_rejected_unless_the_container_is_empty() {
    let empty = Shared { ok: Predict::new(), many: Vec::new() };
    assert_eq!(paths(&empty), ["ok"]);
}

#[test]
fn the_shape_of_a_predictor_has_its_mark_and_accessor() {
    fn is_plain<T: Copy + 'static>() {}
    fn is_predictor<T: DynPredictor>() {}
    is_plain::<PredictAccessorFns>();
    is_predictor::<PredictCell<Qa>>();
    let shape = <Predict<Qa> as Facet<'static>>::SHAPE;
    let own = |key: &str| shape.attributes.iter().find(|a| a.ns == Some("dsrs") && a.key == key);
    assert!(own("parameter").is_some());
    assert!(own("accessor").unwrap().get_as::<PredictAccessorFns>().is_some());
}

#[derive(Facet, Default)]
struct Wrapped {
    predictor: Predict<Qa>,
}

#[derive(Facet, Default)]
struct Two {
    a: Predict<Qa>,
    b: Wrapped,
}

#[derive(Facet, Default)]
struct Three {
    p: Two,
}

#[test]
fn structs_in_structs_have_dotted_paths() {
    assert_eq!(paths(&Two::default()), ["a", "b.predictor"]);
    assert_eq!(paths(&Three::default()), ["p.a", "p.b.predictor"]);
}

/// A `Box<dyn …>` of a foreign trait has no shape; one of ours has a shape that is rejected.
#[test]
fn a_module_that_is_built_at_run_time_is_rejected() {
    #[derive(Facet)]
    struct Dynamic {
        ok: Predict<Qa>,
        inside: Option<Box<dyn DynModule>>,
    }
    let module = HostedModule::new(Alone::default(), "").unwrap();
    let mut dynamic = Dynamic { ok: Predict::new(), inside: Some(Box::new(module)) };
    assert_eq!(
        refusal(&mut dynamic),
        "`inside`: `Box<dyn DynModule>` is a module that only exists at run time; put it into a \
         graph as a node instead"
    );
    assert_eq!(paths(&Dynamic { inside: None, ..dynamic }), ["ok"]);
}

#[derive(Facet, Default)]
struct Alone {
    predict: Predict<Qa>,
}

impl Module for Alone {
    type Input = QaInput;
    type Output = QaOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: QaInput,
    ) -> Result<Prediction<QaOutput>, PredictError> {
        self.predict.call(ctx, input).await
    }
}
