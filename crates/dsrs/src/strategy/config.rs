//! Settings that configs of several strategies share. Knows no strategy.

use facet::Facet;

use crate::value::Payload;

/// The settings of a strategy that has none.
#[derive(Facet)]
pub(super) struct NoSettings {}

/// A strategy of the registry, with its config.
#[derive(Facet)]
pub(super) struct WrappedStrategy {
    /// A strategy of the registry.
    pub(super) strategy: String,
    /// Its config.
    #[facet(dsrs::object)]
    pub(super) config: Option<Payload>,
}
