//! The commands `keys` and `workspaces` beside a running server.

use dsrs_test::{Remote, ServerSetup, found};

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_managed_from_the_command_line_beside_a_running_server() {
    // With a private Postgres: the command uses that of the server.
    let setup = ServerSetup::new();
    let server = setup.start();
    let remote = Remote::new(&server.url);
    assert_eq!(remote.get("/v1/graphs").await.status, 200);
    setup.command(&["workspaces", "create", "team-a"]).unwrap();
    let key = ["keys", "create", "ci", "--workspace", "team-a", "--expires", "90d"];
    let key = setup.command(&key).unwrap();
    let key = key.strip_suffix('\n').unwrap();
    assert!(key.starts_with("dsrs_") && key.len() == 53, "only the key: {key}");
    remote.until("/v1/graphs", |answer| answer.status == 401).await;

    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str())];
    let get = || remote.send(reqwest::Method::GET, "/v1/graphs", &headers, None);
    assert_eq!(get().await.status, 200);
    let listed = setup.command(&["keys", "list", "--workspace", "team-a"]).unwrap();
    assert!(listed.contains("read,execute") && listed.contains("  ci\n"), "{listed}");
    assert!(!listed.contains(key), "{listed}");
    setup.command(&["keys", "revoke", "ci", "--workspace", "team-a"]).unwrap();
    found("a refusal of the revoked key", async || (get().await.status == 401).then_some(())).await;
    let refused = setup.command(&["keys", "create", "a b"]).unwrap_err();
    assert!(refused.contains("1 to 64 letters"), "{refused}");
    let refused = setup.command(&["keys", "revoke", "ci", "--workspace", "nowhere"]).unwrap_err();
    assert!(refused.contains("there is no workspace `nowhere`"), "{refused}");
}
