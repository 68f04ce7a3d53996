//! Validates configs against a JSON Schema that is compiled once, and reports every problem. Also the
//! problem of an unknown name. Knows nothing of the configured things.

use jsonschema::Validator;

use super::nearest;
use crate::problem::{At, Code, Problem, Problems};
use crate::value::{Map, Payload};

/// The compiled schema of configs.
pub struct ConfigSchema {
    validator: Validator,
    /// Whether an empty config is valid: it needs no validation then.
    accepts_empty: bool,
}

impl ConfigSchema {
    /// Compiles a schema. Schemas of configs are constants of the program, so the tests of their
    /// owners find one that does not compile. In a release build it rejects every config.
    #[must_use]
    pub fn of(schema: &Payload) -> Self {
        // The validator reads values of serde_json; every payload converts to one.
        let schema = serde_json::to_value(schema).unwrap_or_default();
        let refuse_all = serde_json::Value::Bool(false);
        let validator = jsonschema::validator_for(&schema)
            .or_else(|_| jsonschema::validator_for(&refuse_all))
            .unwrap_or_else(|_| unreachable!("`false` is a JSON Schema"));
        let accepts_empty = validator.is_valid(&serde_json::Value::Object(serde_json::Map::new()));
        Self { validator, accepts_empty }
    }

    /// Validates the config of the thing with this name.
    ///
    /// # Errors
    /// Every problem, as `invalid_config`, with pointers below `at`, the place of the config.
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

/// The problem of an unknown name, with the nearest known one.
#[must_use]
pub fn unknown_name(kind: &str, name: &str, known: &[&str], code: Code, at: &At<'_>) -> Problems {
    let hint = nearest(name, known.iter().copied())
        .map_or_else(String::new, |name| format!("did you mean `{name}`? "));
    let detail = format!("there is no {kind} `{name}`; {hint}known ones: {}", known.join(", "));
    Problem { pointer: at.pointer(), code, detail }.into()
}
