//! Jinja expressions over data: compiled once, evaluated with bounded fuel. Knows payloads, but no
//! signatures, prompts or nodes.

mod bounded;
mod calculate;
mod depth;
mod engine;
mod filters;
mod language;
mod methods;
mod operators;
mod pattern;
mod template;
mod value_text;
mod work;

use std::fmt;
use std::sync::Arc;

pub use dsrs_jinja::NameUsage;
use dsrs_jinja::{Analysis, expression_with_filters};
use minijinja::Value;
use minijinja::value::ValueKind;

use crate::time_limit::TimeLimit;
use crate::value::{Payload, SizeBudget};

pub use calculate::calculate;
use engine::ENGINE;
use language::check_expression;
pub(crate) use pattern::explain_pattern;
pub use template::Template;

/// The longest expression.
const LENGTH_LIMIT: usize = 2_000;

/// An expression cannot be compiled or evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ExprError {
    /// The reason.
    pub reason: String,
}

/// A compiled condition over `this`.
///
/// ```
/// use dsrs::{expr::Condition, value::Payload};
/// let condition = Condition::compile("this|length < 3").unwrap();
/// assert_eq!(condition.holds(&Payload::str("ab")), Ok(true));
/// assert!(Condition::compile("this <").is_err());
/// ```
#[derive(Clone)]
pub struct Condition(Expression);

impl Condition {
    /// Compiles an expression.
    ///
    /// # Errors
    /// As [`Expression::compile`].
    pub fn compile(source: &str) -> Result<Self, ExprError> {
        Expression::compile(source).map(Self)
    }

    /// Whether the condition holds for a value.
    ///
    /// # Errors
    /// If the evaluation fails, for example because of operand types or fuel.
    pub fn holds(&self, this: &Payload) -> Result<bool, ExprError> {
        Ok(self.0.evaluate([("this", this)])?.is_true())
    }

    /// The text of the expression.
    #[must_use]
    pub const fn source(&self) -> &Arc<str> {
        self.0.source()
    }
}

/// A compiled expression over named values.
///
/// ```
/// use dsrs::{expr::Expression, value::Payload};
/// let expression = Expression::compile("1 - text|length / 10").unwrap();
/// assert_eq!(expression.number([("text", &Payload::str("ab"))]), Ok(0.8));
/// ```
#[derive(Clone)]
pub struct Expression {
    source: Arc<str>,
    compiled: Arc<minijinja::Expression<'static, 'static>>,
    analysis: Arc<Analysis>,
}

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    /// If it is not a Jinja expression, uses a filter, test, method or function that does not exist, or is too
    /// long or too deep to compile on a bounded stack.
    pub fn compile(source: &str) -> Result<Self, ExprError> {
        if source.len() > LENGTH_LIMIT {
            let reason = format!("the expression is longer than {LENGTH_LIMIT} bytes");
            return Err(ExprError { reason });
        }
        let analysis = Arc::new(check_expression(source)?);
        let computed = expression_with_filters(source).map_err(explain)?;
        depth::check_expression(&computed)?;
        let compiled = ENGINE.compile_expression_owned(computed).map_err(explain)?;
        Ok(Self { source: Arc::from(source), compiled: Arc::new(compiled), analysis })
    }

    /// The number that it evaluates to; true is 1, false is 0.
    ///
    /// # Errors
    /// If the evaluation fails, or the result is neither a number nor a boolean.
    pub fn number<'v>(
        &self,
        values: impl IntoIterator<Item = (&'v str, &'v Payload)>,
    ) -> Result<f64, ExprError> {
        let found = self.evaluate(values)?;
        let number = match found.kind() {
            ValueKind::Bool => Some(f64::from(u8::from(found.is_true()))),
            ValueKind::Number => {
                f64::try_from(found.clone()).ok().filter(|found| found.is_finite())
            }
            _ => None,
        };
        number.ok_or_else(|| {
            let reason = format!("the result `{found}` is neither a number nor a boolean");
            ExprError { reason }
        })
    }

    /// The uses of values, in order of appearance.
    #[must_use]
    pub fn uses(&self) -> &[NameUsage] {
        self.analysis.uses()
    }

    /// The names of the values that it uses, in alphabetical order.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = self.analysis.names().into_iter().map(Arc::from).collect();
        names.sort();
        names
    }

    /// Whether the expression says what happens if a value, or the member of one, is absent.
    #[must_use]
    pub fn may_be_absent(&self, name: &str, member: Option<&str>) -> bool {
        self.analysis.may_be_absent(name, member)
    }

    /// Whether it evaluates to a true value.
    ///
    /// # Errors
    /// If the evaluation fails, for example because of operand types or fuel.
    pub fn is_true<'v>(
        &self,
        values: impl IntoIterator<Item = (&'v str, &'v Payload)>,
    ) -> Result<bool, ExprError> {
        Ok(self.evaluate(values)?.is_true())
    }

    fn evaluate<'v>(
        &self,
        values: impl IntoIterator<Item = (&'v str, &'v Payload)>,
    ) -> Result<Value, ExprError> {
        check_time()?;
        self.compiled.eval(named_values(values)?).map_err(explain)
    }

    /// The text of the expression.
    #[must_use]
    pub const fn source(&self) -> &Arc<str> {
        &self.source
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Condition({})", self.source())
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({})", self.source)
    }
}

