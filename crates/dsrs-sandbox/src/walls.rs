//! The walls around a child: what the system can do to confine it, under stable names, and which of
//! them stand. Raises none.

use std::collections::BTreeMap;
use std::fmt;

use nix::unistd::geteuid;

/// The user and group of the child where its parent is root. It owns no file and has no entry in
/// `passwd`; `nobody` (65534) may own files and may be the user of a database.
pub const SANDBOX_USER: u32 = 65_533;

/// A measure of the system that confines the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wall {
    /// Limits of memory, processor time, files and processes. No program runs without it.
    Rlimits,
    /// A user and group of its own. Only root can give one.
    User,
    /// No program that the child could start has more rights than the child.
    NoNewPrivs,
    /// Other processes of its user can neither trace the child nor read its memory.
    NoDump,
    /// The child ends when its parent ends.
    ParentDeath,
    /// The system calls of a computation and no others.
    Seccomp,
}

impl Wall {
    /// Every wall, in the order in which they are raised.
    pub const ALL: [Self; 6] = [
        Self::Rlimits,
        Self::User,
        Self::NoNewPrivs,
        Self::NoDump,
        Self::ParentDeath,
        Self::Seccomp,
    ];

    /// Its stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rlimits => "rlimits",
            Self::User => "user",
            Self::NoNewPrivs => "no_new_privs",
            Self::NoDump => "no_dump",
            Self::ParentDeath => "parent_death",
            Self::Seccomp => "seccomp",
        }
    }

    /// The wall with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wall| wall.as_str() == name)
    }

    /// The walls that this platform and this process can have: by the system, the architecture and
    /// the user, never by what an attempt to raise them yields.
    pub fn of_platform() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|wall| wall.reason_against().is_none())
    }

    /// Why this platform or this process cannot have the wall.
    fn reason_against(self) -> Option<&'static str> {
        const LINUX: bool = cfg!(target_os = "linux");
        // Those of seccompiler.
        const FILTERED: bool =
            cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"));
        match self {
            Self::Rlimits => None,
            Self::User => (!geteuid().is_root())
                .then_some("the server does not run as root, so it cannot change users"),
            Self::Seccomp if LINUX && !FILTERED => {
                Some("there is no filter of system calls for this processor")
            }
            Self::NoNewPrivs | Self::NoDump | Self::ParentDeath | Self::Seccomp => {
                (!LINUX).then_some("only Linux has it")
            }
        }
    }
}

impl fmt::Display for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which walls stand around a child, and why the others do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walls(BTreeMap<Wall, Option<String>>);

impl Walls {
    /// No wall stands yet.
    pub(crate) fn none() -> Self {
        let reason = |wall: Wall| wall.reason_against().unwrap_or("it was not raised");
        Self(Wall::ALL.into_iter().map(|wall| (wall, Some(reason(wall).to_owned()))).collect())
    }

    /// Walls from their report; `None` for those that stand.
    pub(crate) fn reported(walls: impl IntoIterator<Item = (Wall, Option<String>)>) -> Self {
        let mut found = Self::none();
        found.0.extend(walls);
        found
    }

    /// Records the attempt to raise a wall. It stands only if the last attempt succeeded.
    pub(crate) fn record(&mut self, wall: Wall, raised: Result<(), impl fmt::Display>) {
        self.0.insert(wall, raised.err().map(|error| error.to_string()));
    }

    /// Every wall, with the reason if it does not stand.
    pub fn iter(&self) -> impl Iterator<Item = (Wall, Option<&str>)> {
        self.0.iter().map(|(wall, reason)| (*wall, reason.as_deref()))
    }

    /// The first of the required walls that does not stand, and why. The limits are always required.
    #[must_use]
    pub fn missing(&self, required: &[Wall]) -> Option<(Wall, &str)> {
        self.iter()
            .filter(|(wall, _)| *wall == Wall::Rlimits || required.contains(wall))
            .find_map(|(wall, reason)| Some((wall, reason?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_that_was_not_raised_is_missing_if_it_is_required() {
        let mut walls = Walls::none();
        assert_eq!(walls.missing(&[]).map(|(wall, _)| wall), Some(Wall::Rlimits));
        walls.record(Wall::Rlimits, Ok::<(), String>(()));
        assert_eq!(walls.missing(&[]), None);
        assert_eq!(walls.missing(&[Wall::Seccomp]).map(|(wall, _)| wall), Some(Wall::Seccomp));
        walls.record(Wall::Seccomp, Err("refused"));
        assert_eq!(walls.missing(&Wall::ALL[4..]).map(|(wall, _)| wall), Some(Wall::ParentDeath));
        assert_eq!(walls.missing(&[Wall::Seccomp]), Some((Wall::Seccomp, "refused")));
        walls.record(Wall::Seccomp, Ok::<(), String>(()));
        assert_eq!(walls.missing(&[Wall::Seccomp]), None);
    }

    #[test]
    fn the_platform_always_has_limits_and_every_wall_has_a_name() {
        assert_eq!(Wall::of_platform().next(), Some(Wall::Rlimits));
        for wall in Wall::ALL {
            assert_eq!(Wall::named(wall.as_str()), Some(wall));
        }
        assert_eq!(Wall::named("secomp"), None);
    }
}
