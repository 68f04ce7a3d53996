//! Programs that share variables and call functions of the host, in a real child process.

#![allow(clippy::panic, clippy::unwrap_used)]

use std::sync::Mutex;
use std::time::Duration;

use dsrs::sandbox::{
    HostAnswer, HostCall, Sandbox, SandboxError, SandboxFailure, SandboxHost, SandboxLimits,
    SandboxSession, SessionOutput, SessionSetup,
};
use dsrs::value::{Fields, Payload};
use dsrs_sandbox::{ChildSandbox, Wall};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

const CHILD: &str = env!("CARGO_BIN_EXE_dsrs-sandbox");

/// More time than any program needs that ends, on any machine.
fn patient() -> SandboxLimits {
    SandboxLimits { time: Duration::from_secs(600), ..SandboxLimits::default() }
}

fn within(limits: SandboxLimits) -> ChildSandbox {
    ChildSandbox::new(CHILD, &[], limits)
}

/// Answers calls by their names, and writes them down.
#[derive(Default)]
struct Host(Mutex<Vec<String>>);

impl SandboxHost for Host {
    fn call(&self, call: HostCall) -> BoxFuture<'_, HostAnswer> {
        let args = Payload::list(call.args.clone()).to_json();
        let named = Payload::map(call.named.clone()).to_json();
        self.0.lock().unwrap().push(format!("{}{args}{named}", call.name));
        let answer = match &*call.name {
            "echo" => HostAnswer::Return(call.args.into_iter().next().unwrap_or_default()),
            "stop" => HostAnswer::End,
            _ => HostAnswer::Raise("not today".into()),
        };
        async move { answer }.boxed()
    }
}

impl Host {
    fn calls(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn setup(inputs: &str) -> SessionSetup {
    let Payload::Map(inputs) = Payload::from_json(inputs).unwrap() else { unreachable!() };
    SessionSetup {
        inputs: Fields::clone(&inputs),
        functions: ["echo", "stop", "fail"].map(Into::into).to_vec(),
        programs: 20,
        is_nested: false,
    }
}

async fn open<'s>(sandbox: &'s ChildSandbox, inputs: &str) -> Box<dyn SandboxSession + 's> {
    sandbox.open(setup(inputs)).await.unwrap_or_else(|error| panic!("{error}"))
}

async fn opened_error(sandbox: &ChildSandbox, setup: SessionSetup) -> SandboxError {
    match sandbox.open(setup).await {
        Ok(_) => panic!("a session was opened"),
        Err(error) => error,
    }
}

fn printed(output: &SessionOutput) -> &str {
    assert_eq!((&output.failure, output.omitted), (&None, 0), "{}", output.printed);
    &output.printed
}

fn failure(output: SessionOutput) -> SandboxError {
    output.failure.unwrap_or_else(|| panic!("it ended with {}", output.printed))
}

