//! Operations in a form that every generator for OpenAPI 3.0 reads: one media type for each body, and one kind of answer
//! each for success and for failure. Knows no schema.

use serde_json::{Map, Value};

/// The media types that stay, first choice first; without one of them, the first of the body stays.
const CHOICES: [&str; 2] = ["application/problem+json", "application/json"];

pub(super) fn convert(operation: &mut Map<String, Value>) {
    if let Some(body) = operation.get_mut("requestBody") {
        choose_media_type(body);
    }
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else {
        return;
    };
    responses.values_mut().for_each(choose_media_type);
    choose_success(responses);
    replace_default(responses);
}

fn choose_media_type(body: &mut Value) {
    let Some(content) = body.get_mut("content").and_then(Value::as_object_mut) else { return };
    let found = CHOICES.into_iter().find(|name| content.contains_key(*name));
    let chosen = found.or_else(|| content.keys().next().map(String::as_str)).map(str::to_owned);
    content.retain(|name, _| Some(name) == chosen.as_ref());
}

/// Of answers of success with and without a body, those with one stay.
fn choose_success(responses: &mut Map<String, Value>) {
    let is_success = |status: &str| status.starts_with('2');
    let has_body = |response: &Value| response.get("content").is_some();
    if responses.iter().any(|(status, response)| is_success(status) && has_body(response)) {
        responses.retain(|status, response| !is_success(status) || has_body(response));
    }
}

/// What is answered to anything else is a failure.
fn replace_default(responses: &mut Map<String, Value>) {
    if let Some(response) = responses.shift_remove("default") {
        for statuses in ["4XX", "5XX"] {
            responses.entry(statuses).or_insert_with(|| response.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_media_type_and_one_kind_of_answer_stay() {
        let mut operation = json!({
            "requestBody": {"content": {"text/csv": 1, "application/json": 2}},
            "responses": {
                "200": {"content": {"text/event-stream": 1}},
                "202": {"description": "Later"},
                "304": {"description": "Unchanged"},
                "400": {"content": {"application/json": 1, "application/problem+json": 2}},
                "default": {"content": {"text/plain": 1, "text/html": 2}},
            },
        });
        convert(operation.as_object_mut().unwrap());
        let failure = json!({"content": {"text/plain": 1}});
        let expected = json!({
            "requestBody": {"content": {"application/json": 2}},
            "responses": {
                "200": {"content": {"text/event-stream": 1}},
                "304": {"description": "Unchanged"},
                "400": {"content": {"application/problem+json": 2}},
                "4XX": failure, "5XX": failure,
            },
        });
        assert_eq!(operation, expected);
    }

    #[test]
    fn answers_without_a_body_stay_if_none_has_one() {
        let mut operation = json!({"responses": {"202": {}, "204": {}}});
        let before = operation.clone();
        convert(operation.as_object_mut().unwrap());
        assert_eq!(operation, before);
    }
}
