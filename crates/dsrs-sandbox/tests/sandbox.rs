//! Programs in, text out, each in a real child process.

#![allow(clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use dsrs::sandbox::{Sandbox, SandboxError, SandboxFailure, SandboxLimits, SandboxOutput};
use dsrs::value::{Fields, Payload};
use dsrs_sandbox::{ChildSandbox, Wall};

const CHILD: &str = env!("CARGO_BIN_EXE_dsrs-sandbox");

/// More time than any program needs that ends, on any machine.
fn patient() -> SandboxLimits {
    SandboxLimits { time: Duration::from_secs(600), ..SandboxLimits::default() }
}

fn sandbox() -> ChildSandbox {
    within(patient())
}

fn within(limits: SandboxLimits) -> ChildSandbox {
    ChildSandbox::new(CHILD, &[], limits)
}

/// For programs that never end by themselves.
fn brief() -> ChildSandbox {
    within(SandboxLimits { time: Duration::from_secs(1), ..SandboxLimits::default() })
}

async fn run(code: &str) -> Result<SandboxOutput, SandboxError> {
    sandbox().run(code, &Fields::new()).await
}

async fn value(code: &str) -> String {
    run(code).await.unwrap_or_else(|error| panic!("{code}\n{error}")).value.to_json()
}

