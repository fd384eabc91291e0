//! The system calls that a confined program must not make, as seccomp filters. What files it may touch
//! is not decided here: a filter sees numbers, not names.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use crate::orders::Filter;

/// Calls that are denied whatever their arguments: they look into other processes, change the machine,
/// or reach parts of the kernel that no build needs and that have had holes.
const DENIED: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Calls that make or enter namespaces and change mounts, denied unless a program may nest.
const NAMESPACES: &[c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
];

/// The flags of `clone` and `unshare` that make namespaces.
const NAMESPACE_FLAGS: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    CLONE_NEWTIME,
];
const CLONE_NEWTIME: i32 = 0x80;

/// `TIOCSTI` and `TIOCLINUX`, which put words into the mouth of whoever sits at the terminal. C libraries do not agree on
/// their type.
const INJECT: [u64; 2] = [0x5412, 0x541c];

/// On x86-64 most calls can also be made with this bit, under another convention.
#[cfg(target_arch = "x86_64")]
const OTHER_CONVENTION: c_long = 0x4000_0000;
/// Denied calls that have numbers of their own there, and `ioctl`, which is denied there altogether.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: &[c_long] = &[514, 521, 528, 539, 540];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Denies the calls from now on, to this thread and whatever it becomes.
pub(crate) fn apply(filter: Filter) -> Result<(), String> {
    let install = || -> Result<(), seccompiler::Error> {
        let denied = build(rules(filter)?, libc::EPERM)?;
        // The flags of clone3 are in memory, where a filter cannot see them; told that it does not
        // exist, programs use clone.
        let unknown = build([(libc::SYS_clone3, Vec::new())].into(), libc::ENOSYS)?;
        if !filter.namespaces {
            apply_filter(&unknown)?;
        }
        apply_filter(&denied)
    };
    install().map_err(|error| format!("denying system calls: {error}"))
}

fn build(rules: Rules, errno: i32) -> Result<BpfProgram, BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let action = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, action, architecture)?.try_into()
}

fn rules(filter: Filter) -> Result<Rules, BackendError> {
    let mut rules: Rules = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    if !filter.namespaces {
        rules.extend(NAMESPACES.iter().map(|call| (*call, Vec::new())));
        rules.insert(libc::SYS_unshare, any_flag(0)?);
        rules.insert(libc::SYS_clone, any_flag(0)?);
    }
    rules.insert(libc::SYS_socket, vec![other_domains(filter)?]);
    if !filter.unix_sockets {
        // A datagram socket of a pair can still be sent elsewhere by name; the other kinds cannot.
        let datagram = condition(1, SeccompCmpOp::MaskedEq(0xf), value(libc::SOCK_DGRAM))?;
        rules.insert(libc::SYS_socketpair, vec![SeccompRule::new(vec![datagram])?]);
    }
    let inject: Result<Vec<_>, _> = INJECT
        .into_iter()
        .map(|request| SeccompRule::new(vec![condition(1, SeccompCmpOp::Eq, request)?]))
        .collect();
    rules.insert(libc::SYS_ioctl, inject?);
    #[cfg(target_arch = "x86_64")]
    {
        let again: Vec<_> =
            rules.iter().map(|(call, chain)| (call | OTHER_CONVENTION, chain.clone())).collect();
        rules.extend(again);
        rules.extend(OTHER_NUMBERS.iter().map(|call| (call | OTHER_CONVENTION, Vec::new())));
    }
    Ok(rules)
}

fn any_flag(argument: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |flag: &i32| {
        let flag = value(*flag);
        SeccompRule::new(vec![condition(argument, SeccompCmpOp::MaskedEq(flag), flag)?])
    };
    NAMESPACE_FLAGS.iter().map(rule).collect()
}

/// Matches every domain but those that are let through.
fn other_domains(filter: Filter) -> Result<SeccompRule, BackendError> {
    let mut domains = vec![libc::AF_NETLINK];
    if filter.internet_sockets {
        domains.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if filter.unix_sockets {
        domains.push(libc::AF_UNIX);
    }
    let conditions: Result<Vec<_>, _> =
        domains.into_iter().map(|domain| condition(0, SeccompCmpOp::Ne, value(domain))).collect();
    SeccompRule::new(conditions?)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn value(constant: i32) -> u64 {
    u64::from(constant.unsigned_abs())
}
