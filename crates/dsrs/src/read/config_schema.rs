//! The JSON Schema that configs of something are held to: compiled once, and every problem told. And
//! the problem of a name that nothing has. Knows nothing of what is configured.

use jsonschema::Validator;

use super::nearest;
use crate::problem::{At, Code, Problem, Problems};
use crate::value::{Map, Payload};

/// What configs of one thing look like.
pub struct ConfigSchema {
    validator: Validator,
    /// Whether an empty config will do: then it needs no look.
    accepts_empty: bool,
}

impl ConfigSchema {
    /// Compiles a schema. Schemas of configs are constants of the program, so one that does not
    /// compile is caught by the tests of whoever has it; here it refuses everything, which keeps a
    /// release build from guessing.
    #[must_use]
    pub fn of(schema: &Payload) -> Self {
        // The validator reads serde_json's own tree; a payload always has one.
        let schema = serde_json::to_value(schema).unwrap_or_default();
        let refuse_all = serde_json::Value::Bool(false);
        let validator = jsonschema::validator_for(&schema)
            .or_else(|_| jsonschema::validator_for(&refuse_all))
            .unwrap_or_else(|_| unreachable!("`false` is a JSON Schema"));
        let accepts_empty = validator.is_valid(&serde_json::Value::Object(serde_json::Map::new()));
        Self { validator, accepts_empty }
    }

    /// Holds a config of what has this name to the schema.
    ///
    /// # Errors
    /// Every `invalid_config`; pointers below `at`, the config's place.
    pub fn check(&self, name: &str, config: &Payload, at: &At<'_>) -> Result<(), Problems> {
        if self.accepts_empty && config.as_map().is_some_and(Map::is_empty) {
            return Ok(());
        }
        let tree = serde_json::to_value(config).unwrap_or_default();
        if self.validator.is_valid(&tree) {
            return Ok(());
        }
        let mut problems = Problems::new();
        for error in self.validator.iter_errors(&tree) {
            let pointer = format!("{}{}", at.pointer(), error.instance_path());
            let detail = format!("config of `{name}`: {error}");
            problems.push(Problem { pointer, code: Code::InvalidConfig, detail });
        }
        problems.or(())
    }
}

/// The problem of a name that nothing of a kind has, with the nearest that there is.
#[must_use]
pub fn unknown_name(kind: &str, name: &str, known: &[&str], code: Code, at: &At<'_>) -> Problems {
    let hint = nearest(name, known.iter().copied())
        .map_or_else(String::new, |name| format!("did you mean `{name}`? "));
    let detail = format!("there is no {kind} `{name}`; {hint}known ones: {}", known.join(", "));
    Problem { pointer: at.pointer(), code, detail }.into()
}