async fn refusal(sandbox: &ChildSandbox, code: &str) -> SandboxError {
    match sandbox.run(code, &Fields::new()).await {
        Ok(ran) => panic!("{code}\nended with {ran:?}"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn output_and_last_value_are_returned() {
    let code = "
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

for n in range(3):
    print(n, fib(n), sep=': ')
fib(20)
";
    let ran = run(code).await.unwrap();
    assert_eq!(&*ran.printed, "0: 0\n1: 1\n2: 1\n");
    assert_eq!(ran.value, Payload::Int(6765));
    assert_eq!(run("x = 1").await.unwrap().value, Payload::Null);
}

#[tokio::test]
async fn a_program_has_everything_that_the_dialect_lists() {
    for (code, json) in [
        ("7 // 2 + 2 ** 10 % 7", "5"),
        (
            "class P:\n    def __init__(self, x):\n        self.x = x\n    def twice(self):\n        return self.x * 2\nP(4).twice()",
            "8",
        ),
        ("import json\njson.loads('{\"a\": [1, 2.5, null]}')", r#"{"a":[1,2.5,null]}"#),
        ("import re\nre.findall(r'\\d+', 'a1b22')", r#"["1","22"]"#),
        ("import math\nmath.sqrt(2)", "1.4142135623730951"),
        (
            "import datetime\ndatetime.date(2024, 2, 28) + datetime.timedelta(days=2)",
            r#""2024-03-01""#,
        ),
        (
            "from collections import Counter, defaultdict, deque, namedtuple\nCounter('aab')",
            r#"{"a":2,"b":1}"#,
        ),
        (
            "from itertools import accumulate, chain, count, cycle, islice, pairwise, repeat, starmap, takewhile, zip_longest\nlist(accumulate([1, 2, 3]))",
            "[1,3,6]",
        ),
        ("from functools import partial, reduce\nreduce(lambda a, b: a * b, [2, 3, 4])", "24"),
        (
            "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: float = 1.0\nP(1)",
            r#"{"x":1,"y":1.0}"#,
        ),
        (
            "import typing, base64, unicodedata\nunicodedata.name('é')",
            r#""LATIN SMALL LETTER E WITH ACUTE""#,
        ),
        (
            "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    told = str(error)\ntold",
            r#""division by zero""#,
        ),
        ("f'{3.14159:.2f}'", r#""3.14""#),
    ] {
        assert_eq!(value(code).await, json, "{code}");
    }
}

/// When one of these runs, `DIALECT` is out of date.
#[tokio::test]
async fn missing_features_of_the_dialect_are_missing() {
    for code in [
        "import decimal",
        "import random",
        "import statistics",
        "import string",
        "import time",
        "def g():\n    yield 1",
        "match 1:\n    case 1: pass",
        "x = [1]\ndel x[0]",
        "class A: pass\nclass B(A): pass",
        "class A:\n    @property\n    def p(self): return 1",
        "class A:\n    def __add__(self, other): return 1\nA() + A()",
        "'%d' % 3",
        "{'a': 1} | {'b': 2}",
        "1j",
        "input()",
    ] {
        let error = refusal(&sandbox(), code).await;
        let of_the_program = matches!(
            error.kind,
            SandboxFailure::Syntax | SandboxFailure::Raised | SandboxFailure::Denied
        );
        assert!(of_the_program && error.message.contains("line "), "{code}\n{error:?}");
    }
}

/// DSPy's `ProgramOfThought` asks for it, and so do its demos.
#[tokio::test]
async fn a_program_ends_with_what_it_submits() {
    for (code, json) in [
        ("SUBMIT({'total': 2 + 3})\n1 / 0", r#"{"total":5}"#),
        (
            "def main():\n    SUBMIT(output=[1, 2])\ntry:\n    main()\nexcept BaseException:\n    pass\n7",
            "[1,2]",
        ),
        ("SUBMIT(total=5, unit='km')", r#"{"total":5,"unit":"km"}"#),
        ("def SUBMIT(value):\n    return value * 2\nSUBMIT(4)", "8"),
    ] {
        assert_eq!(value(code).await, json, "{code}");
    }
    assert_eq!(&*run("print('a')\nSUBMIT(1)").await.unwrap().printed, "a\n");
    let error = refusal(&sandbox(), "SUBMIT()").await;
    assert!(error.message.contains("SUBMIT() takes the result"), "{error:?}");
}

#[tokio::test]
async fn values_that_json_lacks_are_returned_as_text() {
    for (code, json) in [
        ("2 ** 70", r#""1180591620717411303424""#),
        ("[float('nan'), float('inf')]", r#"["nan","inf"]"#),
        ("(1, {2}, None, True)", "[1,[2],null,true]"),
        ("{1: 'a', (2, 3): 'b'}", r#"{"1":"a","(2, 3)":"b"}"#),
        (
            "import datetime as d\nd.datetime(2024, 1, 2, 3, 4, 5, tzinfo=d.timezone.utc)",
            r#""2024-01-02T03:04:05+00:00""#,
        ),
        ("ValueError", r#""<class 'ValueError'>""#),
        ("a = []\na.append(a)\na", r#"["[...]"]"#),
    ] {
        assert_eq!(value(code).await, json, "{code}");
    }
}

#[tokio::test]
async fn inputs_are_variables_and_survive_the_round_trip() {
    let inputs = r#"{"n":9223372036854775807,"low":-9223372036854775808,"x":0.1,"whole":1.0,"big":1e+300,"text":"naïve \"q\" 雪 🦀 \u0000","none":null,"nested":{"a":[{"b":[[],{}]}],"z":true}}"#;
    let Payload::Map(fields) = Payload::from_json(inputs).unwrap() else { unreachable!() };
    let code = "[n, low, x, whole, big, text, none, nested]";
    let ran = sandbox().run(code, &fields).await.unwrap();
    let values = Payload::list(fields.values().cloned().collect());
    assert_eq!(ran.value.to_json(), values.to_json());

    let ran = sandbox().run("nested['a'][0]['b'].append(n - 1)\nnested['a']", &fields).await;
    assert_eq!(ran.unwrap().value.to_json(), r#"[{"b":[[],{},9223372036854775806]}]"#);

    let odd = Fields::from_iter([("two words".into(), Payload::Null)]);
    let error = sandbox().run("1", &odd).await.unwrap_err();
    assert!(error.message.contains("'two words'"), "{error}");
}

#[tokio::test]
async fn an_error_has_its_line() {
    let error = refusal(&sandbox(), "x = 1\ndef f(:\n    pass").await;
    assert_eq!(error.kind, SandboxFailure::Syntax);
    assert!(error.message.starts_with("line 2\n    def f(:\nSyntaxError: "), "{error}");

    let error = refusal(&sandbox(), "def f(x):\n    return 1 / x\n\nf(0)").await;
    assert_eq!(error.kind, SandboxFailure::Raised);
    assert_eq!(
        &*error.message,
        "line 4, in <module>\n    f(0)\nline 2, in f\n    return 1 / x\nZeroDivisionError: division by zero"
    );

    // However deep it was, and however long its lines and its text are, it fits into a prompt.
    let error = refusal(&sandbox(), "def f(n):\n    return f(n + 1)\nf(0)").await;
    assert!(error.message.ends_with("RecursionError: maximum recursion depth exceeded"), "{error}");
    let code = format!("x = '{0}'\nraise ValueError(x) # {0}", "a".repeat(100_000));
    let error = refusal(&sandbox(), &code).await;
    assert!(error.message.len() < 2_000, "{}", error.message.len());
}

#[tokio::test]
async fn an_endless_program_is_stopped_in_time() {
    for code in [
        "while True: pass",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "sum(i * i for i in range(10 ** 12))",
    ] {
        let error = refusal(&brief(), code).await;
        assert_eq!(error.kind, SandboxFailure::Time, "{code}\n{error}");
        assert!(error.message.contains("after 1 s"), "{error}");
    }
}

#[tokio::test]
async fn a_program_with_too_much_memory_is_stopped() {
    let sandbox = within(SandboxLimits { memory: 64 << 20, ..patient() });
    for code in [
        "[0] * 10 ** 10",
        "'a' * 10 ** 11",
        "10 ** 10 ** 9",
        "x = 'a' * 10 ** 6\nwhile True:\n    x = x + x",
        "x = []\nwhile True:\n    x.append('a' * 10 ** 6 + str(len(x)))",
        // A tree of shared lists that is small only until it is serialized.
        "a = [0]\nfor _ in range(60): a = [a, a]\na",
    ] {
        let error = refusal(&sandbox, code).await;
        assert_eq!(error.kind, SandboxFailure::Memory, "{code}\n{error}");
        assert!(error.message.contains("64 MiB"), "{error}");
    }
}

/// It computes for long between two looks of the interpreter at its limits.
#[tokio::test]
async fn repeated_squaring_is_stopped_from_outside() {
    let error = refusal(&brief(), "x = 3\nwhile True:\n    x = x * x").await;
    assert!(matches!(error.kind, SandboxFailure::Time | SandboxFailure::Memory), "{error}");
}

#[tokio::test]
async fn a_program_with_too_much_output_is_stopped() {
    for code in [
        "while True: print('again')",
        // It catches the error, and ends without one.
        "for _ in range(200):\n    try:\n        print('a' * 1000)\n    except BaseException: pass",
        "print('a' * 70000)",
        "'a' * 70000",
        "x = []\nfor i in range(1000): x = [x]\nx",
    ] {
        let error = refusal(&sandbox(), code).await;
        assert_eq!(error.kind, SandboxFailure::Output, "{code}\n{error}");
        assert!(error.message.contains("64 KiB"), "{error}");
    }
    // One that catches it without end is stopped by the limit of time, whichever is reported.
    let endless =
        "while True:\n    try:\n        print('a' * 1000)\n    except BaseException: pass";
    let error = refusal(&brief(), endless).await;
    assert!(matches!(error.kind, SandboxFailure::Output | SandboxFailure::Time), "{error}");
    // What fits into the limit fits, however long JSON spells it.
    let ran = run("print('\\x00' * 60000)\n'\\x01' * 10000").await.unwrap();
    assert_eq!(ran.printed.len(), 60_001);
}

#[tokio::test]
async fn a_program_reaches_nothing_outside() {
    for code in [
        "open('/etc/passwd')",
        "open('/tmp/x', 'w').write('x')",
        "import pathlib\npathlib.Path('/etc/passwd').read_text()",
        "import os\nos.listdir('/')",
        "import os\nos.environ['PATH']",
        "import os\nos.getenv('PATH')",
        "import datetime\ndatetime.datetime.now()",
        "import socket",
        "import subprocess",
        "import ctypes",
        "while True:\n    try:\n        open('x')\n    except Exception: pass",
    ] {
        let error = refusal(&sandbox(), code).await;
        assert_eq!(error.kind, SandboxFailure::Denied, "{code}\n{error}");
    }
    for code in [
        "import os\nos.system('ls')",
        "__import__('os')",
        "eval('1')",
        "exec('1')",
        "compile('1', '', 'eval')",
        "().__class__.__bases__[0].__subclasses__()",
        "(lambda: 0).__globals__",
        "getattr((), '__cla' + 'ss__')",
        "import sys\nsys.modules",
    ] {
        let error = refusal(&sandbox(), code).await;
        assert_eq!(error.kind, SandboxFailure::Raised, "{code}\n{error}");
        assert!(error.message.contains("line "), "{error}");
    }
}

#[tokio::test]
async fn a_regex_that_blows_up_ends_within_the_limit() {
    for pattern in [r"(a+)+$", r"(a|a)*\1$", r"(?:(a*)*)*b\1c"] {
        let code = format!("import re\nbool(re.match(r'{pattern}', 'a' * 5000 + 'b'))");
        match brief().run(&code, &Fields::new()).await {
            Ok(ran) => assert_eq!(ran.value, Payload::Bool(false)),
            Err(error) => {
                assert!(
                    matches!(error.kind, SandboxFailure::Raised | SandboxFailure::Time),
                    "{error}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_program_too_large_or_too_deep_is_an_error_or_runs() {
    let long = format!("x = 0\n{}x", "x += 1\n".repeat(150_000));
    assert_eq!(value(&long).await, "150000");
    let deep = [
        format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        "[".repeat(100_000),
        format!("{}1", "-".repeat(100_000)),
        format!("1{}", "+1".repeat(100_000)),
        format!("x{}", ".x".repeat(100_000)),
        (0..1_000).map(|depth| format!("{}if 1:\n", " ".repeat(depth))).collect::<String>(),
    ];
    for code in deep {
        let error = refusal(&sandbox(), &code).await;
        let head: String = code.chars().take(20).collect();
        assert_ne!(error.kind, SandboxFailure::Broken, "{head}\n{error}");
        assert!(error.message.len() < 2_000, "{head}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_concurrent_programs_do_not_interfere() {
    let sandbox = Arc::new(sandbox());
    let programs = (0..50).map(|number| {
        let sandbox = sandbox.clone();
        tokio::spawn(async move {
            let inputs = Fields::from_iter([("n".into(), Payload::Int(number))]);
            let ran = sandbox.run("print(n)\nsum(range(n))", &inputs).await.unwrap();
            (number, ran)
        })
    });
    for program in programs.collect::<Vec<_>>() {
        let (number, ran) = program.await.unwrap();
        assert_eq!(*ran.printed, *format!("{number}\n"));
        assert_eq!(ran.value, Payload::Int(number * (number - 1).max(0) / 2));
    }
}

#[tokio::test]
async fn a_wrong_child_program_is_a_clear_error() {
    let missing = ChildSandbox::new("/nowhere/at/all", &[], patient());
    let error = refusal(&missing, "1").await;
    assert_eq!(error.kind, SandboxFailure::Broken);
    assert!(error.message.contains("/nowhere/at/all does not start"), "{error}");

    for script in ["exit 3", "echo no", "kill -9 $$", "kill -SEGV $$"] {
        let other = ChildSandbox::new("/bin/sh", &["-c", script], patient());
        let error = refusal(&other, "1").await;
        let expected =
            if script.contains("-9") { SandboxFailure::Memory } else { SandboxFailure::Broken };
        assert_eq!(error.kind, expected, "{script}\n{error}");
    }
    let endless = ChildSandbox::new("/bin/sh", &["-c", "yes"], patient());
    assert_eq!(refusal(&endless, "1").await.kind, SandboxFailure::Output);
}

#[tokio::test]
async fn every_wall_of_the_platform_stands_around_a_child() {
    let found = sandbox().walls().await.unwrap();
    let platform: Vec<Wall> = Wall::of_platform().collect();
    assert_eq!(sandbox().required(), platform);
    assert_eq!(found.missing(&platform), None, "{found:?}");
    // The others have a reason.
    for (wall, reason) in found.iter() {
        assert_eq!(reason.is_none(), platform.contains(&wall), "{wall}: {reason:?}");
    }
}

/// A sandbox whose child cannot change users: root without that right, as in some containers, or
/// another user.
#[cfg(target_os = "linux")]
fn without_setuid() -> ChildSandbox {
    use std::os::unix::fs::MetadataExt;

    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() != 0) {
        return sandbox();
    }
    let without = ["--bounding-set=-setuid", "--inh-caps=-setuid", CHILD];
    ChildSandbox::new("/usr/bin/setpriv", &without, patient())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_program_runs_without_a_required_wall() {
    let found = without_setuid().walls().await.unwrap();
    assert_eq!(found.missing(&Wall::ALL).map(|(wall, _)| wall), Some(Wall::User), "{found:?}");
    let strict = without_setuid().require([Wall::Seccomp, Wall::User]);
    let refused = refusal(&strict, "print('it runs')").await;
    assert_eq!(refused.kind, SandboxFailure::Broken);
    let expected = "no program runs without the wall `user` (see `sandbox.require`)";
    assert!(refused.message.starts_with(expected), "{refused}");
    // The others stand nevertheless.
    let lenient = without_setuid().require([Wall::Seccomp]);
    assert_eq!(lenient.run("1 + 1", &Fields::new()).await.unwrap().value, Payload::Int(2));
}
