//! A value without the members that a closed JSON Schema does not have. The value fits the schema otherwise: its type was
//! checked before. Knows no protocol.

use std::cell::Cell;

use serde_json::{Map, Value};

/// How often a schema is compared with a part of a value: alternatives in alternatives multiply.
const STEPS: u32 = 1_000_000;

/// The value as the schema allows it; `None` if the schema takes too many steps.
pub(super) fn cut_to_schema(value: &Value, schema: &Value) -> Option<Value> {
    let cut = SchemaCut { root: schema, steps: Cell::new(STEPS) };
    cut.value(value, schema)
}

struct SchemaCut<'s> {
    root: &'s Value,
    steps: Cell<u32>,
}

impl<'s> SchemaCut<'s> {
    fn value(&self, value: &Value, schema: &'s Value) -> Option<Value> {
        let schema = self.resolved(schema)?;
        if let Some(variants) = alternatives(schema) {
            for variant in variants {
                if self.accepts(value, variant)? {
                    return self.value(value, variant);
                }
            }
            return Some(value.clone());
        }
        if let Some([only]) = schema["allOf"].as_array().map(Vec::as_slice) {
            return self.value(value, only);
        }
        match value {
            Value::Object(members) => self.object(members, schema),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(at, item)| self.value(item, item_schema(schema, at)));
                items.collect::<Option<Vec<_>>>().map(Value::Array)
            }
            other => Some(other.clone()),
        }
    }

    fn object(&self, members: &Map<String, Value>, schema: &'s Value) -> Option<Value> {
        let others = &schema["additionalProperties"];
        let mut found = Map::new();
        for (name, value) in members {
            match schema["properties"].get(name) {
                Some(member) => found.insert(name.clone(), self.value(value, member)?),
                None if *others == false => None,
                None => found.insert(name.clone(), self.value(value, others)?),
            };
        }
        Some(Value::Object(found))
    }

    /// Whether a value fits, apart from members that the schema does not have.
    fn accepts(&self, value: &Value, schema: &'s Value) -> Option<bool> {
        let schema = self.resolved(schema)?;
        if let Some(variants) = alternatives(schema) {
            return self.any(variants.iter(), |variant| self.accepts(value, variant));
        }
        let fits = has_type(value, &schema["type"])
            && schema.get("const").is_none_or(|only| only == value)
            && schema["enum"].as_array().is_none_or(|values| values.contains(value));
        if !fits {
            return Some(false);
        }
        let parts = schema["allOf"].as_array().into_iter().flatten();
        if self.any(parts, |part| Some(!self.accepts(value, part)?))? {
            return Some(false);
        }
        match value {
            Value::Object(members) => self.accepts_members(members, schema),
            Value::Array(items) => {
                let misfit = |(at, item)| Some(!self.accepts(item, item_schema(schema, at))?);
                Some(!self.any(items.iter().enumerate(), misfit)?)
            }
            _ => Some(true),
        }
    }

    fn accepts_members(&self, members: &Map<String, Value>, schema: &'s Value) -> Option<bool> {
        let needed = schema["required"].as_array().into_iter().flatten();
        let mut needed = needed.filter_map(Value::as_str);
        if needed.any(|name| !members.contains_key(name)) {
            return Some(false);
        }
        let misfit = |(name, value): (&String, &Value)| match schema["properties"].get(name) {
            Some(member) => Some(!self.accepts(value, member)?),
            None if schema["additionalProperties"].is_object() => {
                Some(!self.accepts(value, &schema["additionalProperties"])?)
            }
            None => Some(false),
        };
        Some(!self.any(members.iter(), misfit)?)
    }

    fn any<T>(
        &self,
        items: impl Iterator<Item = T>,
        holds: impl Fn(T) -> Option<bool>,
    ) -> Option<bool> {
        for item in items {
            if holds(item)? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The schema that a reference names. Each is a step, so that a circle ends.
    fn resolved(&self, mut schema: &'s Value) -> Option<&'s Value> {
        loop {
            self.steps.set(self.steps.get().checked_sub(1)?);
            let Some(reference) = schema["$ref"].as_str() else { return Some(schema) };
            let target = reference.strip_prefix('#').and_then(|found| self.root.pointer(found));
            let Some(target) = target else { return Some(schema) };
            schema = target;
        }
    }
}

fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array())
}

/// The schema of an item of a list.
fn item_schema(schema: &Value, at: usize) -> &Value {
    schema["prefixItems"].get(at).unwrap_or(&schema["items"])
}

/// Whether a value has the type, or one of the types, of a schema.
fn has_type(value: &Value, kinds: &Value) -> bool {
    let is = |kind: &str| match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "array" => value.is_array(),
        _ => value.is_object(),
    };
    match kinds {
        Value::String(kind) => is(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}
