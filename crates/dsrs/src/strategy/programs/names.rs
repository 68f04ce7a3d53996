//! Names that are variables and functions of programs. Knows the words of Python, and no interpreter.

use crate::problem::{At, Code, Problems};
use crate::signature::FieldSchema;
use crate::value::is_identifier;

/// The words that name nothing in Python.
const WORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Whether a program can have a variable or a function of this name.
fn is_name(name: &str) -> bool {
    is_identifier(name) && !WORDS.contains(&name)
}

/// A name of Python that is near to any name: `read-file` is `read_file`.
pub(super) fn python_name(name: &str) -> String {
    let sign = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let mut found: String = name.chars().map(sign).collect();
    if found.starts_with(|c: char| c.is_ascii_digit()) {
        found.insert(0, '_');
    }
    if WORDS.contains(&found.as_str()) {
        found.push('_');
    }
    found
}

/// Reports inputs that cannot be variables beside these functions; `at` is the place of the signature.
pub(in crate::strategy) fn check_variables<'f>(
    inputs: &[FieldSchema],
    functions: impl Iterator<Item = &'f str> + Clone,
    at: &At<'_>,
    problems: &mut Problems,
) {
    for field in inputs {
        let name = &*field.name;
        if !is_name(name) {
            let detail = format!("the input `{name}` cannot be a variable in Python: rename it");
            problems.add(at, Code::ReservedName, detail);
        } else if functions.clone().any(|function| function == name) {
            let detail = format!(
                "the input `{name}` has the name of a function that programs call: rename it"
            );
            problems.add(at, Code::DuplicateName, detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_of_a_tool_becomes_a_name_of_python() {
        for (name, expected) in
            [("read_file", "read_file"), ("read-file", "read_file"), ("2d", "_2d"), ("in", "in_")]
        {
            assert_eq!(python_name(name), expected);
            assert!(is_name(expected));
        }
        assert!(!is_name("class") && !is_name("two words"));
    }
}
