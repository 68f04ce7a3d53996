//! The parameters of paths in the OpenAPI document: they follow from the path. A route declares only one whose
//! description or example is its own. Knows no route.

use serde_json::{Map, Value, json};

/// Whether a path has parameters: what they name may not exist.
pub(crate) fn has_some(path: &str) -> bool {
    path.contains('{')
}

/// Adds the parameters of a path that its operation does not declare.
pub(crate) fn add(path: &str, operation: &mut Map<String, Value>) {
    if !has_some(path) {
        return;
    }
    let declared = operation.entry("parameters").or_insert_with(|| json!([]));
    let Some(declared) = declared.as_array_mut() else { return };
    // The library infers those of handlers that extract them, without a description.
    declared.retain(|known| known["in"] != "path" || known.get("description").is_some());
    let is_missing =
        |name: &str| !declared.iter().any(|known| known["in"] == "path" && known["name"] == name);
    let of_path = parameters(path).filter(|(_, name)| is_missing(name));
    let missing: Vec<Value> =
        of_path.map(|(collection, name)| describe(collection, name)).collect();
    declared.splice(0..0, missing);
}

/// The parameters of a path, each with the segment before it.
fn parameters(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let segments = path.split('/').zip(path.split('/').skip(1));
    segments.filter_map(|(before, segment)| {
        Some((before, segment.strip_prefix('{')?.strip_suffix('}')?))
    })
}

fn describe(collection: &str, name: &str) -> Value {
    let description = match name {
        "id" => format!("The id of the {}", noun(collection)),
        "graph" => "The name or id of the graph".to_owned(),
        "delivery" => "The id of the message".to_owned(),
        "feedback" => "The id of the feedback".to_owned(),
        "path" => "The path of the predictor".to_owned(),
        "number" => "The number of the candidate".to_owned(),
        "version" => "The version".to_owned(),
        other => format!("The name of the {other}"),
    };
    json!({"name": name, "in": "path", "description": description, "required": true})
}

/// The noun of a collection: `runs` has runs, each a run.
fn noun(collection: &str) -> &str {
    match collection {
        "batches" => "batch",
        other => other.strip_suffix('s').unwrap_or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_that_of_a_resource_of_the_collection_before_it() {
        let mut operation = Map::new();
        operation.insert("parameters".to_owned(), json!([{"name": "id", "in": "query"}]));
        add("/v1/batches/{id}/items/{number}", &mut operation);
        let found = operation["parameters"].as_array().unwrap();
        let names: Vec<&str> = found.iter().filter_map(|found| found["name"].as_str()).collect();
        assert_eq!(names, ["id", "number", "id"]);
        assert_eq!(found[0]["description"], "The id of the batch");
    }

    #[test]
    fn a_parameter_that_the_library_infers_is_described() {
        let inferred = json!([{"name": "limit", "in": "query"}, {"name": "graph", "in": "path"}]);
        let mut operation = Map::from_iter([("parameters".to_owned(), inferred)]);
        add("/v1/graphs/{graph}/runs", &mut operation);
        let parameters = operation["parameters"].as_array().unwrap();
        assert_eq!(parameters.len(), 2);
        assert_eq!(parameters[0]["description"], "The name or id of the graph");
    }

    #[test]
    fn what_a_route_declares_is_not_added() {
        let declared =
            json!([{"name": "version", "in": "path", "description": "The state version"}]);
        let mut operation = Map::from_iter([("parameters".to_owned(), declared.clone())]);
        add("/v1/states/{version}", &mut operation);
        assert_eq!(operation["parameters"], declared);
    }
}
