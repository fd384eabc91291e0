//! The system calls that a confined program must not make, as seccomp filters. What files it may touch
//! is not decided here: a filter sees numbers, not names.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use crate::orders::SyscallFilter;

/// Calls that are denied whatever their arguments: they look into other processes, change the machine,
/// or reach parts of the kernel that no build needs and that have had holes.
const ALWAYS_DENIED: &[c_long] = &[
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
const NAMESPACE_CALLS: &[c_long] = &[
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

/// Calls that change another process, or the memory of one, that is named by its first argument. Zero is the
/// caller itself.
const PROCESS_TARGETING_CALLS: &[c_long] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_get_robust_list,
];

/// Calls that reach what the user's other programs have made and that no path names: their memory, shared
/// memory, semaphores and queues.
const SHARED_IPC_CALLS: &[c_long] = &[
    libc::SYS_process_madvise,
    PROCESS_MRELEASE,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];
/// Calls that change what is written beside a file: access lists, which open it to others, and labels. Programs that
/// copy these go on without where a file system has none.
const EXTENDED_ATTRIBUTE_CALLS: &[c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
];
/// Not every C library has a name for these; their numbers are the same on all machines.
const PROCESS_MRELEASE: c_long = 448;
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;

/// The bits of a mode with which a program runs as its owner or group, whoever starts it.
const SET_ID: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];

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
const IOPRIO_WHO_PROCESS: i32 = 1;

/// `TIOCSTI` and `TIOCLINUX`, which put words into the mouth of whoever sits at the terminal. C libraries do not agree on
/// their type.
const TERMINAL_INJECTION_IOCTLS: [u64; 2] = [0x5412, 0x541c];

/// On x86-64 most calls can also be made with this bit, under another convention.
#[cfg(target_arch = "x86_64")]
const X32_CALL_BIT: c_long = 0x4000_0000;
/// Denied calls that have numbers of their own there, and `ioctl`, which is denied there altogether.
#[cfg(target_arch = "x86_64")]
const X32_CALL_NUMBERS: &[c_long] = &[514, 521, 528, 531, 533, 539, 540];

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Denies the calls from now on, to this thread and whatever it becomes.
pub(crate) fn apply(filter: SyscallFilter) -> Result<(), String> {
    let install = || -> Result<(), seccompiler::Error> {
        let denied = build(rules(filter)?, libc::EPERM)?;
        // The flags of clone3 and the mode of openat2 are in memory, where a filter cannot see them; told
        // that they do not exist, programs use clone and openat.
        if !filter.namespaces {
            apply_filter(&build(deny_always([libc::SYS_clone3, libc::SYS_openat2]), libc::ENOSYS)?)?;
        }
        if filter.keeps_attributes {
            apply_filter(&build(deny_always(EXTENDED_ATTRIBUTE_CALLS.iter().copied()), libc::EOPNOTSUPP)?)?;
        }
        apply_filter(&denied)
    };
    install().map_err(|error| format!("denying system calls: {error}"))
}

fn build(rules: SyscallRules, errno: i32) -> Result<BpfProgram, BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let action = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, action, architecture)?.try_into()
}

fn rules(filter: SyscallFilter) -> Result<SyscallRules, BackendError> {
    let mut rules: SyscallRules = ALWAYS_DENIED.iter().map(|call| (*call, Vec::new())).collect();
    if !filter.namespaces {
        rules.extend(NAMESPACE_CALLS.iter().map(|call| (*call, Vec::new())));
        rules.insert(libc::SYS_unshare, namespace_flag_rules(0)?);
        rules.insert(libc::SYS_clone, namespace_flag_rules(0)?);
    }
    rules.insert(libc::SYS_socket, vec![denied_socket_domains(filter)?, denied_netlink_protocols()?]);
    if !filter.unix_sockets {
        // A datagram socket of a pair can still be sent elsewhere by name; the other kinds cannot.
        let datagram = condition(1, SeccompCmpOp::MaskedEq(0xf), value(libc::SOCK_DGRAM))?;
        rules.insert(libc::SYS_socketpair, vec![SeccompRule::new(vec![datagram])?]);
    }
    let inject: Result<Vec<_>, _> = TERMINAL_INJECTION_IOCTLS
        .into_iter()
        .map(|request| SeccompRule::new(vec![condition(1, SeccompCmpOp::Eq, request)?]))
        .collect();
    rules.insert(libc::SYS_ioctl, inject?);
    rules.extend(mode_rules(filter)?);
    // Where other processes cannot be seen, they cannot be named either.
    if filter.shares_processes {
        rules.extend(other_processes()?);
    }
    #[cfg(target_arch = "x86_64")]
    {
        let again: Vec<_> = rules.iter().map(|(call, chain)| (call | X32_CALL_BIT, chain.clone())).collect();
        rules.extend(again);
        rules.extend(X32_CALL_NUMBERS.iter().map(|call| (call | X32_CALL_BIT, Vec::new())));
    }
    Ok(rules)
}