#[tokio::test]
async fn programs_share_their_variables_functions_and_imports() {
    let (sandbox, host) = (within(patient()), Host::default());
    let mut session = open(&sandbox, r#"{"text": "one two", "n": 3}"#).await;
    let first = session.run("import re\nwords = text.split()\nlen(words)", &host).await;
    assert_eq!(printed(&first), "2");
    let second = "def twice(x):\n    return x * 2\nwords.append('three')\nprint(twice(n))";
    assert_eq!(printed(&session.run(second, &host).await), "6\n");
    let third = "print(words, re.findall('t', text))\ntwice('ab')";
    assert_eq!(printed(&session.run(third, &host).await), "['one', 'two', 'three'] ['t']\nabab");
    // What it assigned before it failed is there, too, and the error is at its line.
    let fourth = session.run("found = 7\nprint('so far')\n1 / 0", &host).await;
    assert_eq!(&*fourth.printed, "so far\n");
    let error = failure(fourth);
    assert!(error.message.contains("line 3") && error.message.contains("ZeroDivisionError"));
    assert_eq!(printed(&session.run("found", &host).await), "7");
    // An error in a function of an earlier program shows the line of that program.
    let error = failure(session.run("twice()", &host).await);
    assert!(error.message.contains("twice()"), "{error}");
    let error = failure(session.run("x = (1", &host).await);
    assert!(error.message.contains("SyntaxError"), "{error}");
    assert_eq!(printed(&session.run("found + n", &host).await), "10");
}

#[tokio::test]
async fn a_program_calls_functions_of_its_host_with_data() {
    let (sandbox, host) = (within(patient()), Host::default());
    let mut session = open(&sandbox, "{}").await;
    let code = "
def ask(x):
    return echo({'x': x}, of=[1.5, None])
answers = [ask(n) for n in range(2)]
name = echo
print(answers, name('späte'))
try:
    fail()
except RuntimeError as error:
    print('failed:', error)
";
    let output = session.run(code, &host).await;
    assert_eq!(printed(&output), "[{'x': 0}, {'x': 1}] späte\nfailed: not today\n");
    let expected = [
        r#"echo[{"x":0}]{"of":[1.5,null]}"#,
        r#"echo[{"x":1}]{"of":[1.5,null]}"#,
        r#"echo["späte"]{}"#,
        "fail[]{}",
    ];
    assert_eq!(host.calls(), expected);
    // One that is not caught ends the program at its line.
    let error = failure(session.run("x = 1\nfail(x)", &host).await);
    assert!(error.message.starts_with("line 2"), "{error}");
    assert!(error.message.ends_with("RuntimeError: not today"), "{error}");
    // The host ends a program, whatever the program catches.
    let ended = "try:\n    stop(answer=[x])\nexcept BaseException:\n    pass\nprint('never')";
    assert_eq!(printed(&session.run(ended, &host).await), "");
    assert_eq!(host.calls().last().unwrap(), r#"stop[]{"answer":[1]}"#);
    // What the host does not have is not there.
    let error = failure(session.run("SUBMIT(1)", &host).await);
    assert!(error.message.contains("NameError"), "{error}");
    let error = failure(session.run("open('/etc/passwd')", &host).await);
    assert_eq!(error.kind, SandboxFailure::Denied);
    assert_eq!(printed(&session.run("x", &host).await), "1");
}

#[tokio::test]
async fn ten_megabytes_are_read_by_programs() {
    let (sandbox, host) = (within(patient()), Host::default());
    let line = "the needle is not here\\n";
    let text = format!("{}the needle is 4711\\n{}", line.repeat(250_000), line.repeat(205_000));
    let mut session = open(&sandbox, &format!(r#"{{"text": "{text}"}}"#)).await;
    let code = "lines = text.split('\\n')\nprint(len(text), len(lines))
[line for line in lines if 'not' not in line and line]";
    let output = session.run(code, &host).await;
    assert_eq!(printed(&output), "10465019 455002\n[\"the needle is 4711\"]");
    // Too much for one call, which the program may catch.
    let error = failure(session.run("echo(text * 2)", &host).await);
    assert!(error.message.contains("at most 16777216 are allowed"), "{error}");
    let error = failure(session.run("echo(**{text * 2: 1})", &host).await);
    assert!(error.message.contains("at most 16777216 are allowed"), "{error}");
    assert_eq!(host.calls(), [""; 0]);
    assert_eq!(printed(&session.run("len(echo(text))", &host).await), "10465019");
}

#[tokio::test]
async fn text_beyond_the_limit_is_left_out_and_counted() {
    let (sandbox, host) = (within(SandboxLimits { output: 10, ..patient() }), Host::default());
    let mut session = open(&sandbox, "{}").await;
    let output = session.run("print('a' * 8)\nprint('ééé')\n'more'", &host).await;
    assert_eq!((&*output.printed, output.omitted), ("aaaaaaaa\n", 8));
    assert_eq!(output.failure, None);
    let output = session.run("'ö' * 1000000", &host).await;
    assert_eq!((&*output.printed, output.omitted), ("ööööö", 999_995));
    assert_eq!(printed(&session.run("1 + 1", &host).await), "2");
}

#[tokio::test]
async fn a_program_is_stopped_and_the_session_continues() {
    let limits = SandboxLimits { time: Duration::from_secs(1), ..SandboxLimits::default() };
    let (sandbox, host) = (within(limits), Host::default());
    let mut session = open(&sandbox, r#"{"n": 3}"#).await;
    session.run("found = n", &host).await;
    let endless = "while True:\n    try:\n        while True: pass\n    except BaseException: pass";
    let output = session.run(endless, &host).await;
    assert!(!output.variables_lost);
    assert_eq!(failure(output).kind, SandboxFailure::Time);
    assert_eq!(printed(&session.run("found", &host).await), "3");
}

#[tokio::test]
async fn calls_without_end_are_stopped_and_the_session_continues() {
    let (sandbox, host) = (within(patient()), Host::default());
    let mut session = open(&sandbox, r#"{"n": 3}"#).await;
    let endless = "while True:\n    try:\n        fail()\n    except BaseException: pass";
    let error = failure(session.run(endless, &host).await);
    assert!(error.message.contains("more than 1000 times, its limit"), "{error}");
    assert_eq!(host.calls().len(), 1_000);
    assert_eq!(printed(&session.run("n", &host).await), "3");
}

#[tokio::test]
async fn after_the_end_of_its_process_a_session_has_its_inputs_alone() {
    let sandbox = within(SandboxLimits { memory: 64 << 20, ..patient() });
    let host = Host::default();
    let mut session = open(&sandbox, r#"{"n": 3}"#).await;
    session.run("found = n", &host).await;
    let growing = "x = []\nwhile True:\n    x.append('a' * 10 ** 6 + str(len(x)))";
    let output = session.run(growing, &host).await;
    assert!(output.variables_lost);
    let error = failure(output);
    assert_eq!(error.kind, SandboxFailure::Memory, "{error}");
    assert_eq!(printed(&session.run("n", &host).await), "3");
    let error = failure(session.run("found", &host).await);
    assert!(error.message.contains("NameError"), "{error}");
}

/// Runs another program in the same sandbox, which has one processor.
struct Within<'s>(&'s ChildSandbox);

impl SandboxHost for Within<'_> {
    fn call(&self, _: HostCall) -> BoxFuture<'_, HostAnswer> {
        async move {
            let ran = self.0.run("20 + 1", &Fields::new()).await.unwrap();
            let nested = SessionSetup { is_nested: true, ..setup("{}") };
            let refused = opened_error(self.0, nested).await;
            assert!(refused.message.contains("all sessions are in use"), "{refused}");
            HostAnswer::Return(ran.value)
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_program_that_waits_for_its_host_leaves_its_processor_to_others() {
    let sandbox = within(patient()).at_once(1).sessions_at_once(1);
    let mut session = open(&sandbox, "{}").await;
    let output = session.run("echo() * 2", &Within(&sandbox)).await;
    assert_eq!(printed(&output), "42");
    // Another session waits until this one is closed.
    let waits = sandbox.open(setup("{}"));
    assert!(waits.now_or_never().is_none());
    drop(session);
    open(&sandbox, "{}").await;
}

#[tokio::test]
async fn a_session_that_cannot_be_opened_says_why() {
    let odd = setup(r#"{"two words": 1}"#);
    let error = opened_error(&within(patient()), odd).await;
    assert!(error.message.contains("'two words'"), "{error}");
    let missing = ChildSandbox::new("/nowhere/at/all", &[], patient());
    let error = opened_error(&missing, setup("{}")).await;
    assert!(error.message.contains("/nowhere/at/all does not start"), "{error}");
    for script in ["exit 3", "echo no", "read line", "echo '{\"ready\": true'"] {
        let other = ChildSandbox::new("/bin/sh", &["-c", script], patient());
        let error = opened_error(&other, setup("{}")).await;
        assert_eq!(error.kind, SandboxFailure::Broken, "{script}\n{error}");
    }
    let endless = ChildSandbox::new("/bin/sh", &["-c", "yes | tr -d '\\n'"], patient());
    assert_eq!(opened_error(&endless, setup("{}")).await.kind, SandboxFailure::Broken);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_session_is_opened_without_a_required_wall() {
    use std::os::unix::fs::MetadataExt;

    // Root without the right to change users, as in some containers, or another user.
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let without = ["--bounding-set=-setuid", "--inh-caps=-setuid", CHILD];
    let sandbox = match is_root {
        true => ChildSandbox::new("/usr/bin/setpriv", &without, patient()),
        false => within(patient()),
    };
    let error = opened_error(&sandbox.require([Wall::User]), setup("{}")).await;
    assert!(error.message.starts_with("no program runs without the wall `user`"), "{error}");
}
