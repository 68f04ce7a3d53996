//! What is known of a value beside the value: which model, at what price, of which parameter. All
//! of it may be absent, and most of it is. Knows nothing of LMs or predictors, who fill it in.

use std::sync::Arc;

use super::{Failure, Map, Payload};

/// What is known of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// The model that answered.
    pub model: Option<Arc<str>>,
    /// Tokens read to make it.
    pub input_tokens: Option<u64>,
    /// Tokens written to make it.
    pub output_tokens: Option<u64>,
    /// What it cost.
    pub cost: Option<f64>,
    /// Its type, as a type expression or a JSON Schema.
    pub schema: Option<Payload>,
    /// Where it comes from in words: a tool, a strategy, a file.
    pub source: Option<Arc<str>>,
    /// The last name of the parameter that it was lifted from.
    pub param_name: Option<Arc<str>>,
    /// Which parameter and which content of it: the same wherever that is.
    pub param_id: Option<Arc<str>>,
    /// The node that made it.
    pub node_id: Option<Arc<str>>,
    /// The batch that it is an item of.
    pub batch_id: Option<Arc<str>>,
    /// What fills the slots of an f-string.
    pub vars: Option<Payload>,
    /// Why there is an error in its place.
    pub failure: Option<Failure>,
}

impl Meta {
    /// What is known, as an object of the members that are.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        let text = |text: &Option<Arc<str>>| text.clone().map(Payload::Str);
        let count = |count: u64| Payload::Int(i64::try_from(count).unwrap_or(i64::MAX));
        let members = [
            ("model", text(&self.model)),
            ("input_tokens", self.input_tokens.map(count)),
            ("output_tokens", self.output_tokens.map(count)),
            ("cost", self.cost.map(Payload::Float)),
            ("schema", self.schema.clone()),
            ("source", text(&self.source)),
            ("param_name", text(&self.param_name)),
            ("param_id", text(&self.param_id)),
            ("node_id", text(&self.node_id)),
            ("batch_id", text(&self.batch_id)),
            ("vars", self.vars.clone()),
            ("error", self.failure.as_ref().map(Failure::to_payload)),
        ];
        let known = members.into_iter().filter_map(|(name, member)| Some((name.into(), member?)));
        Payload::map(known.collect::<Map>())
    }
}
