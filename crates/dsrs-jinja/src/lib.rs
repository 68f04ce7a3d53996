//! The language of Jinja expressions and templates in dsrs: which names a text uses, and which filters, tests,
//! methods and functions there are, and which operators the engine evaluates as filters. Evaluates nothing and knows
//! no values.

mod analysis;
mod language;
mod operator;
mod operators;
mod parts;
mod refusal;
mod walk;

pub use analysis::{Analysis, AnalysisError, NameUsage};
pub use language::{FILTERS, FUNCTIONS, METHODS, TESTS};
pub use operator::{ADD, JOIN, MULTIPLY};
pub use operators::{expression_with_filters, template_with_filters};
pub use refusal::{Refusal, RefusalKind};
