//! Calls, tokens and cost.

use serde::Serialize;
use utoipa::ToSchema;

use crate::store::batch::UsageTotals;

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
    /// Input tokens that the provider read from its cache.
    #[schema(minimum = 0)]
    pub cached_tokens: i64,
    /// The cost; null if no prices are configured.
    pub cost: Option<f64>,
}

impl From<&UsageTotals> for UsageView {
    fn from(spent: &UsageTotals) -> Self {
        let UsageTotals { lm_calls, input_tokens, output_tokens, cached_tokens, cost } = *spent;
        Self { lm_calls, input_tokens, output_tokens, cached_tokens, cost }
    }
}

impl UsageView {
    pub(crate) fn example() -> Self {
        Self {
            lm_calls: 4,
            input_tokens: 1290,
            output_tokens: 212,
            cached_tokens: 0,
            cost: Some(0.0021),
        }
    }
}
