//! Constraints of typed signatures hold on every way into and out of a module: members of unions,
//! lists, maps and recursive types, inner modules, tools, examples and demos.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use dsrs::facet::Facet;
use dsrs::lm::{LmReply, Model, Models, ScriptedAnswer, ScriptedLm, ToolCall};
use dsrs::optimize::{CompileError, LabeledFewShot, Optimizer, TypedExample, compile, evaluate};
use dsrs::predict::{PredictError, PredictErrorKind, Tool, function_tool};
use dsrs::signature::SignatureSchema;
use dsrs::strategy::{DynModule, HostedModule};
use dsrs::value::Payload;
use dsrs::{
    BestOfN, ChainOfThought, Ctx, Module, MultiChainComparison, Predict, Prediction, ReAct, Refine,
    Signature, TypedDemo,
};

#[derive(Clone, Debug, Facet)]
struct Disc {
    #[facet(dsrs::assert("this > 0", "positive"))]
    radius: f64,
}

#[derive(Clone, Debug, Facet)]
#[repr(u8)]
#[allow(dead_code)]
enum Shape {
    Square {
        side: f64,
    },
    Circle {
        #[facet(dsrs::assert("this > 0", "positive"))]
        radius: f64,
    },
}

#[derive(Clone, Debug, Facet)]
struct Tree {
    #[facet(dsrs::assert("this >= 0", "not_negative"))]
    size: i64,
    children: Vec<Tree>,
}

#[derive(Clone, Debug, Facet)]
struct Common {
    #[facet(dsrs::assert("this|length > 0", "said"))]
    unit: String,
}

/// Measure the shapes.
#[derive(Signature)]
struct Measure {
    #[input]
    shapes: Vec<Shape>,
    #[input]
    main: Option<Disc>,
    #[input]
    named: BTreeMap<String, Disc>,
    #[input]
    tree: Tree,
    #[input(flatten)]
    common: Common,
    #[input]
    #[assert("this > 0", "positive")]
    #[assert("this is even", "even")]
    count: i64,
    #[output]
    #[assert("this >= 0", "not_negative")]
    area: f64,
}

fn good() -> MeasureInput {
    MeasureInput {
        shapes: vec![Shape::Square { side: -1.0 }, Shape::Circle { radius: 1.0 }],
        main: None,
        named: BTreeMap::from([("a".to_owned(), Disc { radius: 1.0 })]),
        tree: Tree { size: 0, children: vec![Tree { size: 1, children: Vec::new() }] },
        common: Common { unit: "m".to_owned() },
        count: 2,
    }
}

/// Inputs that each break one assert, and the place that an error names.
fn broken() -> Vec<(MeasureInput, &'static str)> {
    let tree = Tree { size: 0, children: vec![Tree { size: -1, children: Vec::new() }] };
    vec![
        (
            MeasureInput { shapes: vec![Shape::Circle { radius: -1.0 }], ..good() },
            "shapes[0].radius",
        ),
        (MeasureInput { main: Some(Disc { radius: 0.0 }), ..good() }, "main.radius"),
        (
            MeasureInput { named: [("b".to_owned(), Disc { radius: 0.0 })].into(), ..good() },
            "named.b.radius",
        ),
        (MeasureInput { tree, ..good() }, "tree.children[0].size"),
        (MeasureInput { common: Common { unit: String::new() }, ..good() }, "unit"),
        (MeasureInput { count: 3, ..good() }, "count"),
    ]
}

fn ctx(lm: &Arc<ScriptedLm>) -> Ctx {
    let model = Model { tools: true, ..Model::of("default", lm.clone()) };
    Ctx::within(Models::new([model], None).into(), Duration::from_secs(600))
}

fn lm() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::sections([("area", "1.5"), ("reasoning", "so"), ("text", "t")]))
}

/// Calls a module with each broken input: an error that names the place, and no request.
async fn refuses<M: Module<Input = MeasureInput>>(name: &str, module: &M) {
    for (input, place) in broken() {
        let lm = lm();
        let error = module.call(&ctx(&lm), input).await.err();
        let error = error.unwrap_or_else(|| panic!("{name} accepts `{place}`"));
        assert!(matches!(error.kind, PredictErrorKind::InvalidValue { .. }), "{name}: {error}");
        assert!(error.message.contains(&format!("`{place}` breaks")), "{name} {place}: {error}");
        assert_eq!(lm.requests().len(), 0, "{name} {place}");
    }
    let lm = lm();
    if let Err(error) = module.call(&ctx(&lm), good()).await {
        assert!(!error.message.contains("breaks"), "{name}: {error}");
    }
    assert!(!lm.requests().is_empty(), "{name} asks for a good input");
}

