//! Hosted modules: defaults of inputs and types of one name.

use std::sync::Arc;
use std::time::Duration;

use dsrs::facet::Facet;
use dsrs::lm::{Models, ScriptedLm};
use dsrs::predict::{PredictError, RunScope};
use dsrs::strategy::{DynModule, HostedModule};
use dsrs::value::Payload;
use dsrs::{ChainOfThought, Ctx, Module, Predict, Prediction, Signature};

use super::support::{fields, program};

#[derive(Signature)]
struct Ask {
    #[input]
    question: String,
    #[output]
    answer: String,
}

/// One predictor that reasons.
#[derive(Facet, Default)]
struct Reasoner {
    answer: ChainOfThought<Ask>,
}

impl Module for Reasoner {
    type Input = AskInput;
    type Output = AskOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: AskInput,
    ) -> Result<Prediction<AskOutput>, PredictError> {
        Ok(self.answer.call(ctx, input).await?.map(|found| found.inner))
    }
}

dsrs::register_module!(Reasoner as "reasoner", "Reasons, then answers.");

#[derive(Clone, Debug, Facet)]
struct Style {
    #[facet(default = String::from("EUR"))]
    currency: String,
    #[facet(default)]
    tone: Option<String>,
}

#[derive(Signature)]
struct Quote {
    #[input]
    item: String,
    #[input]
    #[default = 3]
    count: u8,
    #[input(flatten)]
    style: Style,
    #[output]
    price: String,
}

/// What a person writes without the derive.
#[derive(Clone, Debug, Facet)]
struct Order {
    item: String,
    #[facet(default = 7)]
    count: u8,
    #[facet(default = vec![1_i64, 2])]
    sizes: Vec<i64>,
    #[facet(default = Mood::Calm)]
    mood: Mood,
}

#[derive(Clone, Debug, Facet)]
#[repr(u8)]
#[allow(dead_code, reason = "made by reflection")]
enum Mood {
    Calm,
    Angry { at: String },
}

#[derive(Facet, Default)]
struct Shop {
    quote: Predict<Quote>,
}

impl Module for Shop {
    type Input = QuoteInput;
    type Output = QuoteOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: QuoteInput,
    ) -> Result<Prediction<QuoteOutput>, PredictError> {
        self.quote.call(ctx, input).await
    }
}

dsrs::register_module!(Shop as "shop", "Quotes a price.");

#[derive(Facet, Default)]
struct Desk {
    quote: Predict<Quote>,
}

impl Module for Desk {
    type Input = Order;
    type Output = QuoteOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        order: Order,
    ) -> Result<Prediction<QuoteOutput>, PredictError> {
        let style = Style { currency: format!("{:?} {:?}", order.mood, order.sizes), tone: None };
        self.quote.call(ctx, QuoteInput { item: order.item, count: order.count, style }).await
    }
}

fn defaults(module: &dyn DynModule) -> Vec<String> {
    let inputs = module.schema().inputs.iter();
    let each = inputs.map(|field| {
        let default = field.default.as_ref().map_or("none".to_owned(), Payload::to_json);
        format!("{} {default}", field.name)
    });
    each.collect()
}

#[test]
fn hosted_modules_have_the_defaults_of_generated_flattened_and_plain_structs() {
    let shop = HostedModule::new(Shop::default(), "").unwrap();
    assert_eq!(defaults(&shop), ["item none", "count 3", r#"currency "EUR""#, "tone null"]);
    let desk = HostedModule::new(Desk::default(), "").unwrap();
    assert_eq!(defaults(&desk), ["item none", "count 7", "sizes [1,2]", r#"mood "Calm""#]);
}

#[tokio::test]
async fn a_node_of_a_hosted_module_runs_with_the_defaults() {
    let graph = program(
        r#"{"name": "g", "inputs": {"item": "str"}, "nodes": {"shop": {"strategy": "shop"}},
            "edges": [{"from": "input.item", "to": "shop.item"}]}"#,
    );
    let lm = Arc::new(ScriptedLm::always("[[ ## price ## ]]\n9"));
    let deadline = tokio::time::Instant::now() + Duration::from_secs(600);
    let run = Arc::new(RunScope::new(Models::only(lm.clone()).into(), deadline));
    let outcome = graph.execute(&run, fields(r#"{"item": "tea"}"#)).await;
    assert!(outcome.outputs.is_ok());
    let asked = lm.requests()[0].chat.messages().last().unwrap().content.clone();
    assert!(asked.contains("[[ ## count ## ]]\n3"), "{asked}");
    assert!(asked.contains("[[ ## currency ## ]]\nEUR"), "{asked}");
}

mod first {
    use super::*;

    #[derive(Clone, Debug, Facet)]
    pub(crate) struct Item {
        pub(crate) title: String,
    }

    #[derive(Signature)]
    pub(crate) struct Find {
        #[input]
        pub(crate) query: String,
        #[output]
        pub(crate) item: Item,
    }

    #[derive(Facet, Default)]
    pub(crate) struct Finder {
        find: Predict<Find>,
    }

    impl Module for Finder {
        type Input = FindInput;
        type Output = FindOutput;

        async fn forward(
            &self,
            ctx: &Ctx,
            input: FindInput,
        ) -> Result<Prediction<FindOutput>, PredictError> {
            self.find.call(ctx, input).await
        }
    }

    dsrs::register_module!(Finder as "finder", "Finds an item.");
}

mod second {
    use super::*;

    #[derive(Clone, Debug, Facet)]
    pub(crate) struct Item {
        pub(crate) price: i64,
        pub(crate) parts: Vec<Item>,
    }

    #[derive(Signature)]
    pub(crate) struct Price {
        #[input]
        pub(crate) name: String,
        #[output]
        pub(crate) item: Item,
    }

    #[derive(Facet, Default)]
    pub(crate) struct Pricer {
        price: Predict<Price>,
    }

    impl Module for Pricer {
        type Input = PriceInput;
        type Output = PriceOutput;

        async fn forward(
            &self,
            ctx: &Ctx,
            input: PriceInput,
        ) -> Result<Prediction<PriceOutput>, PredictError> {
            self.price.call(ctx, input).await
        }
    }

    dsrs::register_module!(Pricer as "pricer", "Prices an item.");
}

pub(crate) use first::{Find, FindInput};
pub(crate) use second::{Price, PriceInput};

#[test]
fn two_hosted_modules_with_types_of_one_name_stand_beside_each_other() {
    let graph = program(
        r#"{"name": "g", "nodes": {"find": {"strategy": "finder"}, "price": {"strategy": "pricer"}},
            "edges": [{"from": "find.item.title", "to": "price.name"}]}"#,
    );
    let types: Vec<_> = graph.graph().defs().0.keys().map(ToString::to_string).collect();
    assert_eq!(types, ["Item", "Item_2"]);
    let again = program(graph.canonical_text());
    assert_eq!(again.canonical_text(), graph.canonical_text());
}
