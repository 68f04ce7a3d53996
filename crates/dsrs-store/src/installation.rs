//! The installation that a database belongs to: all servers on it are one. May not know what it separates.

use uuid::Uuid;

use super::{Db, StoreError};

impl Db {
    /// The id of the installation, which a migration has set. Read once.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn installation(&self) -> Result<Uuid, StoreError> {
        let read = async {
            let read = sqlx::query_scalar("select id from installation");
            Ok(read.fetch_one(&mut *self.unscoped().await?).await?)
        };
        self.installation.get_or_try_init(|| read).await.copied()
    }
}
