//! A server with its private Postgres: killed while it makes its cluster, and killed while that runs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use dsrs_test::{ServerSetup, cluster, found_blocking, is_running, scratch};

/// A server with its private Postgres below `data`.
fn server_on(data: &Path, connections: &str) -> ServerSetup {
    let setup = ServerSetup::new().env("DSRS_DATA_DIR", data.to_str().unwrap());
    setup.env("DSRS_DATABASE_MAX_CONNECTIONS", connections)
}

/// The process id of the Postgres below `data`.
fn postgres_below(data: &Path) -> u32 {
    let file = std::fs::read_to_string(data.join("postgres/data/postmaster.pid")).unwrap();
    file.lines().next().unwrap().parse().unwrap()
}

#[test]
fn the_postgres_of_a_killed_server_is_found_through_a_symbolic_link() {
    let directory = scratch();
    let (data, real) = (directory.path().join("data"), directory.path().join("real"));
    for made in [&data, &real] {
        std::fs::create_dir(made).unwrap();
        std::fs::set_permissions(made, Permissions::from_mode(0o711)).unwrap();
    }
    std::os::unix::fs::symlink(&real, data.join("postgres")).unwrap();
    let setup = server_on(&data, "4");
    setup.start().kill();
    let left = postgres_below(&data);
    let server = setup.start();
    assert_eq!(postgres_below(&data), left);
    assert!(server.stop().success() && !is_running(left));
}

#[test]
fn the_postgres_of_a_killed_server_is_restarted_if_its_settings_have_changed() {
    let directory = scratch();
    let data = directory.path();
    server_on(data, "4").start().kill();
    let first = postgres_below(data);
    server_on(data, "9").start().kill();
    let second = postgres_below(data);
    assert!(first != second && !is_running(first));
    let server = server_on(data, "9").start();
    assert_eq!(postgres_below(data), second);
    server.stop();
}

/// The directory of the programs that run the cluster of the tests.
fn real_programs() -> PathBuf {
    let line = std::fs::read_to_string(cluster().postgres.directory().join("data/postmaster.opts"));
    let postgres = PathBuf::from(line.unwrap().split(' ').next().unwrap());
    postgres.parent().unwrap().to_owned()
}

/// Programs of Postgres in a directory of their own. The one with this name, if it is run with `word`, makes the file
/// `reached` when it has done its work, and ends after that is removed.
fn make_waiting_programs(directory: &Path, name: &str, word: &str) {
    let real = real_programs();
    let settings = format!("real='{}'\nwaiting={name}\nword={word}\n", real.display());
    std::fs::write(directory.join("settings"), settings).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/waiting.sh");
    for program in ["initdb", "postgres"] {
        // Copied by a process of its own: a child of another test could have a file open that this one writes, and
        // then it is not run.
        let copied = Command::new("cp").arg(&script).arg(directory.join(program)).status();
        assert!(copied.unwrap().success());
        let open = Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.join(program), open).unwrap();
    }
    // The user that Postgres runs as makes the file.
    std::fs::set_permissions(directory, Permissions::from_mode(0o777)).unwrap();
}

/// Starts a server for the first time with these programs, and kills it while one of them waits.
fn kill_during_first_start(setup: &ServerSetup, reached: &Path) {
    std::thread::scope(|scope| {
        let start = scope.spawn(|| setup.try_start().err().expect("it is killed"));
        found_blocking("the program", || reached.exists().then_some(()));
        let lock = std::fs::read_to_string(setup.directory().join("data/server.lock")).unwrap();
        let server = Pid::from_raw(lock.trim().parse().unwrap()).unwrap();
        kill_process(server, Signal::KILL).unwrap();
        assert!(!start.join().unwrap().success);
    });
}

#[test]
fn a_server_that_is_killed_while_it_makes_its_cluster_leaves_none() {
    for (waiting, word) in [("initdb", "--no-sync"), ("postgres", "--single")] {
        let (programs, setup) = (scratch(), ServerSetup::new());
        make_waiting_programs(programs.path(), waiting, word);
        let reached = programs.path().join("reached");
        let setup = setup.env("PG_BIN", programs.path().to_str().unwrap());
        kill_during_first_start(&setup, &reached);
        let postgres = setup.directory().join("data/postgres");
        let files = || std::fs::read_dir(&postgres).unwrap().map(|file| file.unwrap().path());
        let made: Vec<PathBuf> = files().filter(|file| file.join("PG_VERSION").exists()).collect();
        assert!(made.len() == 1 && made[0] != postgres.join("data"), "{made:?}");
        std::fs::remove_file(&reached).unwrap();

        let setup = setup.env("PG_BIN", real_programs().to_str().unwrap());
        let server = setup.start();
        assert!(postgres.join("data/PG_VERSION").exists() && !made[0].exists());
        assert!(server.stop().success());
    }
}
