//! `/parse`: the reading of a text, with its repairs.

use super::{open, submit, words};
use crate::Api;

#[tokio::test(flavor = "multi_thread")]
async fn the_example_is_read_with_its_repairs_marked() {
    let api = Api::new().await;
    let view = open(&api, "/parse").await.expect(200);
    let text = words(&view.text);
    assert!(text.contains("9 repairs") && text.contains("penalty 10"), "{text}");
    assert!(
        view.text.contains("<mark title=\"number, kind\">&quot;1,200&quot;<sup>1, 2</sup></mark>")
    );
    assert!(text.contains("quotes Quotes other than"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reading_has_an_address_and_markup_in_it_is_text() {
    let api = Api::new().await;
    let path = "/parse?target=list%5Bstr%5D&as=type&text=%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    let view = open(&api, path).await.expect(200);
    assert!(view.text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{}", view.text);
    assert!(!view.text.contains("<script>alert"), "{}", view.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_explained() {
    let api = Api::new().await;
    let read =
        |target: &'static str, types: &'static str, text: &'static str, kind: &'static str| {
            let api = &api;
            let fields = [("target", target), ("types", types), ("text", text), ("as", kind)];
            async move { words(&submit(api, "/parse", &fields).await.expect(200).text) }
        };
    let misfit = read("int", "", "none at all", "type").await;
    assert!(
        misfit.contains("does not fit") && misfit.contains("expected a whole number"),
        "{misfit}"
    );
    let unknown = read("list[Card]", "{\"Crad\": {\"class\": {}}}", "x", "type").await;
    assert!(unknown.contains("not read") && unknown.contains("Card"), "{unknown}");
    let broken = read("A", "{\"A\": ", "x", "type").await;
    assert!(broken.contains("not read") && broken.contains("/types"), "{broken}");
    let answer = read("q -> mood: bool", "", "[[ ## mood ## ]]\nyes", "signature").await;
    assert!(answer.contains("&quot;mood&quot; : true"), "{answer}");
}
