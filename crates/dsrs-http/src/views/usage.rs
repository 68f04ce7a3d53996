//! Calls, tokens and cost.

use serde::Serialize;
use utoipa::ToSchema;

use dsrs_store::batch::UsageTotals;

/// Calls, tokens and cost.
#[derive(Default, Serialize, ToSchema)]
#[schema(as = Usage)]
pub struct UsageView {
    /// Answered requests to models.
    #[schema(minimum = 0)]
    pub lm_calls: i64,
    /// Input tokens.
    #[schema(minimum = 0)]
    pub input_tokens: i64,
    /// Output tokens.
    #[schema(minimum = 0)]
    pub output_tokens: i64,
    /// The output tokens that the models spent on reasoning, as far as providers report them.
    #[schema(minimum = 0, required = false)]
    pub reasoning_tokens: i64,
    /// The input tokens that the provider read from its cache.
    #[schema(minimum = 0)]
    pub cached_tokens: i64,
    /// The input tokens that the provider wrote to its cache, if it charges for that.
    #[schema(minimum = 0, required = false)]
    pub cache_write_tokens: i64,
    /// The cost; null if no prices are configured.
    pub cost: Option<f64>,
}

impl From<&UsageTotals> for UsageView {
    fn from(spent: &UsageTotals) -> Self {
        Self {
            lm_calls: spent.lm_calls,
            input_tokens: spent.input_tokens,
            output_tokens: spent.output_tokens,
            reasoning_tokens: spent.reasoning_tokens,
            cached_tokens: spent.cached_tokens,
            cache_write_tokens: spent.cache_write_tokens,
            cost: spent.cost,
        }
    }
}

impl UsageView {
    pub(crate) fn example() -> Self {
        Self {
            lm_calls: 4,
            input_tokens: 1290,
            output_tokens: 212,
            reasoning_tokens: 0,
            cached_tokens: 0,
            cache_write_tokens: 0,
            cost: Some(0.0021),
        }
    }
}
