//! Ports for processes that start more than once. Nothing else gets them while their process is down: they are below
//! those that systems choose for connections, and for listeners that ask for any port.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Linux chooses from 32768 on, others from 49152 on.
const FIRST: u32 = 16_384;
const COUNT: u32 = 16_384;

/// How far apart the ports of two processes begin.
const OF_PROCESS: u32 = 128;

/// A port of this machine that no other test gets.
pub fn fixed_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(OF_PROCESS);
    let next = || first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT + FIRST;
    let ports = (0..COUNT).map(|_| u16::try_from(next()).unwrap());
    let mut free = ports.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().expect("a free port")
}
