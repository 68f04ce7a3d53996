//! What the readers of single metrics share: the written metric, its context, the scale of scores.
//! Knows no metric.

use crate::problem::At;
use crate::signature::SignatureSchema;
use crate::strategy::BuildEnv;
use crate::value::Payload;

/// A metric as written in a document.
#[derive(Clone, Copy)]
pub(super) struct MetricSpec<'s> {
    pub(super) name: &'static str,
    pub(super) options: &'s Payload,
    /// The place of the options.
    pub(super) at: &'s At<'s>,
}

/// What a metric is read against.
#[derive(Clone, Copy)]
pub(super) struct MetricContext<'r> {
    pub(super) env: &'r dyn BuildEnv,
    /// Inputs and outputs of the program.
    pub(super) program: &'r SignatureSchema,
}

/// The ends of a scale of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Scale {
    /// From 0 to 1.
    pub(super) const UNIT: Self = Self { low: 0.0, high: 1.0 };
}
