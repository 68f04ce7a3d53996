//! The usage of the engine as the database has it, and back.

use dsrs::lm::Usage;

use dsrs_store::batch::UsageTotals;

/// A usage as it is stored.
pub(crate) fn totals(usage: &Usage) -> UsageTotals {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    UsageTotals {
        lm_calls: count(usage.lm_calls),
        input_tokens: count(usage.input_tokens),
        output_tokens: count(usage.output_tokens),
        reasoning_tokens: count(usage.reasoning_tokens),
        cached_tokens: count(usage.cached_tokens),
        cache_write_tokens: count(usage.cache_write_tokens),
        cost: usage.cost,
    }
}

/// A stored usage.
pub(crate) fn usage(totals: &UsageTotals) -> Usage {
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    Usage {
        lm_calls: count(totals.lm_calls),
        input_tokens: count(totals.input_tokens),
        output_tokens: count(totals.output_tokens),
        reasoning_tokens: count(totals.reasoning_tokens),
        cached_tokens: count(totals.cached_tokens),
        cache_write_tokens: count(totals.cache_write_tokens),
        cost: totals.cost,
    }
}
