//! The server's binary as the sandbox's child. What a sandbox refuses is told by the tests of
//! `crates/dsrs-sandbox`.

use std::time::Duration;

use dsrs::sandbox::{Sandbox, SandboxFailure, SandboxLimits};
use dsrs::value::{Fields, Payload};
use dsrs_sandbox::ChildSandbox;
use dsrs_server::config::SANDBOX_COMMAND;

#[tokio::test]
async fn the_server_runs_a_program_in_a_child_of_itself() {
    let limits = SandboxLimits { time: Duration::from_secs(30), ..SandboxLimits::default() };
    let sandbox = ChildSandbox::new(env!("CARGO_BIN_EXE_dsrs-server"), &[SANDBOX_COMMAND], limits);
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
