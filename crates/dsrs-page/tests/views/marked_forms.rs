//! A problem marks its field, and the first one has the focus, wherever the field is.

use serde_json::json;

use super::{submit, words};
use crate::Api;
use dsrs_test::one_node;

/// The field with this name, up to the end of its label.
fn field<'h>(html: &'h str, name: &str) -> &'h str {
    let field = html.split(&format!("name=\"{name}\"")).nth(1).unwrap_or_else(|| panic!("{html}"));
    &field[..field.find("</label>").unwrap()]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_of_an_optimization_is_marked_for_its_problem() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let named = [("/name", "s"), ("/cron", "@daily"), ("/graph", "q"), ("/target", "optimization")];
    for (name, text) in [
        ("/request/budget/lm_calls", "many"),
        ("/request/budget/seconds", "-1"),
        ("/request/activate", "always"),
        ("/request/seed", "x"),
    ] {
        let fields = [("/request/trainset/dataset", "d"), (name, text)];
        let refused = submit(&api, "/schedules", &[&named[..], &fields].concat()).await.expect(422);
        let shown = field(&refused.text, name);
        assert!(shown.contains("aria-invalid=\"true\""), "{name}: {shown}");
        assert!(shown.contains("field-problem"), "{name}: {shown}");
        assert_eq!(refused.text.matches(" autofocus").count(), 1, "{name}");
    }
    let target = [("/name", "s"), ("/cron", "@daily"), ("/graph", "q"), ("/target", "walk")];
    let refused = submit(&api, "/schedules", &target).await.expect(422);
    let shown = field(&refused.text, "/target");
    assert!(shown.contains("aria-invalid=\"true\"") && shown.contains("autofocus"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_problem_of_a_request_as_a_whole_is_in_view() {
    let api = Api::new().await;
    let node = json!({"strategy": "await", "signature": "letter -> approved: bool"});
    api.post("/v1/graphs", json!({"name": "q", "nodes": {"approve": node}})).await.expect(201);
    let fields = [
        ("/name", "s"),
        ("/cron", "@daily"),
        ("/graph", "q"),
        ("/target", "batch"),
        ("/request/items", "{\"letter\": \"a\"}"),
    ];
    let refused = submit(&api, "/schedules", &fields).await.expect(422).text;
    let shown = words(&refused);
    assert!(shown.contains("/request: node `approve` waits"), "{shown}");
    assert!(!shown.contains("/request/:"), "{shown}");
    let fold = refused.split("Versions, limits and labels").next().unwrap();
    assert!(fold.ends_with("<details open><summary>"), "the fold is open");
}
