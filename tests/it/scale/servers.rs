//! Three servers that are killed and started again.

use std::sync::Mutex;

use dsrs_test::{Server, ServerSetup, found_blocking};

pub const SERVERS: usize = 3;

pub struct Servers {
    setups: Vec<ServerSetup>,
    running: Vec<Mutex<Option<Server>>>,
}

impl Servers {
    /// Blocks.
    pub fn start(setups: Vec<ServerSetup>) -> Self {
        let start = |setup: &ServerSetup| Mutex::new(Some(setup.start()));
        Self { running: setups.iter().map(start).collect(), setups }
    }

    /// Where a server answers; nothing while it is down.
    pub fn url(&self, number: usize) -> Option<String> {
        let running = self.running[number % SERVERS].lock().unwrap();
        running.as_ref().map(|server| server.url.clone())
    }

    /// Ends a server as a power cut would. Blocks.
    pub fn kill(&self, number: usize) {
        let server = self.running[number].lock().unwrap().take();
        server.unwrap().kill();
    }

    /// Starts a server that was killed; it is tried again while Postgres is down. Blocks.
    pub fn restart(&self, number: usize) {
        let server = found_blocking("a server to start", || self.setups[number].try_start().ok());
        *self.running[number].lock().unwrap() = Some(server);
    }

    /// Runs a command of the program with the settings of the first server. Blocks.
    pub fn command(&self, args: &[&str]) -> Result<String, String> {
        self.setups[0].command(args)
    }
}
