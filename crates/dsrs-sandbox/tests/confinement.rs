//! What the system says of the child while a program runs in it. `/proc` is the witness.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use dsrs::sandbox::{Sandbox, SandboxLimits};
use dsrs::value::Fields;
use dsrs_sandbox::{ChildSandbox, SANDBOX_USER};

/// The children of this process that run the sandbox's program.
fn children() -> Vec<String> {
    let me = std::process::id().to_string();
    let entries = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let directory = entry.ok()?.path();
        let stat = fs::read_to_string(directory.join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let parent = rest.split_whitespace().nth(1)?;
        let state = rest.split_whitespace().next()?;
        let ours = name.starts_with("dsrs-sandbox") && parent == me && state != "Z";
        ours.then(|| directory.to_str().unwrap().to_owned())
    });
    entries.collect()
}

async fn until<T>(mut seen: impl FnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = seen() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(600), found).await.unwrap()
}

/// One test, because each looks at all children of the process.
#[tokio::test]
async fn a_running_child_is_confined_and_dies_with_its_future() {
    let limits = SandboxLimits { time: Duration::from_secs(600), ..SandboxLimits::default() };
    let sandbox = ChildSandbox::new(env!("CARGO_BIN_EXE_dsrs-sandbox"), &[], limits).at_once(1);
    let inputs = Fields::new();
    let mut endless = sandbox.run("while True: pass", &inputs);
    let mut waiting = sandbox.run("while True: pass", &inputs);

    let confined = until(|| {
        let [child] = children().try_into().ok()?;
        let status = fs::read_to_string(format!("{child}/status")).ok()?;
        status.contains("Seccomp:\t2").then_some((child, status))
    });
    let (child, status) = tokio::select! {
        ended = &mut endless => panic!("{ended:?}"),
        ended = &mut waiting => panic!("{ended:?}"),
        confined = confined => confined,
    };
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        for ids in ["Uid:", "Gid:"] {
            let line = format!("{ids}{}", format!("\t{SANDBOX_USER}").repeat(4));
            assert!(status.contains(&line), "{status}");
        }
        assert!(status.contains("Groups:\t \n") || status.contains("Groups:\t\n"), "{status}");
        assert_eq!(fs::read(format!("{child}/environ")).unwrap(), b"");
        assert_eq!(fs::read_link(format!("{child}/cwd")).unwrap().to_str(), Some("/"));
    }
    let allowed = fs::read_to_string(format!("{child}/limits")).unwrap();
    for (limit, soft) in [
        ("Max cpu time", "601"),
        ("Max file size", "0"),
        ("Max core file size", "0"),
        ("Max processes", "0"),
        ("Max open files", "3"),
    ] {
        let line = allowed.lines().find(|line| line.starts_with(limit)).unwrap();
        assert_eq!(line[limit.len()..].split_whitespace().next(), Some(soft), "{line}");
    }
    let memory = allowed.lines().find(|line| line.starts_with("Max address space")).unwrap();
    assert!(!memory.contains("unlimited"), "{memory}");

    // The one that waits for its turn goes without a trace, then the one that runs.
    drop(waiting);
    drop(endless);
    until(|| children().is_empty().then_some(())).await;
    // Its turn is free again.
    assert_eq!(sandbox.run("1 + 1", &inputs).await.unwrap().value.to_json(), "2");
}
