//! Who runs Postgres. `initdb` and `postgres` refuse root, so root hands them to a user that has a
//! passwd entry; everybody else runs them as themselves. That user is never the sandbox's: a program
//! that escapes the interpreter must not read the files of the database.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use dsrs_sandbox::SANDBOX_USER;

use super::error::PgError;

/// The user that Postgres runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    /// Its name, for messages.
    pub(super) name: String,
    uid: u32,
    gid: u32,
    /// Whether we are root and switch to that user.
    drops: bool,
}

impl Owner {
    /// This user, or for root the user `postgres`, else `nobody`.
    pub(super) fn choose() -> Result<Self, PgError> {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        if uid != 0 {
            return Ok(Self { name: format!("user {uid}"), uid, gid, drops: false });
        }
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self::of_passwd(&passwd).ok_or(PgError::NoUser)
    }

    fn of_passwd(passwd: &str) -> Option<Self> {
        let entries = ["postgres", "nobody"].into_iter();
        let mut owners = entries.filter_map(|name| passwd_entry(passwd, name));
        owners.find(|owner| owner.uid != SANDBOX_USER && owner.gid != SANDBOX_USER)
    }

    /// Whether we are root and Postgres runs as another user.
    pub(super) fn drops(&self) -> bool {
        self.drops
    }

    /// A command that runs as this user, without our environment: that holds our secrets, and `PG…`
    /// variables that would mislead Postgres.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.current_dir("/").stdin(Stdio::null());
        if self.drops {
            command.uid(self.uid).gid(self.gid);
        }
        command
    }

    /// Creates a directory that only this user can access, if it is missing.
    pub(super) fn make_private(&self, path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)?;
        if self.drops {
            chown(path, Some(self.uid), Some(self.gid))?;
        }
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
    }

    /// Creates such a directory in a place that others can write to, and reports whether it belongs to
    /// us alone: another user could have created it first.
    pub(super) fn claim_private(&self, path: &Path) -> io::Result<bool> {
        match std::fs::create_dir(path) {
            Ok(()) => self.make_private(path)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let found = std::fs::symlink_metadata(path)?;
        Ok(found.is_dir() && found.uid() == self.uid && found.mode() & 0o077 == 0)
    }

    /// Makes this user the owner of a file.
    pub(super) fn own(&self, path: &Path) -> io::Result<()> {
        match self.drops {
            true => chown(path, Some(self.uid), Some(self.gid)),
            false => Ok(()),
        }
    }

    /// Whether this user can access a directory. The system decides, since mode bits are not the whole
    /// rule.
    pub(super) fn can_enter(&self, path: &Path) -> bool {
        let mut command = self.command(Path::new("/bin/sh"));
        command.args(["-c", "cd \"$1\"", "sh"]).arg(path);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

/// `name:x:uid:gid:…`; macOS writes the ids of `nobody` as -2.
fn passwd_entry(passwd: &str, name: &str) -> Option<Owner> {
    let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let entry =
        passwd.lines().map(fields).find(|fields| fields.first().is_some_and(|n| n == name))?;
    let id = |text: &String| text.parse::<i64>().ok().map(|id| id as u32);
    let (uid, gid) = (id(entry.get(2)?)?, id(entry.get(3)?)?);
    Some(Owner { name: format!("user {name}"), uid, gid, drops: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_in_passwd_by_its_whole_name() {
        let passwd = "# comment\npostgres2:x:5:6::/:/bin/sh\npostgres:x:101:104:,,:/:/bin/sh\nnobody:*:-2:-2:::";
        let found = passwd_entry(passwd, "postgres").unwrap();
        assert_eq!((found.uid, found.gid), (101, 104));
        assert_eq!(passwd_entry(passwd, "nobody").unwrap().uid, u32::MAX - 1);
        assert_eq!(passwd_entry(passwd, "root"), None);
    }

    #[test]
    fn the_user_of_postgres_is_not_the_one_of_the_sandbox() {
        let chosen = |postgres: &str, other: &str| {
            let passwd = format!("postgres:x:{postgres}::/:/bin/sh\nnobody:x:{other}::/:/bin/sh");
            Owner::of_passwd(&passwd).map(|owner| owner.uid)
        };
        assert_eq!(chosen("101:104", "65534:65534"), Some(101));
        assert_eq!(chosen("65533:104", "65534:65534"), Some(65534));
        assert_eq!(chosen("101:65533", "65534:65534"), Some(65534));
        assert_eq!(chosen("65533:65533", "65533:65533"), None);
    }
}
