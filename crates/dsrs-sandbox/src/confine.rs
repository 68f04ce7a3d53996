//! Confines the child, so that a program that escapes the interpreter finds no user, files, processes or
//! network. The limits are mandatory. Each further measure is independent: if the system refuses one
//! (for example a container that may not change users), the others still apply.

use std::{fs, io};

use dsrs::sandbox::SandboxLimits;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use nix::unistd::{Gid, SysconfVar, Uid, geteuid, setgid, setgroups, setuid, sysconf};

/// A user and group without files.
const NOBODY: u32 = 65_534;

/// The assumed size of a process if the system does not report it.
const UNKNOWN_SIZE: u64 = 512 << 20;

/// Drops root privileges and binds the process to its parent.
pub(crate) fn give_up_privileges() {
    if geteuid().is_root() {
        let _ = setgroups(&[]);
        let _ = setgid(Gid::from_raw(NOBODY));
        let _ = setuid(Uid::from_raw(NOBODY));
    }
    // A later change of user would undo it.
    #[cfg(target_os = "linux")]
    linux::bind_to_parent();
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
pub(crate) fn forbid_resources() -> io::Result<()> {
    lower(Resource::RLIMIT_CORE, 0)?;
    lower(Resource::RLIMIT_FSIZE, 0)?;
    lower(Resource::RLIMIT_NOFILE, 3)?;
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    lower(Resource::RLIMIT_NPROC, 0)?;
    Ok(())
}

/// Sets the limits of one program, then forbids every system call that a computation does not need,
/// including those for limits. The interpreter has its own limits; these apply beyond them.
///
/// # Errors
/// When the system refuses a limit: no program may run without limits.
pub(crate) fn limit(before: u64, limits: &SandboxLimits) -> io::Result<()> {
    let seconds = limits.time.as_secs().saturating_add(1);
    lower(Resource::RLIMIT_AS, before.saturating_add(limits.memory))?;
    // The soft limit ends the process with a signal that the parent recognizes; the hard limit kills it.
    let (_, hard) = getrlimit(Resource::RLIMIT_CPU)?;
    setrlimit(Resource::RLIMIT_CPU, hard.min(seconds), hard.min(seconds.saturating_add(1)))?;
    #[cfg(target_os = "linux")]
    linux::filter_calls();
    Ok(())
}

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
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter_all_threads,
    };

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

    pub(super) fn bind_to_parent() {
        let _ = prctl::set_dumpable(false);
        let _ = prctl::set_pdeathsig(Signal::SIGKILL);
        let _ = prctl::set_no_new_privs();
    }

    /// Every other call fails with `EPERM` instead of killing the process, so that libraries can fall back
    /// or report an error.
    pub(super) fn filter_calls() {
        if let Some(program) = filter() {
            let _ = apply_filter_all_threads(&program);
        }
    }

    fn filter() -> Option<BpfProgram> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            CALLS.iter().map(|call| (*call, Vec::new())).collect();
        // Aborts the process itself. No other process is allowed as target.
        let me = u64::from(std::process::id());
        let itself =
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, me).ok()?;
        rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![itself]).ok()?]);
        let forbidden = SeccompAction::Errno(libc::EPERM as u32);
        let machine = ARCH.try_into().ok()?;
        SeccompFilter::new(rules, forbidden, SeccompAction::Allow, machine).ok()?.try_into().ok()
    }
}
