//! JSON Schemas of values, which callers and other servers write: bounded in size, depth, references
//! and patterns, compiled once, and applied with bounded work. Knows nothing of tools.

use jsonschema::{PatternOptions, ValidationOptions, Validator};
use serde_json::Value;

use super::schema_cost::{VALUE_DEPTH, visits_of};
use crate::time_limit::TimeLimit;

/// The most values in a schema.
const VALUES: usize = 10_000;

/// The deepest nesting of a schema.
const DEPTH: usize = 64;

/// The most references.
const REFERENCES: usize = 1_000;

/// The most patterns.
const PATTERNS: usize = 100;

/// The longest pattern, in bytes.
const PATTERN_LENGTH: usize = 1_000;

/// The largest compiled pattern, in bytes.
const PATTERN_SIZE: usize = 1 << 20;

/// The most work of one check: visits of values and of pieces of texts.
const WORK: u64 = 20_000_000;

/// The bytes of a text that count as one value.
const PIECE: usize = 16;

/// A JSON Schema of values that a stranger may have written: compiling and applying it takes bounded work.
///
/// ```
/// use dsrs::read::ValueSchema;
///
/// let schema = r#"{"properties": {"age": {"maximum": 150}, "born": {"format": "date"}}}"#;
/// let schema = ValueSchema::with_formats(schema).unwrap();
/// assert!(schema.problems_in(r#"{"age": 30, "born": "1996-02-29"}"#, 5).is_empty());
/// assert_eq!(schema.problems_in(r#"{"age": 151}"#, 5)[0].0, "/age");
/// ```
pub struct ValueSchema {
    validator: Validator,
    /// How often one branch of a value is visited at most.
    visits: u64,
}

impl ValueSchema {
    /// Compiles a schema. Its `format`s say nothing about values.
    ///
    /// # Errors
    /// If it is no JSON Schema, or beyond a limit.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        Self::with(schema, jsonschema::options())
    }

    /// Compiles the JSON text of a schema whose `format`s values have to keep. A format that is not known is refused.
    ///
    /// # Errors
    /// If it is no JSON Schema, or beyond a limit.
    pub fn with_formats(schema: &str) -> Result<Self, String> {
        let schema = serde_json::from_str(schema).map_err(|error| error.to_string())?;
        let options = jsonschema::options().should_validate_formats(true);
        Self::with(&schema, options.should_ignore_unknown_formats(false))
    }

    fn with(schema: &Value, options: ValidationOptions) -> Result<Self, String> {
        Census::of(schema)?;
        let visits = visits_of(schema)?;
        let patterns = PatternOptions::regex().size_limit(PATTERN_SIZE);
        let options = options.with_pattern_options(patterns);
        let validator = options.build(schema).map_err(|error| shortened(&error.to_string()))?;
        Ok(Self { validator, visits })
    }

    /// The first `most` problems of a value in JSON: the place of each as a JSON Pointer, and what is wrong.
    #[must_use]
    pub fn problems_in(&self, json: &str, most: usize) -> Vec<(String, String)> {
        match serde_json::from_str(json) {
            Ok(value) => self.problems(&value, most),
            Err(error) => vec![(String::new(), error.to_string())],
        }
    }

    /// The same, of a value.
    pub(crate) fn problems(&self, value: &Value, most: usize) -> Vec<(String, String)> {
        let at_root = |reason: String| vec![(String::new(), reason)];
        let Some(size) = size(value, VALUE_DEPTH) else {
            return at_root(format!("nested deeper than {VALUE_DEPTH} levels"));
        };
        if size.saturating_mul(self.visits) > WORK || TimeLimit::is_over() {
            return at_root("too large to be checked by this schema".to_owned());
        }
        let problems = self.validator.iter_errors(value).take(most);
        problems.map(|error| (error.instance_path().to_string(), error.to_string())).collect()
    }
}

/// The counted parts of a schema.
#[derive(Default)]
struct Census {
    values: usize,
    references: usize,
    patterns: usize,
}

impl Census {
    fn of(schema: &Value) -> Result<(), String> {
        let mut census = Self::default();
        census.count(schema, DEPTH)?;
        let ids = schema.as_object().into_iter().flat_map(serde_json::Map::values);
        if census.references > 0 && ids.into_iter().any(has_id) {
            return Err("`$ref` beside an inner `$id` is not supported".to_owned());
        }
        Ok(())
    }

    fn count(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        let depth = depth.checked_sub(1).ok_or(format!("nested deeper than {DEPTH} levels"))?;
        self.values += 1;
        within("values", self.values, VALUES)?;
        match value {
            Value::Array(elements) => elements.iter().try_for_each(|e| self.count(e, depth)),
            Value::Object(members) => members.iter().try_for_each(|(name, member)| {
                self.keyword(name, member)?;
                self.count(member, depth)
            }),
            _ => Ok(()),
        }
    }

    fn keyword(&mut self, name: &str, member: &Value) -> Result<(), String> {
        match (name, member) {
            ("$ref", Value::String(_)) => self.references += 1,
            ("$dynamicRef" | "$recursiveRef", Value::String(_)) => {
                return Err(format!("`{name}` is not supported; use `$ref`"));
            }
            ("pattern", Value::String(pattern)) => self.pattern(pattern)?,
            ("patternProperties", Value::Object(members)) => {
                members.keys().try_for_each(|pattern| self.pattern(pattern))?;
            }
            _ => {}
        }
        within("references", self.references, REFERENCES)
    }

    fn pattern(&mut self, pattern: &str) -> Result<(), String> {
        self.patterns += 1;
        within("patterns", self.patterns, PATTERNS)?;
        within("bytes in a pattern", pattern.len(), PATTERN_LENGTH)
    }
}