/// These calls, whatever their arguments.
fn deny_always(calls: impl IntoIterator<Item = c_long>) -> SyscallRules {
    let calls = calls.into_iter();
    #[cfg(target_arch = "x86_64")]
    let calls = calls.flat_map(|call| [call, call | X32_CALL_BIT]);
    calls.map(|call| (call, Vec::new())).collect()
}

/// Files that anybody can run as the user, or as a group of his; and where no mount keeps files outside the workspace as
/// they are, files that everybody can write to. A directory is made without set-id bits whatever is asked for.
fn mode_rules(filter: SyscallFilter) -> Result<SyscallRules, BackendError> {
    let has = |argument: u8, bits: u32| {
        condition(argument, SeccompCmpOp::MaskedEq(u64::from(bits)), u64::from(bits))
    };
    let mut rules = SyscallRules::new();
    // Whether the call makes a file, which it does in the workspace.
    let modes = [
        (libc::SYS_fchmod, 1, false),
        (libc::SYS_fchmodat, 2, false),
        (FCHMODAT2, 2, false),
        (libc::SYS_mknodat, 2, true),
    ];
    #[cfg(target_arch = "x86_64")]
    let modes = modes.into_iter().chain([
        (libc::SYS_chmod, 1, false),
        (libc::SYS_mknod, 1, true),
        (libc::SYS_creat, 1, true),
    ]);
    for (call, argument, makes) in modes {
        let open = (filter.keeps_attributes && !makes).then_some(&libc::S_IWOTH);
        let bits = SET_ID.iter().chain(open);
        let chain: Result<Vec<_>, _> = bits.map(|bit| SeccompRule::new(vec![has(argument, *bit)?])).collect();
        rules.insert(call, chain?);
    }
    // Without a flag that makes a file, the mode is whatever was in a register.
    let makes = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY].map(i32::unsigned_abs);
    let opens = [(libc::SYS_openat, 2)];
    #[cfg(target_arch = "x86_64")]
    let opens = opens.into_iter().chain([(libc::SYS_open, 1)]);
    for (call, flags) in opens {
        let mut chain = Vec::new();
        for make in makes {
            for bit in SET_ID {
                chain.push(SeccompRule::new(vec![has(flags, make)?, has(flags + 1, bit)?])?);
            }
        }
        rules.insert(call, chain);
    }
    Ok(rules)
}

/// Calls on processes other than the caller. Its own threads are among them, because a filter cannot know their
/// numbers.
fn other_processes() -> Result<SyscallRules, BackendError> {
    let mut rules: SyscallRules = SHARED_IPC_CALLS.iter().map(|call| (*call, Vec::new())).collect();
    let is_not = |argument: u8, number: i32| {
        SeccompRule::new(vec![condition(argument, SeccompCmpOp::Ne, value(number))?])
    };
    for call in PROCESS_TARGETING_CALLS {
        rules.insert(*call, vec![is_not(0, 0)?]);
    }
    // The first argument says whether the second names a process, a group or a user.
    rules.insert(libc::SYS_setpriority, vec![is_not(0, 0)?, is_not(1, 0)?]);
    rules.insert(libc::SYS_ioprio_set, vec![is_not(0, IOPRIO_WHO_PROCESS)?, is_not(1, 0)?]);
    // All processes of the user at once, which older versions of Landlock do not hold back.
    let everybody = condition(0, SeccompCmpOp::Eq, u64::from(u32::MAX))?;
    rules.insert(libc::SYS_kill, vec![SeccompRule::new(vec![everybody])?]);
    Ok(rules)
}

fn namespace_flag_rules(argument: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |flag: &i32| {
        let flag = value(*flag);
        SeccompRule::new(vec![condition(argument, SeccompCmpOp::MaskedEq(flag), flag)?])
    };
    NAMESPACE_FLAGS.iter().map(rule).collect()
}

/// Matches every domain but those that are let through.
fn denied_socket_domains(filter: SyscallFilter) -> Result<SeccompRule, BackendError> {
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

/// Matches netlink sockets that do more than tell of network interfaces and routes.
fn denied_netlink_protocols() -> Result<SeccompRule, BackendError> {
    let netlink = condition(0, SeccompCmpOp::Eq, value(libc::AF_NETLINK))?;
    SeccompRule::new(vec![netlink, condition(2, SeccompCmpOp::Ne, value(libc::NETLINK_ROUTE))?])
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn value(constant: i32) -> u64 {
    u64::from(constant.unsigned_abs())
}
