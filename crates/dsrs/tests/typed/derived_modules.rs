//! `derive(Module)`: which fields of a program are searched, and which are skipped.
#![forbid(unsafe_code)]
#![deny(warnings)]

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use dsrs::facet::Facet;
use dsrs::lm::{Lm, Models, ScriptedLm};
use dsrs::module::{named_predictors, named_predictors_mut};
use dsrs::predict::{PredictError, PredictState};
use dsrs::problem::At;
use dsrs::strategy::DynModule;
use dsrs::{ChainOfThought, Ctx, Module, Predict, Prediction, Signature};

/// Answer.
#[derive(Signature)]
struct Qa {
    #[input]
    question: String,
    #[output]
    answer: String,
}

/// A client of a search engine, in whose type nothing is known to `dsrs`.
struct Client {
    asked: AtomicUsize,
}

impl Client {
    fn new() -> Self {
        Self { asked: AtomicUsize::new(0) }
    }
}

trait Retriever: Send + Sync {
    fn find(&self, words: &str) -> Vec<String>;
}

impl Retriever for Client {
    fn find(&self, words: &str) -> Vec<String> {
        self.asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        vec![format!("about {words}")]
    }
}

#[derive(Module)]
struct Rag {
    client: Arc<Client>,
    answer: ChainOfThought<Qa>,
}

impl Module for Rag {
    type Input = QaInput;
    type Output = QaOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: QaInput,
    ) -> Result<Prediction<QaOutput>, PredictError> {
        let found = self.client.find(&input.question).concat();
        let answer = self.answer.call(ctx, QaInput { question: found }).await?;
        Ok(answer.map(|answer| answer.into_inner()))
    }
}

fn paths<M: Facet<'static>>(module: &M) -> Vec<String> {
    named_predictors(module).unwrap().into_iter().map(|(path, _)| path).collect()
}

fn rag() -> Rag {
    Rag { client: Arc::new(Client::new()), answer: ChainOfThought::new() }
}

#[tokio::test]
async fn a_program_with_a_client_is_searched_called_and_changed() {
    let mut rag = rag();
    assert_eq!(paths(&rag), ["answer.predict"]);
    let state = PredictState { instruction: Some("Be brief.".into()), ..PredictState::default() };
    named_predictors_mut(&mut rag).unwrap()[0].1.load_state(state, &At::Root).unwrap();

    let lm = Arc::new(ScriptedLm::always(
        "[[ ## reasoning ## ]]\nso\n\n[[ ## answer ## ]]\n42\n\n[[ ## completed ## ]]",
    ));
    let models = Models::only(lm.clone() as Arc<dyn Lm>).into();
    let ctx = Ctx::within(models, Duration::from_secs(600));
    let result = rag.call(&ctx, QaInput { question: "Paris".into() }).await.unwrap();
    assert_eq!(result.answer, "42");
    let chat = &lm.requests()[0].chat;
    assert!(chat.prefix[0].content.contains("Be brief."));
    assert!(chat.turns[0].content.contains("about Paris"));
}

#[derive(Module)]
#[module(part)]
struct Everything {
    first: Predict<Qa>,
    label: String,
    client: Client,
    shared: Arc<Client>,
    retriever: Arc<dyn Retriever>,
    owned: Box<dyn Fn(&str) -> usize + Send + Sync>,
    function: fn(String) -> String,
    sender: mpsc::Sender<String>,
    locked: Arc<Mutex<Vec<Client>>>,
    async_sender: tokio::sync::mpsc::Sender<Client>,
    gate: Arc<tokio::sync::Semaphore>,
    timeout: Duration,
    static_text: &'static str,
    r#type: Option<Predict<Qa>>,
    rag: Rag,
    #[expect(clippy::vec_box, reason = "the walker also goes through a box in a list")]
    steps: Vec<Box<Rag>>,
    by_name: BTreeMap<String, [Predict<Qa>; 2]>,
    #[module(skip)]
    draft: Predict<Qa>,
}

