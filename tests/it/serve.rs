//! The process from start to stop: its output, its refusals, its shutdown.

use std::net::TcpListener;

use rustix::process::Signal;

use dsrs_test::{Refused, ServerSetup, http_client, is_running, postgres_pid, test_database};

async fn status_of(url: &str) -> u16 {
    http_client().get(url).send().await.unwrap().status().as_u16()
}

/// The one line that a server ends with which does not start.
fn refusal(setup: &ServerSetup) -> String {
    let Refused { success, stderr } = setup.try_start().err().expect("it starts");
    assert!(!success, "{stderr}");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    lines[0].to_owned()
}

#[tokio::test]
async fn a_server_prints_one_block_and_stops_with_its_postgres() {
    let setup = ServerSetup::new();
    let server = setup.start();
    let data_dir = setup.directory().join("data");
    assert!(server.url.starts_with("http://127.0.0.1:") && !server.url.ends_with(":0"));
    for part in [
        format!("  docs      {}/docs/", server.url),
        "  database  private Postgres ".to_owned(),
        "  models    none: set OPENAI_API_KEY".to_owned(),
    ] {
        assert!(server.block.contains(&part), "{part} is not in\n{}", server.block);
    }
    assert_eq!(status_of(&format!("{}/healthz", server.url)).await, 200);
    assert_eq!(status_of(&format!("{}/readyz", server.url)).await, 200);
    let postgres = postgres_pid(data_dir.clone()).unwrap();
    assert!(is_running(postgres));
    assert!(server.stop().success());
    assert!(!is_running(postgres) && postgres_pid(data_dir).is_none());
}

#[tokio::test]
async fn a_server_works_and_stops_while_its_log_is_not_read() {
    let database = test_database().await;
    let server = ServerSetup::new()
        .database(&database)
        .arg("--log")
        .arg("debug")
        .without_log_reader()
        .start();
    assert_eq!(status_of(&format!("{}/readyz", server.url)).await, 200);
    assert!(server.stop().success());
}

#[tokio::test]
async fn a_killed_server_leaves_postgres_running_and_the_next_one_takes_it_over() {
    let setup = ServerSetup::new();
    let first = setup.start();
    let postgres = postgres_pid(setup.directory().join("data")).unwrap();
    first.kill();
    assert!(is_running(postgres));

    let second = setup.start();
    assert_eq!(postgres_pid(setup.directory().join("data")), Some(postgres));
    assert_eq!(status_of(&format!("{}/readyz", second.url)).await, 200);
    assert!(second.stop().success());
    assert!(!is_running(postgres));
}

#[test]
fn a_second_server_on_the_same_directory_is_refused_in_one_line() {
    let setup = ServerSetup::new();
    let first = setup.start();
    let data_dir = setup.directory().join("data").canonicalize().unwrap();
    let second = ServerSetup::new().env("DSRS_DATA_DIR", data_dir.to_str().unwrap());
    assert_eq!(
        refusal(&second),
        format!(
            "dsrs-server: data directory {} is in use by another dsrs-server (process {}); stop that one, or give this one its own --data-dir",
            data_dir.display(),
            first.pid()
        )
    );
}

#[test]
fn a_port_in_use_is_reported_before_anything_starts() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = holder.local_addr().unwrap();
    let setup = ServerSetup::new().arg("--bind").arg(&address.to_string());
    assert_eq!(
        refusal(&setup),
        format!(
            "dsrs-server: cannot listen on {address}: the port is in use, perhaps by another dsrs-server; stop it, or choose another --bind"
        )
    );
    assert!(!setup.directory().join("data").exists());
}

#[test]
fn an_address_that_others_reach_without_a_key_is_refused() {
    let setup = ServerSetup::new().env("DSRS_BIND", "0.0.0.0:0");
    let line = refusal(&setup);
    assert!(line.starts_with("dsrs-server: bind 0.0.0.0:0 can be reached by others"), "{line}");
    // A key in the database suffices.
    setup.command(&["keys", "create", "first", "--scopes", "admin"]).unwrap();
    let server = setup.start();
    assert!(server.block.contains("API keys  required"), "{}", server.block);
    assert!(server.stop().success());
}

#[test]
fn a_problem_in_the_settings_file_is_reported() {
    let setup = ServerSetup::new();
    std::fs::write(setup.directory().join("dsrs.toml"), "\nbnid = 'x'\n").unwrap();
    assert_eq!(
        refusal(&setup),
        "dsrs-server: dsrs.toml:2: unknown key \"bnid\"; did you mean \"bind\"?"
    );
    let line = refusal(&ServerSetup::new().arg("--log").arg("info,=,nonsense=loud"));
    assert!(line.starts_with("dsrs-server: log = \"info,=,nonsense=loud\": "), "{line}");
}

#[test]
fn an_unreachable_database_is_reported_without_its_password() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://me:hunter2@127.0.0.1:{free}/x");
    let line = refusal(&ServerSetup::new().database(&url));
    let expected = format!("dsrs-server: cannot use the database at 127.0.0.1:{free}/x: ");
    assert!(line.starts_with(&expected) && line.ends_with("check DATABASE_URL"), "{line}");
    assert!(!line.contains("hunter2"), "{line}");
}

#[tokio::test]
async fn with_a_configured_database_no_postgres_is_started() {
    let database = test_database().await;
    let setup = ServerSetup::new().database(&database);
    let server = setup.start();
    assert_eq!(status_of(&format!("{}/readyz", server.url)).await, 200);
    assert!(!setup.directory().join("data").exists());
    server.signal(Signal::INT);
    assert!(server.stop().success());
}

#[tokio::test]
async fn two_servers_can_start_concurrently_on_one_database() {
    let database = test_database().await;
    let setups = [(); 2].map(|()| ServerSetup::new().database(&database));
    let servers = std::thread::scope(|scope| {
        let starts: Vec<_> = setups.iter().map(|setup| scope.spawn(|| setup.start())).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect::<Vec<_>>()
    });
    for server in servers {
        assert_eq!(status_of(&format!("{}/readyz", server.url)).await, 200);
    }
}
