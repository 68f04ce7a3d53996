//! The condition of a constraint: its text, compiled once for all copies. Knows no types.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::expr::{Condition, ExprError};
use crate::value::Payload;

/// The text of a condition over `this`. It is compiled at its first use.
///
/// ```
/// use dsrs::{types::ConditionText, value::Payload};
/// let condition = ConditionText::from("this > 0");
/// assert_eq!(condition.holds(&Payload::Int(3)), Ok(true));
/// assert_eq!(&*condition, "this > 0");
/// ```
#[derive(Clone)]
pub struct ConditionText {
    text: Arc<str>,
    compiled: Arc<OnceLock<Result<Condition, ExprError>>>,
}

impl ConditionText {
    /// The text, shared.
    #[must_use]
    pub const fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether the condition holds for a value.
    ///
    /// # Errors
    /// If the text is no condition, or the evaluation fails.
    pub fn holds(&self, this: &Payload) -> Result<bool, ExprError> {
        let compiled = self.compiled.get_or_init(|| Condition::compile(&self.text));
        compiled.as_ref().map_err(Clone::clone)?.holds(this)
    }
}

impl From<Arc<str>> for ConditionText {
    fn from(text: Arc<str>) -> Self {
        Self { text, compiled: Arc::default() }
    }
}

impl From<&str> for ConditionText {
    fn from(text: &str) -> Self {
        Arc::<str>::from(text).into()
    }
}

impl From<String> for ConditionText {
    fn from(text: String) -> Self {
        Arc::<str>::from(text).into()
    }
}

impl Deref for ConditionText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl PartialEq for ConditionText {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ConditionText {}

impl fmt::Debug for ConditionText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl fmt::Display for ConditionText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
