//! The metadata of a value: model, tokens, cost, parameter. Each part may be absent. Knows nothing
//! of LMs or predictors, which set it.

use std::sync::Arc;

use super::{Failure, Map, Payload};

/// The metadata of a value.
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
    /// Its source: a tool, a strategy, a file.
    pub source: Option<Arc<str>>,
    /// The last name of the parameter that it comes from.
    pub param_name: Option<Arc<str>>,
    /// Identifies the parameter and its content: the same for the same content everywhere.
    pub param_id: Option<Arc<str>>,
    /// The node that produced it.
    pub node_id: Option<Arc<str>>,
    /// The batch that it belongs to.
    pub batch_id: Option<Arc<str>>,
    /// The values for the slots of an f-string.
    pub vars: Option<Payload>,
    /// The failure, if there is one instead of a value.
    pub failure: Option<Failure>,
}

impl Meta {
    /// An object with the members that are present.
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
