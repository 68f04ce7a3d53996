//! Variants of schemas as schemas with names of their own, which generators of clients show to people. Knows the shapes
//! of schemas, and no route.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Completes the schemas of a document.
pub(super) fn complete(schemas: &mut Map<String, Value>) {
    if let Some(metric) = schemas.get_mut("Metric") {
        name_parts(metric);
        if let Some(name) = metric.pointer_mut("/oneOf/0").and_then(Value::as_object_mut) {
            name.insert("title".to_owned(), json!("MetricName"));
        }
    }
    let mut variants = BTreeMap::new();
    for (name, schema) in schemas.iter_mut() {
        for list in ["oneOf", "anyOf"] {
            let found = schema.get_mut(list).and_then(Value::as_array_mut);
            for variant in found.into_iter().flatten() {
                move_out(name, variant, &mut variants);
            }
        }
    }
    schemas.extend(variants);
}

/// A metric of metrics: the schema of the engine stands alone, so that it calls its parts only an object.
fn name_parts(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("description").is_some_and(|text| text == "a metric") {
                *schema = reference("Metric");
                return;
            }
            members.values_mut().for_each(name_parts);
        }
        Value::Array(items) => items.iter_mut().for_each(name_parts),
        _ => {}
    }
}

/// Replaces an object within a schema by a reference, and gives it a name: its title, or one of its kind.
fn move_out(schema: &str, variant: &mut Value, variants: &mut BTreeMap<String, Value>) {
    if let Some(title) = variant.get("title").and_then(Value::as_str) {
        let named = reference(title);
        variants.insert(title.to_owned(), std::mem::replace(variant, named));
        return;
    }
    let Some(kind) = kind_of(variant) else { return };
    let name = format!("{schema}{}", camel_case(&kind));
    let mut moved = std::mem::replace(variant, reference(&name));
    let options = moved.get_mut("properties").and_then(|members| members.get_mut(&kind));
    if let Some(options) = options.filter(|options| options.get("properties").is_some()) {
        let options_name = format!("{name}Options");
        let inner = std::mem::replace(options, reference(&options_name));
        variants.insert(options_name, inner);
    }
    variants.insert(name, moved);
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// The word that distinguishes a variant: that of its only possible `op`, else its first required member.
fn kind_of(variant: &Value) -> Option<String> {
    let members = variant.get("properties")?.as_object()?;
    let first = variant.get("required").and_then(|names| names.get(0));
    let op = members.get("op").and_then(|op| op["enum"].get(0));
    Some(op.or(first)?.as_str()?.to_owned())
}

fn camel_case(word: &str) -> String {
    let parts = word.split(['_', '-']).map(|part| {
        let mut letters = part.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_within_a_choice_becomes_a_schema_of_its_own() {
        let mut schemas = Map::new();
        let edit = json!({"oneOf": [
            {"type": "object", "required": ["name", "op"], "properties": {"name": {}, "op": {"enum": ["add_node"]}}},
            {"type": "string"}
        ]});
        schemas.insert("GraphEdit".to_owned(), edit);
        complete(&mut schemas);
        assert_eq!(
            schemas["GraphEdit"],
            json!({"oneOf": [{"$ref": "#/components/schemas/GraphEditAddNode"}, {"type": "string"}]})
        );
        assert_eq!(schemas["GraphEditAddNode"]["required"], json!(["name", "op"]));
    }

    #[test]
    fn the_parts_of_a_metric_are_metrics() {
        let document = crate::openapi();
        let mean = &document["components"]["schemas"]["MetricMean"]["properties"]["mean"];
        assert_eq!(mean["items"], json!({"$ref": "#/components/schemas/Metric"}));
    }
}
