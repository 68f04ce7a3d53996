//! Heartbeats: notifications of a process to itself. One that arrives proves that every notification that
//! was committed before it has arrived on the same connection. May not know what other notifications say.

use sqlx::PgConnection;
use tokio::sync::watch;
use uuid::Uuid;

use super::StoreError;

pub(super) const CHANNEL: &str = "dsrs_heartbeats";

/// The heartbeats of one listening connection.
pub(super) struct Heartbeat {
    /// Distinguishes them from those of other connections and processes.
    connection: Uuid,
    /// The number of the newest that has arrived.
    arrived: watch::Sender<u64>,
}

impl Heartbeat {
    /// Of a new connection, whose first heartbeat has the number 1.
    pub(super) fn new() -> Self {
        Self { connection: Uuid::now_v7(), arrived: watch::Sender::new(0) }
    }

    /// Takes a heartbeat that the connection received. Those of others do not count.
    pub(super) fn receive(&self, payload: &str) {
        let number = payload.split_once(' ').and_then(|(connection, number)| {
            let own = Uuid::try_parse(connection).is_ok_and(|found| found == self.connection);
            number.parse().ok().filter(|_| own)
        });
        if let Some(number) = number {
            self.arrived.send_replace(number);
        }
    }

    /// Sends a heartbeat on another connection and waits until the first one has received it. Bound the
    /// time: either connection may be silent.
    pub(super) async fn beat(
        &self,
        sender: &mut PgConnection,
        number: u64,
    ) -> Result<(), StoreError> {
        let payload = format!("{} {number}", self.connection);
        sqlx::query!("select pg_notify($1, $2)", CHANNEL, payload).execute(sender).await?;
        // The channel stays open as long as `self` exists.
        let _ = self.arrived.subscribe().wait_for(|arrived| *arrived >= number).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_heartbeats_of_its_own_connection_count() {
        let (heartbeat, other) = (Heartbeat::new(), Heartbeat::new());
        let arrived = |payload: String| {
            heartbeat.receive(&payload);
            *heartbeat.arrived.borrow()
        };
        for payload in ["", " ", "1", "x 1"] {
            assert_eq!(arrived(payload.to_owned()), 0, "{payload:?}");
        }
        assert_eq!(arrived(format!("{} 1", other.connection)), 0);
        assert_eq!(arrived(format!("{} one", heartbeat.connection)), 0);
        assert_eq!(arrived(format!("{} 1", heartbeat.connection)), 1);
    }
}
