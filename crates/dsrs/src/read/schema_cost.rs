//! What a JSON Schema costs at most where it is applied: how often a place of a value is visited, and
//! how deep the visits nest. A schema that refers to itself may visit a place again and again. Knows
//! the keywords that apply other schemas, and no validator.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// The deepest value to which a schema is applied.
pub(super) const VALUE_DEPTH: usize = 32;

/// The most visits of one branch of a value.
const VISITS: u64 = 5_000;

/// The deepest nesting of visits.
const NESTED: usize = 128;

/// Keywords with one schema for the same place.
const SAME: [&str; 4] = ["not", "if", "then", "else"];

/// Keywords with a list of schemas for the same place.
const SAME_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Keywords with named schemas for the same place.
const SAME_NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];

/// The kind of a value with parts. A place has one, whichever schemas apply to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Parted {
    List,
    Object,
}

impl Parted {
    /// Keywords of which one schema applies to a part.
    fn one_of(self) -> &'static [&'static str] {
        match self {
            Self::List => &["prefixItems", "items"],
            Self::Object => &["properties"],
        }
    }

    /// Keywords with one schema for every part.
    fn every(self) -> &'static [&'static str] {
        match self {
            Self::List => &["items", "additionalItems", "contains", "unevaluatedItems"],
            Self::Object => &["additionalProperties", "propertyNames", "unevaluatedProperties"],
        }
    }
}

/// Keywords that visit again what others have visited.
const AGAIN: [&str; 2] = ["unevaluatedItems", "unevaluatedProperties"];

/// The visits below a schema, for values of some depth.
#[derive(Clone, Copy)]
struct Visits {
    count: u64,
    nested: usize,
}

/// The most visits of one branch of a value to which a schema is applied.
///
/// # Errors
/// If they have no bound, or one that is too high, or if a reference is not supported.
pub(super) fn visits_of(root: &Value) -> Result<u64, String> {
    let mut cost = SchemaCost { root, known: HashMap::new() };
    Ok(cost.of_any(root, VALUE_DEPTH, 0)?.count)
}

struct SchemaCost<'s> {
    root: &'s Value,
    /// By address, depth and kind of the value; `None` while it is computed.
    known: HashMap<(*const Value, usize, Parted), Option<Visits>>,
}

impl<'s> SchemaCost<'s> {
    /// For a value of the worse kind.
    fn of_any(&mut self, schema: &'s Value, depth: usize, above: usize) -> Result<Visits, String> {
        let mut visits = self.of(schema, (depth, Parted::List), above)?;
        visits.raise(self.of(schema, (depth, Parted::Object), above)?);
        Ok(visits)
    }

    fn of(
        &mut self,
        schema: &'s Value,
        (depth, kind): (usize, Parted),
        above: usize,
    ) -> Result<Visits, String> {
        let Value::Object(members) = schema else { return Ok(Visits { count: 1, nested: 1 }) };
        let key = (std::ptr::from_ref(schema), depth, kind);
        let cost = match self.known.get(&key) {
            Some(Some(cost)) => *cost,
            Some(None) => return Err("a `$ref` leads to itself".to_owned()),
            None => {
                check_nesting(above)?;
                self.known.insert(key, None);
                let cost = self.compute(members, (depth, kind), above + 1)?;
                self.known.insert(key, Some(cost));
                cost
            }
        };
        check_nesting(above + cost.nested)?;
        if cost.count > VISITS {
            return Err(format!(
                "a value may be checked more than {VISITS} times at the same place; use fewer \
                 references and alternatives"
            ));
        }
        Ok(cost)
    }

    fn compute(
        &mut self,
        members: &'s Map<String, Value>,
        (depth, kind): (usize, Parted),
        above: usize,
    ) -> Result<Visits, String> {
        let listed = members.get("enum").and_then(Value::as_array).map_or(0, Vec::len);
        let mut sum = Visits { count: 1 + listed as u64 / 16, nested: 0 };
        for schema in self.same_place(members)? {
            sum.add(self.of(schema, (depth, kind), above)?);
        }
        if let Some(below) = depth.checked_sub(1) {
            sum.add(self.of_parts(members, (below, kind), above)?);
        }
        if AGAIN.iter().any(|name| members.contains_key(*name)) {
            sum.count = sum.count.saturating_mul(4);
        }
        Ok(Visits { nested: sum.nested + 1, ..sum })
    }

    /// For one part of the value.
    fn of_parts(
        &mut self,
        members: &'s Map<String, Value>,
        (below, kind): (usize, Parted),
        above: usize,
    ) -> Result<Visits, String> {
        let mut sum = Visits { count: 0, nested: 0 };
        for keyword in kind.one_of() {
            let mut most = Visits { count: 0, nested: 0 };
            // `items` may be a list of schemas, or a single one for every part.
            let group = members.get(*keyword).filter(|g| *keyword != "items" || g.is_array());
            for schema in group.into_iter().flat_map(several) {
                most.raise(self.of_any(schema, below, above)?);
            }
            sum.add(most);
        }
        let every = kind.every().iter().filter_map(|name| members.get(*name));
        let patterns = members.get("patternProperties").filter(|_| kind == Parted::Object);
        let patterns = patterns.into_iter().flat_map(several);
        for schema in every.filter(|schema| !schema.is_array()).chain(patterns) {
            sum.add(self.of_any(schema, below, above)?);
        }
        Ok(sum)
    }

    /// The schemas that apply to the same place.
    fn same_place(&self, members: &'s Map<String, Value>) -> Result<Vec<&'s Value>, String> {
        let mut found: Vec<&Value> = SAME.iter().filter_map(|name| members.get(*name)).collect();
        let groups = SAME_LISTS.iter().chain(&SAME_NAMED).filter_map(|name| members.get(*name));
        found.extend(groups.flat_map(several));
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            found.push(self.target(reference)?);
        }
        Ok(found)
    }

    fn target(&self, reference: &str) -> Result<&'s Value, String> {
        let pointer = reference.strip_prefix('#').filter(|rest| !rest.contains('%'));
        pointer.and_then(|pointer| self.root.pointer(pointer)).ok_or_else(|| {
            let shown: String = reference.chars().take(100).collect();
            format!("`$ref` is a pointer into the schema such as `#/$defs/name`, found `{shown}`")
        })
    }
}

impl Visits {
    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.nested = self.nested.max(other.nested);
    }

    fn raise(&mut self, other: Self) {
        self.count = self.count.max(other.count);
        self.nested = self.nested.max(other.nested);
    }
}

fn check_nesting(nested: usize) -> Result<(), String> {
    match nested > NESTED {
        true => Err(format!("its schemas lead more than {NESTED} levels deep into a value")),
        false => Ok(()),
    }
}

/// The schemas of a list or of named members; none of a single schema.
fn several(group: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match group {
        Value::Array(elements) => Box::new(elements.iter()),
        Value::Object(members) => Box::new(members.values()),
        _ => Box::new(std::iter::empty()),
    }
}