/// A module whose first predictor has no asserts.
#[derive(Clone, Module, Default)]
struct Program {
    describe: Predict<Plain>,
    measure: Predict<Measure>,
}

#[derive(Signature)]
struct Plain {
    #[input]
    count: i64,
    #[output]
    text: String,
}

impl Module for Program {
    type Input = MeasureInput;
    type Output = MeasureOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: MeasureInput,
    ) -> Result<Prediction<MeasureOutput>, PredictError> {
        self.describe.call(ctx, PlainInput { count: input.count }).await?;
        self.measure.call(ctx, input).await
    }
}

/// A program within a program.
#[derive(Clone, Module, Default)]
struct Outer {
    describe: Predict<Plain>,
    inner: Program,
}

impl Module for Outer {
    type Input = PlainInput;
    type Output = MeasureOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: PlainInput,
    ) -> Result<Prediction<MeasureOutput>, PredictError> {
        self.inner.call(ctx, MeasureInput { count: input.count, ..good() }).await
    }
}

/// A program without an LM, whose output breaks an assert.
#[derive(Clone, Module, Default)]
struct Constant {
    measure: Predict<Measure>,
    area: f64,
}

impl Module for Constant {
    type Input = PlainInput;
    type Output = MeasureOutput;

    async fn forward(
        &self,
        _: &Ctx,
        _: PlainInput,
    ) -> Result<Prediction<MeasureOutput>, PredictError> {
        Ok(Prediction::of(MeasureOutput { area: self.area }))
    }
}

#[tokio::test]
async fn no_module_pays_for_an_input_that_breaks_an_assert() {
    let score = |_: &MeasureInput, output: &MeasureOutput| output.area;
    let echo = |disc: Disc| async move { Ok::<_, String>(disc.radius) };
    let react = ReAct::<Measure>::builder().tool("echo", "Says it.", echo).build().unwrap();
    refuses("Predict", &Predict::<Measure>::new()).await;
    refuses("ChainOfThought", &ChainOfThought::<Measure>::new()).await;
    refuses("BestOfN", &BestOfN::new(Predict::<Measure>::new(), 2, 1.0, score)).await;
    refuses("Refine", &Refine::new(Predict::<Measure>::new(), 2, 1.0, score).unwrap()).await;
    refuses("MultiChainComparison", &MultiChainComparison::<Measure>::new(2)).await;
    refuses("ReAct", &react).await;
    refuses("Program", &Program::default()).await;
    refuses("BestOfN of a program", &BestOfN::new(Program::default(), 2, 1.0, score)).await;
}

#[tokio::test]
async fn an_error_names_all_asserts_that_an_input_breaks() {
    let input = MeasureInput { count: -1, main: Some(Disc { radius: -1.0 }), ..good() };
    for error in [
        Predict::<Measure>::new().call(&ctx(&lm()), input.clone()).await.err().unwrap(),
        Program::default().call(&ctx(&lm()), input).await.err().unwrap(),
    ] {
        assert_eq!(
            error.message,
            "the input `main.radius` breaks the assert `positive`; the input `count` breaks the \
             assert `positive`; the input `count` breaks the assert `even`"
        );
        assert_eq!(error.kind, PredictErrorKind::InvalidValue { field: "main".into() });
    }
}

#[tokio::test]
async fn an_inner_module_refuses_its_input_too() {
    let lm = lm();
    let error = Outer::default().call(&ctx(&lm), PlainInput { count: 3 }).await.err().unwrap();
    assert!(error.message.contains("`count` breaks the assert `even`"), "{error}");
    assert_eq!(lm.requests().len(), 0);
}

#[tokio::test]
async fn an_output_that_an_author_computes_holds_the_asserts() {
    let module = |area: f64| Constant { area, ..Constant::default() };
    let input = || PlainInput { count: 1 };
    assert!(module(1.0).call(&ctx(&lm()), input()).await.is_ok());
    let error = module(-1.0).call(&ctx(&lm()), input()).await.err().unwrap();
    assert!(matches!(error.kind, PredictErrorKind::Constraint { .. }), "{error:?}");
    assert_eq!(error.message, "the output `area` breaks the assert `not_negative`");
}

