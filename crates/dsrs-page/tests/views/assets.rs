//! Stylesheets and scripts: under hashed names, stored by browsers.

use super::open;
use crate::Api;

#[tokio::test(flavor = "multi_thread")]
async fn a_view_names_assets_that_exist_and_that_browsers_store() {
    let api = Api::new().await;
    let view = open(&api, "/parse").await.expect(200);
    let mut named = 0;
    for piece in view.text.split("\"/assets/").skip(1) {
        let path = format!("/assets/{}", piece.split('"').next().unwrap());
        let asset = api.get(&path).await.expect(200);
        assert_eq!(asset.header("cache-control"), "public, max-age=31536000, immutable", "{path}");
        assert_eq!(asset.header("x-content-type-options"), "nosniff");
        named += 1;
    }
    assert!(named >= 6, "{named} assets");
    let other = api.get("/assets/000000000000/page.css").await.expect(200);
    assert_eq!(other.header("cache-control"), "no-cache");
    assert_eq!(api.get("/assets/000000000000/..%2Fmod.rs").await.status, 404);
    assert_eq!(api.get("/assets/000000000000/none.css").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_view_forbids_what_the_server_does_not_send_itself() {
    let api = Api::new().await;
    for path in ["/", "/parse", "/search?q=a", "/sign-in", "/nowhere", "/graphs/none"] {
        let view = open(&api, path).await;
        let policy = view.header("content-security-policy");
        for part in
            ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]
        {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(view.header("x-frame-options"), "DENY", "{path}");
        assert!(!view.text.contains(" style=\"") && !view.text.contains(" onclick"), "{path}");
    }
}
