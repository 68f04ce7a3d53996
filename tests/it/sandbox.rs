//! The server's binary as the child process of the sandbox, and the walls that the server finds. The
//! tests of `crates/dsrs-sandbox` cover what a sandbox refuses.

use std::time::Duration;

use dsrs::sandbox::{Sandbox, SandboxFailure, SandboxLimits};
use dsrs::value::{Fields, Payload};
use dsrs_config::SANDBOX_COMMAND;
use dsrs_sandbox::{ChildSandbox, Wall};
use serde_json::json;

use dsrs_test::{Does, FakeLm, Remote, ServerSetup, program, sections, test_database};

#[tokio::test]
async fn the_server_runs_a_program_in_a_child_of_itself() {
    let limits = SandboxLimits { time: Duration::from_secs(600), ..SandboxLimits::default() };
    let sandbox = ChildSandbox::new(program(), &[SANDBOX_COMMAND], limits);
    let inputs = Fields::from_iter([("n".into(), Payload::Int(7))]);
    let ran = sandbox.run("print('hi')\nn * 6", &inputs).await.unwrap();
    assert_eq!((&*ran.printed, ran.value), ("hi\n", Payload::Int(42)));

    // Another allocator than that of the small child, under the same limit.
    let creeping = "x = []\nwhile True:\n    x.append('a' * 10 ** 6 + str(len(x)))";
    for (code, kind) in
        [(creeping, SandboxFailure::Memory), ("open('/etc/passwd')", SandboxFailure::Denied)]
    {
        let error = sandbox.run(code, &inputs).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_finds_its_walls_and_shows_them_in_the_metrics_alone() {
    let setup = ServerSetup::new().database(&test_database().await);
    let server = setup.start();
    let remote = Remote::new(&server.url);
    let metrics = remote.get("/metrics").await.expect(200).text;
    for wall in Wall::of_platform() {
        let line = format!("dsrs_sandbox_wall{{wall=\"{wall}\"}} 1\n");
        assert!(metrics.contains(&line), "{line}\n{metrics}");
    }
    assert!(metrics.contains("dsrs_sandbox_usable 1\n"), "{metrics}");
    let log = std::fs::read_to_string(setup.log()).unwrap();
    assert!(log.contains("walls of the sandbox"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_required_wall_accepts_definitions_and_refuses_programs() {
    let program = sections([("reasoning", "Add them."), ("generated_code", "sum(numbers)")]);
    let lm = FakeLm::doing([Does::Say(program)]).await;
    let setup = ServerSetup::new().database(&test_database().await).without_setuid();
    let setup = setup.env("OPENAI_BASE_URL", &lm.url).env("DSRS_SANDBOX_REQUIRE", "user,rlimits");
    let server = setup.start();
    let remote = Remote::new(&server.url);
    let node =
        json!({"strategy": "program_of_thought", "signature": "numbers: list[int] -> sum: int"});
    let graph = json!({"name": "sums", "nodes": {"sum": node}});
    remote.post("/v1/graphs", graph).await.expect(201);
    let asked = json!({"inputs": {"numbers": [1, 2]}});
    let refused = remote.post("/v1/graphs/sums/execute", asked).await.expect(500);
    assert_eq!(refused.code(), "sandbox_failed");
    assert!(refused.text.contains("no program runs without the wall `user`"), "{}", refused.text);
    // The model is not asked for another program: no program would run.
    assert_eq!(lm.asked().len(), 1);
    let metrics = remote.get("/metrics").await.expect(200).text;
    for line in [
        "dsrs_sandbox_wall{wall=\"user\"} 0\n",
        "dsrs_sandbox_wall{wall=\"rlimits\"} 1\n",
        "dsrs_sandbox_usable 0\n",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    let log = std::fs::read_to_string(setup.log()).unwrap();
    assert!(log.contains("no program runs: a required wall does not stand"), "{log}");
}