#[test]
fn parts_of_a_program_are_searched_and_all_else_is_skipped() {
    let everything = Everything {
        first: Predict::new(),
        label: "x".into(),
        client: Client::new(),
        shared: Arc::new(Client::new()),
        retriever: Arc::new(Client::new()),
        owned: Box::new(str::len),
        function: |text| text,
        sender: mpsc::channel().0,
        locked: Arc::default(),
        async_sender: tokio::sync::mpsc::channel(1).0,
        gate: Arc::new(tokio::sync::Semaphore::new(1)),
        timeout: Duration::ZERO,
        static_text: "",
        r#type: Some(Predict::new()),
        rag: rag(),
        steps: vec![Box::new(rag())],
        by_name: BTreeMap::from([("a".to_owned(), [Predict::new(), Predict::new()])]),
        draft: Predict::new(),
    };
    assert_eq!(
        paths(&everything),
        [
            "first",
            "type",
            "rag.answer.predict",
            "steps[0].answer.predict",
            "by_name['a'][0]",
            "by_name['a'][1]"
        ]
    );
    let Everything { label, client, shared, retriever, owned, function, sender, .. } = everything;
    let Everything { locked, async_sender, gate, timeout, static_text, draft, .. } = everything;
    drop((label, client, shared, retriever, owned, function, sender, locked, async_sender));
    drop((gate, timeout, static_text, draft));
}

/// A program over another one.
#[derive(Module)]
struct Twice<M: Module, C: Retriever + 'static> {
    inner: M,
    again: Option<Box<M>>,
    client: Arc<C>,
    #[module(skip)]
    _own: C,
    #[allow(clippy::type_complexity)]
    _reward: Box<dyn Fn(&M::Input) -> f64 + Send + Sync>,
}

#[derive(Module)]
struct OverSignature<S: Signature>(Predict<S>, ChainOfThought<S>);

/// Holds itself.
#[derive(Module)]
struct Chain<M: Module> {
    next: Option<Box<Chain<M>>>,
    last: M,
}

#[derive(Module)]
#[module(part)]
struct Nothing;

#[test]
fn modules_may_be_generic_recursive_and_tuples() {
    let twice = Twice {
        inner: rag(),
        again: Some(Box::new(rag())),
        client: Arc::new(Client::new()),
        _own: Client::new(),
        _reward: Box::new(|_| 1.0),
    };
    assert_eq!(twice.client.find("x"), ["about x"]);
    assert_eq!(paths(&twice), ["inner.answer.predict", "again.answer.predict"]);
    let over = OverSignature::<Qa>(Predict::new(), ChainOfThought::new());
    assert_eq!(paths(&over), ["0", "1.predict"]);
    let end = Chain { next: None, last: Predict::<Qa>::new() };
    let chain = Chain { next: Some(Box::new(end)), last: Predict::new() };
    assert_eq!(paths(&chain), ["next.last", "last"]);
    assert!(paths(&Nothing).is_empty());
}

/// The type of a field may hide what is in it: then the walker reports it.
type Hidden = Arc<Predict<Qa>>;

#[derive(Module)]
#[module(part)]
struct Hiding {
    hidden: Hidden,
    by_number: BTreeMap<u32, Rag>,
    dynamic: Option<Box<dyn DynModule>>,
}

#[test]
fn a_shared_predictor_behind_an_alias_is_reported_by_the_walker() {
    let mut hiding = Hiding { hidden: Arc::default(), by_number: BTreeMap::new(), dynamic: None };
    let refused = named_predictors_mut(&mut hiding).err().unwrap().to_string();
    assert_eq!(
        refused,
        "`hidden`: `Arc<Predict>` may contain predictors and cannot be searched; use a struct, \
         Option, Vec, array, Box, or a map with String keys, or mark the field `#[module(skip)]`"
    );
    assert!(hiding.by_number.is_empty() && hiding.dynamic.is_none());
}
