//! The built-in tool `calculator`: evaluates arithmetic, which LMs get wrong.

use facet::Facet;

use super::BuiltinTool;
use crate::expr::calculate;
use crate::predict::function_tool;

#[derive(Facet)]
struct CalculatorArgs {
    /// such as `(3 + 4.5) * 2 ** 10 / sqrt(2)`
    expression: String,
}

const DESCRIPTION: &str = "Evaluates an arithmetic expression: numbers, parentheses, + - * / // % \
    **, the constants pi and e, and the functions sqrt, abs, min, max, round, floor, ceil, exp, \
    log, log2, log10, sin, cos, tan, asin, acos, atan. No variables.";

inventory::submit! {
    BuiltinTool {
        name: "calculator",
        make: |_| {
            let run = |args: CalculatorArgs| async move { calculate(&args.expression) };
            function_tool("calculator", DESCRIPTION, run).map_err(|error| error.to_string())
        },
    }
}
