//! The language of Jinja expressions and templates in dsrs: which names a text uses, and which filters, tests,
//! methods and functions there are. Evaluates nothing and knows no values.

mod analysis;
mod language;
mod refusal;
mod walk;

pub use analysis::{Analysis, AnalysisError, NameUsage};
pub use language::{FILTERS, FUNCTIONS, METHODS, TESTS};
pub use refusal::{Refusal, RefusalKind};