/// One evaluation is bounded by its fuel; a computation of many ends at its time limit.
fn check_time() -> Result<(), ExprError> {
    match TimeLimit::is_over() {
        true => Err(ExprError { reason: TimeLimit::OVER.to_owned() }),
        false => Ok(()),
    }
}

/// The values as values of the engine. Each is copied part by part, so their size is bounded.
fn named_values<'v>(
    values: impl IntoIterator<Item = (&'v str, &'v Payload)>,
) -> Result<Value, ExprError> {
    let mut room = SizeBudget::default();
    let mut named = Vec::new();
    for (name, value) in values {
        room.take(value)
            .map_err(|excess| ExprError { reason: format!("the input values {excess}") })?;
        named.push((name, to_value(value)));
    }
    Ok(Value::from_pairs(named))
}

fn to_value(payload: &Payload) -> Value {
    match payload {
        Payload::Null => Value::from(()),
        Payload::Bool(flag) => Value::from(*flag),
        Payload::Int(number) => Value::from(*number),
        Payload::Float(number) => Value::from(*number),
        Payload::Str(text) => Value::from(text.clone()),
        Payload::Bytes(bytes) => Value::from_bytes(bytes.to_vec()),
        Payload::List(elements) => elements.iter().map(to_value).collect(),
        Payload::Map(members) => {
            Value::from_pairs(members.iter().map(|(name, member)| (name.clone(), to_value(member))))
        }
        Payload::Error(failure) => to_value(&failure.to_payload()),
    }
}

fn explain(error: minijinja::Error) -> ExprError {
    ExprError { reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(source: &str, this: &str) -> Result<bool, ExprError> {
        Condition::compile(source)?.holds(&Payload::from_json(this).unwrap())
    }

    #[test]
    fn conditions_see_members_and_elements() {
        assert_eq!(
            holds("this.age > 3 and this.tags[0] == 'a'", r#"{"age":4,"tags":["a"]}"#),
            Ok(true)
        );
        assert_eq!(holds("this.age > 3", r#"{"age":3}"#), Ok(false));
    }

    #[test]
    fn expressions_that_need_too_much_time_or_memory_fail() {
        assert!(holds(&vec!["this"; 1000].join("+"), "1").unwrap_err().reason.contains("longer"));
        assert!(holds(&format!("{}1", "(".repeat(1900)), "1").is_err());
        assert!(holds("('x' * 1000000000000)|length > 1", "1").is_err());
    }

    #[test]
    fn no_expression_doubles_a_text_without_bound() {
        let text = format!("{:?}", "x".repeat(1000));
        for step in ["|replace('x', this)", "|join(this)", "|list|string"] {
            let grown = format!("(this{})|length > 1", step.repeat(1900 / step.len()));
            assert!(holds(&grown, &text).is_err(), "{step}");
        }
        assert_eq!(
            holds("this|join('-', attribute='a') == '1-2'", r#"[{"a":1},{"a":2}]"#),
            Ok(true)
        );
    }

    #[test]
    fn a_broken_expression_says_what_is_wrong() {
        assert!(holds("this +", "1").unwrap_err().reason.contains("unexpected"));
    }
}