fn within(what: &str, found: usize, most: usize) -> Result<(), String> {
    if found > most { Err(format!("more than {most} {what}")) } else { Ok(()) }
}

/// Whether a schema names itself for references, at any depth.
fn has_id(value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements.iter().any(has_id),
        Value::Object(members) => {
            let names = ["$id", "id", "$anchor"];
            let named = names.iter().any(|name| members.get(*name).is_some_and(Value::is_string));
            named || members.values().any(has_id)
        }
        _ => false,
    }
}

/// The size of a value; `None` if it is too deep.
fn size(value: &Value, depth: usize) -> Option<u64> {
    let depth = depth.checked_sub(1)?;
    let add = |sum: u64, part: &Value| Some(sum.saturating_add(size(part, depth)?));
    match value {
        Value::String(text) => Some(1 + (text.len() / PIECE) as u64),
        Value::Array(elements) => elements.iter().try_fold(1, add),
        Value::Object(members) => {
            let names: usize = members.keys().map(|name| name.len() / PIECE).sum();
            members.values().try_fold(1 + names as u64, add)
        }
        _ => Some(1),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(500) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(schema: &Value) -> String {
        ValueSchema::compile(schema).err().unwrap()
    }

    fn problems(schema: &Value, value: &Value) -> Vec<(String, String)> {
        ValueSchema::compile(schema).unwrap().problems(value, 5)
    }

    /// `count` definitions, each made from a reference to the next one.
    fn chain(count: usize, link: impl Fn(Value) -> Value) -> Value {
        let next = |number: usize| json!({"$ref": format!("#/$defs/d{}", number + 1)});
        let mut defs: serde_json::Map<_, _> =
            (0..count).map(|number| (format!("d{number}"), link(next(number)))).collect();
        defs.insert(format!("d{count}"), json!({"type": "string", "maxLength": 3}));
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    }

    #[test]
    fn usual_schemas_with_references_are_applied() {
        let tree = json!({
            "type": "object",
            "$defs": {"node": {"type": "object", "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}},
            "properties": {"root": {"$ref": "#/$defs/node"}},
        });
        let value = json!({"root": {"value": 1, "children": [{"value": "x", "children": []}]}});
        let found = problems(&tree, &value);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "/root/children/0/value");
        assert!(problems(&tree, &json!({"root": {"value": 1}})).is_empty());
        let any = json!({"anyOf": [
            {"type": "array", "items": {"$ref": "#"}},
            {"type": "object", "additionalProperties": {"$ref": "#"}},
            {"type": ["string", "number", "boolean", "null"]}]});
        assert!(problems(&any, &json!({"a": [1, {"b": null}]})).is_empty());
    }

    #[test]
    fn schemas_that_would_check_a_value_without_end_are_refused() {
        for (schema, part) in [
            (json!({"$ref": "#"}), "leads to itself"),
            (chain(40, |next| json!({"anyOf": [next, next]})), "more than 5000 times"),
            (chain(40, |next| json!({"anyOf": [next, {"items": next}]})), "more than 5000 times"),
            (
                json!({"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}),
                "more than 5000",
            ),
            (chain(400, |next| json!({"allOf": [next]})), "levels deep"),
            (json!({"$ref": "http://example.com/x"}), "pointer into the schema"),
            (json!({"items": {"$dynamicRef": "#a"}}), "not supported"),
            (json!({"items": {"$id": "a"}, "not": {"$ref": "#/items"}}), "inner `$id`"),
            (json!({"items": {"pattern": "(a|a(?=a))*b"}}), "regex"),
            (json!({"pattern": "x".repeat(1_001)}), "more than 1000 bytes"),
            (json!({"enum": vec![1; 10_001]}), "more than 10000 values"),
            (json!({"type": "nothing"}), "nothing"),
        ] {
            let found = refusal(&schema);
            assert!(found.contains(part), "{part}: {found}");
        }
    }

    /// The stack of `hostile_texts.rs`.
    const STACK: usize = if cfg!(debug_assertions) { 2 << 20 } else { 512 << 10 };

    #[test]
    fn the_deepest_schemas_and_values_need_a_small_stack() {
        let wrap = |schema: Value| json!({"allOf": [schema]});
        let same_place = chain(55, wrap);
        let inner = wrap(json!({"$ref": "#"}));
        let recursive = json!({"items": inner, "properties": {"a": inner}, "maxItems": 1});
        let list = (0..31).fold(json!("long text"), |value, _| json!([value]));
        let object = (0..31).fold(json!([1, 2]), |value, _| json!({"a": value}));
        let deep = (0..63).fold(json!({}), |schema, _| json!({"not": schema}));
        let check = move || {
            for schema in [same_place, recursive, deep] {
                let schema = ValueSchema::compile(&schema).unwrap();
                for value in [&list, &object, &json!("long text")] {
                    schema.problems(value, 5);
                }
            }
            // A parsed text nests no deeper.
            for depth in [64, 100, 127] {
                let schema = (0..depth).fold(json!({}), |schema, _| json!({"not": schema}));
                assert!(ValueSchema::compile(&schema).is_err());
            }
        };
        std::thread::Builder::new().stack_size(STACK).spawn(check).unwrap().join().unwrap();
    }

    #[test]
    fn values_that_are_too_deep_or_too_large_are_refused() {
        let open = json!({"items": {"$ref": "#"}});
        let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
        assert!(problems(&open, &deep)[0].1.contains("deeper than 32"));
        let many = json!({"not": {"anyOf": vec![json!({"pattern": "a"}); 50]}});
        let long = json!("b".repeat(16 << 20));
        assert!(problems(&many, &long)[0].1.contains("too large"));
    }
}
