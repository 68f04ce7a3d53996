//! Optimizing and evaluating typed modules: typed examples, closures as metrics, and the engine of the
//! optimizers on a module instead of a posted graph. Knows no names of nodes and no documents.

mod builder;
mod compile;
mod evaluate;
mod example;
mod metric;
mod optimizer;
mod report;

pub use compile::{compile, compile_judged};
pub use evaluate::{Evaluate, EvaluatedExample, ModuleEvaluation, evaluate, evaluate_judged};
pub use example::{TypedExample, TypedExamples};
pub use optimizer::Optimizer;
pub use report::{CompileError, CompileReport};
