//! What the child gives up, so that a program which broke out of the interpreter would find
//! nothing: user, files, processes, network. Limits are set or the program does not run; beyond
//! them each wall is one more, and where the system refuses one (a container without the right to
//! change users, say) the others stand.

use std::{fs, io};

use dsrs::sandbox::SandboxLimits;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use nix::unistd::{Gid, SysconfVar, Uid, geteuid, setgid, setgroups, setuid, sysconf};

/// The user and group that own nothing.
const NOBODY: u32 = 65_534;

/// Taken as the size of a process that cannot be asked for.
const UNKNOWN_SIZE: u64 = 512 << 20;

/// Leaves root, and ties the process to its parent.
pub(crate) fn give_up_privileges() {
    if geteuid().is_root() {
        let _ = setgroups(&[]);
        let _ = setgid(Gid::from_raw(NOBODY));
        let _ = setuid(Uid::from_raw(NOBODY));
    }
    // After the change of user, which would undo it.
    #[cfg(target_os = "linux")]
    linux::tie();
}

/// The bytes of address space that the process takes before any program.
pub(crate) fn address_space() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    let page = page.and_then(|size| u64::try_from(size).ok()).unwrap_or(4096);
    pages.map_or(UNKNOWN_SIZE, |pages| pages.saturating_mul(page))
}

/// From here on no file can be opened or grow, and no process started.
pub(crate) fn close_doors() -> io::Result<()> {
    lower(Resource::RLIMIT_CORE, 0)?;
    lower(Resource::RLIMIT_FSIZE, 0)?;
    lower(Resource::RLIMIT_NOFILE, 3)?;
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    lower(Resource::RLIMIT_NPROC, 0)?;
    Ok(())
}

/// Sets the limits of one program, and then takes away every call that a computation can do
/// without, that for setting limits too. The interpreter has limits of its own; these hold where
/// it does not look.
///
/// # Errors
/// When the system takes no limit: the one thing that no program may run without.
pub(crate) fn limit(before: u64, limits: &SandboxLimits) -> io::Result<()> {
    let seconds = limits.time.as_secs().saturating_add(1);
    lower(Resource::RLIMIT_AS, before.saturating_add(limits.memory))?;
    // The soft one tells the parent what happened; the hard one nobody survives.
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
    //! What only Linux has: death with the parent, and a list of the calls that are left.

    use std::collections::BTreeMap;
    use std::env::consts::ARCH;

    use nix::sys::prctl;
    use nix::sys::signal::Signal;
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter_all_threads,
    };

    /// What is left to a process that computes: memory, its pipes, its threads' waiting, its end.
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

    pub(super) fn tie() {
        let _ = prctl::set_dumpable(false);
        let _ = prctl::set_pdeathsig(Signal::SIGKILL);
        let _ = prctl::set_no_new_privs();
    }

    /// Every other call fails as if forbidden, rather than killing: a library that tries one has
    /// another way or an error to tell.
    pub(super) fn filter_calls() {
        if let Some(program) = filter() {
            let _ = apply_filter_all_threads(&program);
        }
    }

    fn filter() -> Option<BpfProgram> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            CALLS.iter().map(|call| (*call, Vec::new())).collect();
        // How a process aborts. No other process may be meant.
        let me = u64::from(std::process::id());
        let itself =
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, me).ok()?;
        rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![itself]).ok()?]);
        let forbidden = SeccompAction::Errno(libc::EPERM as u32);
        let machine = ARCH.try_into().ok()?;
        SeccompFilter::new(rules, forbidden, SeccompAction::Allow, machine).ok()?.try_into().ok()
    }
}
