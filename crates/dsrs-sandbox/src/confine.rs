//! Confines the child, so that a program that escapes the interpreter finds no user, files, processes or
//! network. Each wall is raised on its own: if the system refuses one (for example a container that may
//! not change users), the others still stand, and the refusal is recorded. Does not decide which walls a
//! program needs.

use std::time::Duration;
use std::{fs, io};

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use nix::unistd::{
    Gid, SysconfVar, Uid, getegid, geteuid, getgid, getuid, setgid, setgroups, setuid, sysconf,
};

use crate::walls::{SANDBOX_USER, Wall, Walls};

/// The assumed size of a process if the system does not report it.
const UNKNOWN_SIZE: u64 = 512 << 20;

/// Drops root privileges and binds the process to its parent.
pub(crate) fn give_up_privileges(walls: &mut Walls) {
    if geteuid().is_root() {
        walls.record(Wall::User, change_user());
    }
    // A later change of user would undo it.
    #[cfg(target_os = "linux")]
    linux::bind_to_parent(walls);
}

/// Leaves every group before the user: afterwards it could not. Each step is tried, even if the one
/// before it failed.
fn change_user() -> io::Result<()> {
    let (user, group) = (Uid::from_raw(SANDBOX_USER), Gid::from_raw(SANDBOX_USER));
    let steps = [setgroups(&[]), setgid(group), setuid(user)];
    steps.into_iter().collect::<nix::Result<()>>()?;
    match [getuid(), geteuid()] == [user; 2] && [getgid(), getegid()] == [group; 2] {
        true => Ok(()),
        false => Err(io::Error::other("the system changed the user in part only")),
    }
}

/// The address space of the process before the program, in bytes.
pub(crate) fn address_space() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    let page = page.and_then(|size| u64::try_from(size).ok()).unwrap_or(4096);
    pages.map_or(UNKNOWN_SIZE, |pages| pages.saturating_mul(page))
}

/// Forbids opening and extending files and starting processes.
///
/// # Errors
/// The system refuses a limit.
pub(crate) fn forbid_resources() -> io::Result<()> {
    lower(Resource::RLIMIT_CORE, 0)?;
    lower(Resource::RLIMIT_FSIZE, 0)?;
    lower(Resource::RLIMIT_NOFILE, 3)?;
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    lower(Resource::RLIMIT_NPROC, 0)?;
    Ok(())
}

/// Sets the limits of one program, or of a session with this processor time for all of its programs. The interpreter has its own limits; these apply beyond them.
///
/// # Errors
/// The system refuses a limit.
pub(crate) fn limit(before: u64, memory: u64, processor: Duration) -> io::Result<()> {
    let seconds = processor.as_secs().saturating_add(1);
    lower(Resource::RLIMIT_AS, before.saturating_add(memory))?;
    // The soft limit ends the process with a signal that the parent recognizes; the hard limit kills it.
    let (_, hard) = getrlimit(Resource::RLIMIT_CPU)?;
    Ok(setrlimit(Resource::RLIMIT_CPU, hard.min(seconds), hard.min(seconds.saturating_add(1)))?)
}

/// Forbids every system call that a computation does not need, including those for limits.
#[cfg(target_os = "linux")]
pub(crate) fn filter_calls(walls: &mut Walls) {
    walls.record(Wall::Seccomp, linux::filter_calls());
}

/// Other systems have no such filter.
#[cfg(not(target_os = "linux"))]
pub(crate) fn filter_calls(_: &mut Walls) {}

fn lower(resource: Resource, to: rlim_t) -> io::Result<()> {
    let (_, hard) = getrlimit(resource)?;
    Ok(setrlimit(resource, hard.min(to), hard.min(to))?)
}

#[cfg(target_os = "linux")]
mod linux {
    //! Linux only: the child dies with its parent, and a filter of system calls.

    use std::collections::BTreeMap;
    use std::env::consts::ARCH;

    use nix::sys::prctl;
    use nix::sys::signal::Signal;
    use nix::unistd::getppid;
    use seccompiler::{
        BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
        SeccompFilter, SeccompRule, apply_filter_all_threads,
    };

    use crate::walls::{Wall, Walls};

    /// The calls that a computation needs: memory, pipes, waiting of threads, exit.
    const CALLS: &[i64] = &[
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_close,
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_futex,
        libc::SYS_getrandom,
        libc::SYS_clock_gettime,
        libc::SYS_sched_yield,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];

    pub(super) fn bind_to_parent(walls: &mut Walls) {
        walls.record(Wall::NoDump, prctl::set_dumpable(false));
        walls.record(Wall::ParentDeath, prctl::set_pdeathsig(Signal::SIGKILL));
        walls.record(Wall::NoNewPrivs, prctl::set_no_new_privs());
    }

    /// Every other call fails with `EPERM` instead of killing the process, so that libraries can fall back
    /// or report an error. A system may accept the filter and ignore it, so one forbidden call is tried.
    pub(super) fn filter_calls() -> Result<(), String> {
        let program = filter().map_err(|error| error.to_string())?;
        apply_filter_all_threads(&program).map_err(|error| error.to_string())?;
        // A parent has a positive id, or 0 in another namespace; the call itself cannot fail.
        match getppid().as_raw() < 0 {
            true => Ok(()),
            false => Err("the system accepts the filter and ignores it".to_owned()),
        }
    }

    fn filter() -> Result<BpfProgram, BackendError> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            CALLS.iter().map(|call| (*call, Vec::new())).collect();
        // Aborts the process itself. No other process is allowed as target.
        let me = u64::from(std::process::id());
        let itself = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, me)?;
        rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![itself])?]);
        let forbidden = SeccompAction::Errno(libc::EPERM as u32);
        SeccompFilter::new(rules, forbidden, SeccompAction::Allow, ARCH.try_into()?)?.try_into()
    }
}
