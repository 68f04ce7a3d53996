//! The functions of arithmetic, by name.

use super::number::{ArithmeticNumber, too_large};
use super::{ExprError, fault};

/// The result of a function.
///
/// # Errors
/// There is no such function, or it has no value for the arguments.
pub(super) fn apply(
    name: &str,
    arguments: &[ArithmeticNumber],
) -> Result<ArithmeticNumber, ExprError> {
    let float = |f: fn(f64) -> f64| match arguments {
        [one] => ArithmeticNumber::finite(f(one.float())),
        _ => Err(fault(format!("`{name}` accepts one number"))),
    };
    let whole = |f: fn(f64) -> f64| match arguments {
        [ArithmeticNumber::Whole(whole)] => Ok(ArithmeticNumber::Whole(*whole)),
        [ArithmeticNumber::Float(float)] => Ok(ArithmeticNumber::rounded(f(*float))),
        _ => Err(fault(format!("`{name}` accepts one number"))),
    };
    let pick = |better: fn(f64, f64) -> bool| {
        let picked = arguments.iter().copied().reduce(|best, next| match (best, next) {
            (ArithmeticNumber::Whole(a), ArithmeticNumber::Whole(b))
                if (a < b) == better(0.0, 1.0) =>
            {
                best
            }
            (ArithmeticNumber::Whole(_), ArithmeticNumber::Whole(_)) => next,
            _ if better(next.float(), best.float()) => next,
            _ => best,
        });
        picked.ok_or_else(|| fault(format!("`{name}` accepts one or more numbers")))
    };
    match (name, arguments) {
        ("abs", [ArithmeticNumber::Whole(whole)]) => {
            whole.checked_abs().map(ArithmeticNumber::Whole).ok_or_else(too_large)
        }
        ("abs", _) => float(f64::abs),
        ("sqrt", _) => float(f64::sqrt),
        ("exp", _) => float(f64::exp),
        ("log", [value, base]) => ArithmeticNumber::finite(value.float().ln() / base.float().ln()),
        ("log" | "ln", _) => float(f64::ln),
        ("log2", _) => float(f64::log2),
        ("log10", _) => float(f64::log10),
        ("sin", _) => float(f64::sin),
        ("cos", _) => float(f64::cos),
        ("tan", _) => float(f64::tan),
        ("asin", _) => float(f64::asin),
        ("acos", _) => float(f64::acos),
        ("atan", _) => float(f64::atan),
        ("floor", _) => whole(f64::floor),
        ("ceil", _) => whole(f64::ceil),
        ("round", [value, places]) => value.round(*places),
        ("round", _) => whole(f64::round_ties_even),
        ("pow", [base, exponent]) => base.power(*exponent),
        ("min", _) => pick(|a, b| a < b),
        ("max", _) => pick(|a, b| a > b),
        _ => Err(fault(format!("there is no function `{name}`"))),
    }
}
