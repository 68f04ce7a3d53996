//! Projected graphs: types of the boundary, types of one name, and parts of values as edges.

use dsrs::facet::Facet;
use dsrs::graph::{Edge, ProgramGraph, Projection, Source, Target, graph_diff};
use dsrs::predict::PredictError;
use dsrs::value::Selection;
use dsrs::{Ctx, Module, Predict, Prediction, Signature};

use super::hosted::{Find, FindInput, Price, PriceInput};

#[derive(Clone, Debug, Facet)]
struct Customer {
    name: String,
    mood: String,
    nick: Option<String>,
    place: (String, i64),
}

#[derive(Clone, Debug, Facet)]
struct Ticket {
    customer: Customer,
    #[facet(default = 3)]
    urgency: u8,
}

#[derive(Clone, Debug, Facet)]
struct Verdict {
    level: String,
    reason: String,
}

#[derive(Signature)]
struct Triage {
    #[input]
    mood: String,
    #[input]
    town: String,
    #[output]
    verdict: Verdict,
}

#[derive(Signature)]
struct Reply {
    #[input]
    name: String,
    #[input]
    level: String,
    #[input]
    nick: String,
    #[output]
    text: String,
}

#[derive(Clone, Debug, Facet)]
struct Done {
    text: String,
    reason: String,
}

/// Passes parts of its input and of an output on.
#[derive(Facet, Default)]
struct Support {
    triage: Predict<Triage>,
    reply: Predict<Reply>,
}

impl Module for Support {
    type Input = Ticket;
    type Output = Done;

    async fn forward(&self, ctx: &Ctx, ticket: Ticket) -> Result<Prediction<Done>, PredictError> {
        let Customer { name, mood, nick, place } = ticket.customer;
        let found = self.triage.call(ctx, TriageInput { mood, town: place.0 }).await?;
        let Verdict { level, reason } = found.verdict.clone();
        let nick = nick.unwrap_or_default();
        let reply = self.reply.call(ctx, ReplyInput { name, level, nick }).await?;
        Ok(reply.map(|reply| Done { text: reply.text, reason }))
    }
}

fn tickets() -> Vec<Ticket> {
    let ticket = |name: &str, mood: &str, nick: &str, town: &str, number: i64| Ticket {
        customer: Customer {
            name: name.into(),
            mood: mood.into(),
            nick: Some(nick.into()),
            place: (town.into(), number),
        },
        urgency: 1,
    };
    vec![ticket("Ann", "angry", "A", "Turku", 1), ticket("Bo", "calm", "B", "Oulu", 2)]
}

fn shown(projection: &Projection) -> Vec<String> {
    let nothing = ProgramGraph::new(projection.graph.name(), std::sync::Arc::default()).unwrap();
    let lines = graph_diff(&nothing, &projection.graph).text;
    let shown =
        lines.lines().filter(|line| !line.starts_with("+ type") && !line.starts_with("+ node"));
    shown.map(str::to_owned).collect()
}

#[tokio::test]
async fn parts_of_values_are_found_as_the_edges_that_they_are() {
    let made = ProgramGraph::from_module("support", &mut Support::default(), &tickets()).await;
    let projection = made.unwrap();
    assert_eq!(
        shown(&projection),
        [
            "+ input customer: Customer",
            r#"+ input urgency: {"type":"int","default":3}"#,
            "+ edge input.customer.mood -> triage.mood",
            "+ edge input.customer.place[0] -> triage.town",
            "+ edge input.customer.name -> reply.name",
            "+ edge triage.verdict.level -> reply.level",
            "+ output text: reply.text",
            "+ output reason: triage.verdict.reason",
        ]
    );
    let open: Vec<_> =
        projection.open.iter().map(|open| format!("{}: {}", open.place, open.reason)).collect();
    assert_eq!(
        open,
        ["reply.nick: `input.customer.nick` is `str?`, `reply.nick` accepts `str`: str? is not \
          assignable to str: it may be null"]
    );
}

#[test]
fn declared_edges_may_name_parts_and_types_of_the_boundary() {
    let edge = |from: (&str, &str), to: (&str, &str)| Edge {
        from: Source { node: from.0.into(), selection: Selection::parse(from.1).unwrap() },
        to: Target { node: to.0.into(), field: to.1.into() },
    };
    let edges = [
        edge(("input", "customer.mood"), ("triage", "mood")),
        edge(("input", "customer.place[0]"), ("triage", "town")),
    ];
    let outputs = [("customer".into(), Source::field_of("input", "customer"))];
    let made = ProgramGraph::from_module_with("support", &mut Support::default(), edges, outputs);
    let projection = made.unwrap_or_else(|error| panic!("{error}"));
    assert!(projection.graph.defs().get("Customer").is_some());
}

/// Two predictors whose outputs are different types of one name, and an output of the second.
#[derive(Facet, Default)]
struct Market {
    find: Predict<Find>,
    price: Predict<Price>,
}

#[derive(Clone, Debug, Facet)]
struct Item {
    sold: bool,
}

#[derive(Clone, Debug, Facet)]
struct Wish {
    query: String,
    item: Option<Item>,
}

#[derive(Clone, Debug, Facet)]
struct Offer {
    amount: i64,
}

impl Module for Market {
    type Input = Wish;
    type Output = Offer;

    async fn forward(&self, ctx: &Ctx, wish: Wish) -> Result<Prediction<Offer>, PredictError> {
        let found = self.find.call(ctx, FindInput { query: wish.query }).await?;
        let priced = self.price.call(ctx, PriceInput { name: found.item.title.clone() }).await?;
        Ok(priced.map(|priced| Offer { amount: priced.item.price }))
    }
}

#[tokio::test]
async fn types_of_one_name_are_numbered() {
    let wish = Wish { query: "tea".into(), item: Some(Item { sold: true }) };
    let made = ProgramGraph::from_module("market", &mut Market::default(), &[wish]).await;
    let projection = made.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        shown(&projection),
        [
            "+ input query: str",
            "+ input item: Item_3?",
            "+ edge input.query -> find.query",
            "+ edge find.item.title -> price.name",
            "+ output amount: price.item.price",
        ]
    );
    let types: Vec<_> = projection.graph.defs().0.keys().map(ToString::to_string).collect();
    assert_eq!(types, ["Item", "Item_2", "Item_3"]);
    let price = projection.graph.node("price").unwrap().schema().clone();
    assert_eq!(price.defs.0.keys().map(AsRef::as_ref).collect::<Vec<&str>>(), ["Item_2"]);
    projection.graph.compile().unwrap_or_else(|problems| panic!("{problems}"));
}