#[tokio::test]
async fn a_batch_refuses_the_broken_inputs_in_their_places() {
    let lm = lm();
    let inputs = [good(), MeasureInput { count: 1, ..good() }, good()];
    let found = Program::default().batch(&ctx(&lm), inputs, 2).await;
    assert_eq!(found.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(lm.requests().len(), 4);
}

#[tokio::test]
async fn a_hosted_module_refuses_what_the_typed_one_refuses() {
    let hosted = HostedModule::new(Program::default(), "").unwrap();
    let lm = lm();
    let input = Payload::from_json(
        r#"{"shapes": [{"radius": -1.0}], "main": null, "named": {}, "tree": {"size": 0, "children": []},
            "unit": "m", "count": 2}"#,
    );
    let input = input.unwrap().as_map().unwrap().clone();
    let error = hosted.forward(&ctx(&lm), input).await.unwrap_err();
    assert!(error.message.contains("`shapes[0].radius` breaks"), "{error}");
    assert_eq!(lm.requests().len(), 0);
}

fn problems_of(error: impl Display) -> String {
    error.to_string()
}

#[tokio::test]
async fn examples_hold_the_asserts_of_inputs_and_outputs() {
    let lm = lm();
    let example = |input: MeasureInput, area: f64| TypedExample::new(input, MeasureOutput { area });
    let mut trainset: Vec<_> = (0..40).map(|_| example(good(), 1.0)).collect();
    trainset[1] = example(MeasureInput { count: 1, ..good() }, 1.0);
    trainset[2] = example(MeasureInput { main: Some(Disc { radius: 0.0 }), ..good() }, -1.0);
    let optimizer = Optimizer::new(LabeledFewShot::default());
    let devset = trainset.clone();
    let mut module = Program::default();
    let refused = compile(&ctx(&lm), &mut module, trainset, |_, _| 1.0, optimizer).await;
    let Err(CompileError::Invalid(problems)) = refused else { panic!("{refused:?}") };
    let mut found: Vec<_> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
    found.sort_unstable();
    let places =
        ["/trainset/1/input/count", "/trainset/2/expected/area", "/trainset/2/input/main/radius"];
    assert_eq!(found, places);
    assert_eq!(lm.requests().len(), 0);

    let measured = evaluate(&ctx(&lm), &module, &devset[..3], |_, _| 1.0).await;
    let ran: Vec<_> = measured.examples.iter().map(|found| found.output.is_ok()).collect();
    assert_eq!(ran, [true, false, false]);
}

#[test]
fn a_demo_holds_the_asserts_of_both_sides() {
    let demo = |input: MeasureInput, area: f64| TypedDemo::<Measure> {
        input,
        output: MeasureOutput { area },
    };
    let add = |demo: &TypedDemo<Measure>| {
        let mut predictor = Predict::<Measure>::new();
        let added = predictor.add_demo(demo).map_err(problems_of);
        let built = Predict::<Measure>::builder().demo(demo).build().map(drop).map_err(problems_of);
        assert_eq!(added, built);
        added
    };
    assert_eq!(add(&demo(good(), 1.0)), Ok(()));
    for (input, _) in broken() {
        assert!(add(&demo(input, 1.0)).unwrap_err().contains("breaks the assert"));
    }
    assert!(add(&demo(good(), -1.0)).unwrap_err().contains("/demos/0/output/area"));
}

#[derive(Clone, Debug, Facet)]
struct Draw {
    shape: Shape,
    #[facet(default = 2)]
    #[facet(dsrs::assert("this > 0"))]
    times: i64,
}

async fn called(tool: &dyn Tool, args: &str) -> Result<String, String> {
    let args = Payload::from_json(args).unwrap().as_map().unwrap().clone();
    let result = tool.call(&ctx(&lm()), args).await;
    result.map(|found| found.to_json()).map_err(problems_of)
}

