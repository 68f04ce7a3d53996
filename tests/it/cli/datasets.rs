//! `datasets push` and `list`.

use super::Shell;
use crate::Api;

const TABLE: &str = "country,capital\nFrance,Paris\n\"Korea, South\",Seoul\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_pushed_once_and_again_when_it_changes() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    shell.write("capitals.csv", TABLE);
    let push = ["datasets", "push", "capitals.csv", "--inputs", "country"];
    let created = shell.run(&push).await.expect(0);
    assert_eq!(created.stdout, "capitals created, version 1 with 2 examples (0 duplicates)\n");
    let again = shell.run(&push).await.expect(0);
    assert!(again.stdout.starts_with("capitals unchanged, version 1 "), "{}", again.stdout);
    shell.write("capitals.csv", format!("{TABLE}Peru,Lima\n"));
    let changed = shell.run(&push).await.expect(0);
    assert!(changed.stdout.starts_with("capitals changed, version 2 with 3 "), "{changed:?}");
    let listed = shell.run(&["datasets", "list"]).await.expect(0);
    assert_eq!(listed.rows()[0][..3], ["capitals", "2", "3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_come_from_a_file_or_from_stdin() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    let lines = "{\"inputs\": {\"country\": \"Peru\"}, \"expected\": {\"capital\": \"Lima\"}}\n";
    shell.write("some.jsonl", lines);
    shell.run(&["datasets", "push", "some.jsonl"]).await.expect(0);
    let push = ["datasets", "push", "-", "--format", "jsonl", "--name", "some"];
    let same = shell.run_with(&push, lines).await.expect(0);
    assert!(same.stdout.starts_with("some unchanged"), "{}", same.stdout);
    shell.run_with(&["datasets", "push", "-", "--format", "jsonl"], lines).await.expect(2);
    let examples = api.get("/v1/datasets/some/examples").await.expect(200).json();
    assert_eq!(examples["items"][0]["expected"]["capital"], "Lima");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_line_is_refused_with_its_place_and_an_unknown_format_before_any_request() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    shell.write("bad.jsonl", "{\"inputs\": {\"a\": 1}}\n{\"inputs\": 3}\n");
    let refused = shell.run(&["datasets", "push", "bad.jsonl"]).await.expect(1);
    assert!(refused.stderr.contains("bad.jsonl: /examples/1/inputs: "), "{}", refused.stderr);
    shell.write("bad.xls", "x");
    shell.run(&["datasets", "push", "bad.xls"]).await.expect(2);
    api.get("/v1/datasets/bad").await.expect(404);
}
