//! Built-in tools: every one that is linked into the program, by name. A tool registers itself
//! beside its own code with `inventory::submit!`; nothing here names one.

use std::sync::Arc;

use super::super::BuildEnv;
use crate::predict::Tool;
use crate::read::nearest;

/// The entry that a built-in tool submits to the registry.
///
/// ```
/// use dsrs::Data;
/// use dsrs::predict::function_tool;
/// use dsrs::strategy::{BuiltinTool, builtin_tools};
///
/// #[derive(Data)]
/// struct Text {
///     text: String,
/// }
///
/// dsrs::inventory::submit! { BuiltinTool { name: "length", make: |_env| {
///     let length = |text: Text| async move { Ok::<_, String>(text.text.len() as i64) };
///     function_tool("length", "Says how long a text is.", length).map_err(|error| error.to_string())
/// } } }
///
/// assert!(builtin_tools().any(|tool| tool.name == "length"));
/// ```
pub struct BuiltinTool {
    /// The name by which configs and LMs call it.
    pub name: &'static str,
    /// Builds the tool, or says why it is not available.
    pub make: fn(&dyn BuildEnv) -> BuiltinToolResult,
}

/// A tool, or why it is not available, in a sentence that says what to do.
pub type BuiltinToolResult = Result<Arc<dyn Tool>, String>;

inventory::collect!(BuiltinTool);

/// All built-in tools, by name.
pub fn builtin_tools() -> impl Iterator<Item = &'static BuiltinTool> {
    let mut found: Vec<_> = inventory::iter::<BuiltinTool>.into_iter().collect();
    found.sort_unstable_by_key(|tool| tool.name);
    found.into_iter()
}

/// The built-in tool of a name.
pub(super) fn make(name: &str, env: &dyn BuildEnv) -> BuiltinToolResult {
    if let Some(found) = builtin_tools().find(|tool| tool.name == name) {
        return (found.make)(env);
    }
    let known: Vec<_> = builtin_tools().map(|tool| tool.name).collect();
    let hint = nearest(name, known.iter().copied())
        .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    Err(format!("there is no built-in tool `{name}`; {hint}known ones: {}", known.join(", ")))
}