#[tokio::test]
async fn arguments_of_a_tool_hold_the_asserts_of_the_member_that_was_read() {
    let draw = |draw: Draw| async move { Ok::<_, String>(draw.times) };
    let tool = function_tool("draw", "Draws.", draw).unwrap();
    for (args, place) in [
        (r#"{"shape": {"radius": -1.5}}"#, "/shape/radius"),
        (r#"{"shape": {"radius": -1}}"#, "/shape/radius"),
        (r#"{"shape": {"side": -1}, "times": 0}"#, "/times"),
    ] {
        let refused = called(&*tool, args).await.unwrap_err();
        assert!(refused.contains(&format!("{place}: ")), "{args}: {refused}");
    }
    assert_eq!(called(&*tool, r#"{"shape": {"side": -1}}"#).await, Ok("2".to_owned()));
}

#[tokio::test]
async fn results_of_a_tool_hold_the_asserts_of_their_type() {
    let make = |draw: Draw| async move {
        Ok::<_, String>(vec![draw.shape, Shape::Circle { radius: -1.0 }])
    };
    let tool = function_tool("make", "Makes.", make).unwrap();
    let refused = called(&*tool, r#"{"shape": {"side": 1}}"#).await.unwrap_err();
    assert!(refused.contains("/1/radius: `radius` breaks the assert `this > 0`"), "{refused}");
}

#[tokio::test]
async fn the_lm_receives_why_arguments_or_results_are_refused() {
    let call = |arguments: &str| -> ScriptedAnswer {
        let call = ToolCall { id: "1".into(), name: "draw".into(), arguments: arguments.into() };
        LmReply { tool_calls: vec![call], ..LmReply::of("", "m") }.into()
    };
    let lm = Arc::new(ScriptedLm::answering([
        call(r#"{"shape": {"radius": -1}}"#),
        "[[ ## text ## ]]\nfine".into(),
    ]));
    let draw = |draw: Draw| async move { Ok::<_, String>(draw.times) };
    let predictor = Predict::<Plain>::builder().tool("draw", "Draws.", draw).build().unwrap();
    predictor.call(&ctx(&lm), PlainInput { count: 1 }).await.unwrap();
    let shown =
        lm.requests()[1].chat.turns.iter().any(|turn| turn.content.contains("`radius` breaks"));
    assert!(shown, "{:?}", lm.requests()[1].chat.turns);
}

#[tokio::test]
async fn an_answer_holds_the_asserts_of_union_members() {
    #[derive(Signature)]
    struct Choose {
        #[input]
        text: String,
        #[output]
        shape: Option<Shape>,
        #[output]
        by_name: BTreeMap<String, Vec<Shape>>,
    }
    for (shape, by_name, ok) in [
        (r#"{"radius": 1}"#, r#"{"a": [{"side": -1}]}"#, true),
        (r#"null"#, r#"{}"#, true),
        (r#"{"radius": -1}"#, r#"{}"#, false),
        (r#"{"Circle": {"radius": -1}}"#, r#"{}"#, false),
        (r#"{"side": 1}"#, r#"{"a": [{"side": 1}, {"radius": 0}]}"#, false),
    ] {
        let lm = Arc::new(ScriptedLm::sections([("shape", shape), ("by_name", by_name)]));
        let found =
            Predict::<Choose>::new().call(&ctx(&lm), ChooseInput { text: "?".into() }).await;
        assert_eq!(found.is_ok(), ok, "{shape} {by_name}: {found:?}");
    }
}

#[test]
fn a_condition_of_a_class_that_does_not_compile_fails_when_the_schema_is_made() {
    #[derive(Clone, Debug, Facet)]
    struct Broken {
        #[facet(dsrs::assert("this >"))]
        count: i64,
    }
    #[derive(Signature)]
    struct UsesIt {
        #[input]
        text: String,
        #[output]
        broken: Vec<Broken>,
    }
    let error = SignatureSchema::try_of::<UsesIt>().unwrap_err().to_string();
    assert!(error.contains("the Jinja expression `this >`: "), "{error}");
    assert!(error.contains("broken"), "{error}");
}

/// A module whose input is its output.
#[derive(Clone, Module, Default)]
struct Doubled {
    measure: Predict<Measure>,
}

#[derive(Clone, Debug, Facet)]
struct Sized_ {
    #[facet(dsrs::assert("this > 0 and this < 10"))]
    size: i64,
}

impl Module for Doubled {
    type Input = Sized_;
    type Output = Sized_;

    async fn forward(&self, _: &Ctx, input: Sized_) -> Result<Prediction<Sized_>, PredictError> {
        Ok(Prediction::of(Sized_ { size: input.size * 2 }))
    }
}

#[tokio::test]
async fn a_module_whose_input_and_output_share_names_holds_the_asserts_of_both() {
    let call =
        |size: i64| async move { Doubled::default().call(&ctx(&lm()), Sized_ { size }).await };
    assert_eq!(call(4).await.unwrap().size, 8);
    let input = call(-1).await.err().unwrap().message;
    assert!(input.starts_with("the input `size` breaks the assert"), "{input}");
    let output = call(5).await.err().unwrap().message;
    assert!(output.starts_with("the output `size` breaks the assert"), "{output}");
}
