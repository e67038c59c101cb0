use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

type Outcomes = BTreeMap<String, String>;

/// Calls that a cell must not have. Arguments are all ones, which the kernel refuses, with another error, where the filter does not.
const DENIED: [(&str, libc::c_long); 63] = [
    ("acct", libc::SYS_acct),
    ("add_key", libc::SYS_add_key),
    ("adjtimex", libc::SYS_adjtimex),
    ("bpf", libc::SYS_bpf),
    ("cachestat", 451),
    ("chroot", libc::SYS_chroot),
    ("clock_adjtime", libc::SYS_clock_adjtime),
    ("clock_settime", libc::SYS_clock_settime),
    ("clone3", libc::SYS_clone3),
    ("delete_module", libc::SYS_delete_module),
    ("fanotify_init", libc::SYS_fanotify_init),
    ("fanotify_mark", libc::SYS_fanotify_mark),
    ("finit_module", libc::SYS_finit_module),
    ("fsconfig", libc::SYS_fsconfig),
    ("fsmount", libc::SYS_fsmount),
    ("fsopen", libc::SYS_fsopen),
    ("fspick", libc::SYS_fspick),
    ("get_mempolicy", libc::SYS_get_mempolicy),
    ("init_module", libc::SYS_init_module),
    ("io_uring_enter", libc::SYS_io_uring_enter),
    ("io_uring_register", libc::SYS_io_uring_register),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("ioperm", libc::SYS_ioperm),
    ("iopl", libc::SYS_iopl),
    ("kexec_file_load", libc::SYS_kexec_file_load),
    ("kexec_load", libc::SYS_kexec_load),
    ("keyctl", libc::SYS_keyctl),
    ("listmount", 458),
    ("lookup_dcookie", libc::SYS_lookup_dcookie),
    ("lsm_list_modules", 461),
    ("mbind", libc::SYS_mbind),
    ("memfd_secret", 447),
    ("migrate_pages", libc::SYS_migrate_pages),
    ("mincore", libc::SYS_mincore),
    ("modify_ldt", libc::SYS_modify_ldt),
    ("mount", libc::SYS_mount),
    ("mount_setattr", libc::SYS_mount_setattr),
    ("move_mount", libc::SYS_move_mount),
    ("move_pages", libc::SYS_move_pages),
    ("open_by_handle_at", libc::SYS_open_by_handle_at),
    ("open_tree", libc::SYS_open_tree),
    ("perf_event_open", libc::SYS_perf_event_open),
    ("pivot_root", libc::SYS_pivot_root),
    ("process_madvise", libc::SYS_process_madvise),
    ("quotactl", libc::SYS_quotactl),
    ("quotactl_fd", libc::SYS_quotactl_fd),
    ("reboot", libc::SYS_reboot),
    ("remap_file_pages", libc::SYS_remap_file_pages),
    ("request_key", libc::SYS_request_key),
    ("set_mempolicy", libc::SYS_set_mempolicy),
    ("setdomainname", libc::SYS_setdomainname),
    ("sethostname", libc::SYS_sethostname),
    ("setns", libc::SYS_setns),
    ("settimeofday", libc::SYS_settimeofday),
    ("statmount", 457),
    ("swapoff", libc::SYS_swapoff),
    ("swapon", libc::SYS_swapon),
    ("syslog", libc::SYS_syslog),
    ("umount2", libc::SYS_umount2),
    ("unshare", libc::SYS_unshare),
    ("userfaultfd", libc::SYS_userfaultfd),
    ("ustat", libc::SYS_ustat),
    ("vhangup", libc::SYS_vhangup),
];

const NAMESPACE_FLAGS: [(&str, libc::c_int); 7] = [
    ("cgroup", libc::CLONE_NEWCGROUP),
    ("ipc", libc::CLONE_NEWIPC),
    ("mount", libc::CLONE_NEWNS),
    ("net", libc::CLONE_NEWNET),
    ("pid", libc::CLONE_NEWPID),
    ("user", libc::CLONE_NEWUSER),
    ("uts", libc::CLONE_NEWUTS),
];

pub fn system_calls() -> Outcomes {
    let mut outcomes: Outcomes = DENIED
        .into_iter()
        // SAFETY: no call takes -1 for a pointer or a length; it runs in a child of its own.
        .map(|(name, number)| (name.to_owned(), in_child(|| unsafe { libc::syscall(number, -1, -1, -1, -1, -1, -1) })))
        .collect();
    for (name, flag) in NAMESPACE_FLAGS {
        let clone = in_child(|| clone_with(flag));
        outcomes.insert(format!("clone with a new {name} namespace"), clone);
        // SAFETY: no memory is passed.
        let unshare = in_child(|| unsafe { libc::syscall(libc::SYS_unshare, flag) });
        outcomes.insert(format!("unshare of the {name} namespace"), unshare);
    }
    for (name, kind) in [("block", libc::S_IFBLK), ("character", libc::S_IFCHR)] {
        let node = c"/tmp/.holdfast-node";
        // SAFETY: the string is NUL-terminated.
        let made = in_child(|| unsafe { i64::from(libc::mknod(node.as_ptr(), kind | 0o666, libc::makedev(7, 0))) });
        outcomes.insert(format!("mknod of a {name} device"), made);
        let _ = fs::remove_file("/tmp/.holdfast-node");
    }
    outcomes
}

fn clone_with(flag: libc::c_int) -> libc::c_long {
    // SAFETY: without a stack the child goes on with a copy of this one, as after fork, and ends at once.
    unsafe {
        let pid = libc::syscall(libc::SYS_clone, flag | libc::SIGCHLD, 0, 0, 0, 0);
        if pid == 0 {
            libc::_exit(0);
        }
        pid
    }
}

/// `getpid` through the two other ways into the kernel.
pub fn foreign_entries() -> Outcomes {
    const X32: libc::c_long = 0x4000_0000;
    [
        // SAFETY: getpid takes and touches no memory.
        ("x32", in_child(|| unsafe { libc::syscall(X32 + libc::SYS_getpid) })),
        ("i386", in_child(i386_getpid)),
    ]
    .map(|(name, outcome)| (name.to_owned(), outcome))
    .into()
}

fn i386_getpid() -> libc::c_long {
    let mut result: i64 = 20;
    // SAFETY: getpid (20 in the i386 table) takes and touches no memory; the entry may clobber r8 to r11.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("rax") result, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
    }
    result
}

pub fn sockets() -> Outcomes {
    let families = (0..46).map(|family| {
        // SAFETY: no memory is passed.
        let outcome = in_child(|| unsafe { i64::from(libc::socket(family, libc::SOCK_STREAM, 0)) });
        (format!("family {family:02} stream"), outcome)
    });
    let kinds = [
        ("inet datagram", libc::AF_INET, libc::SOCK_DGRAM, 0),
        ("inet icmp", libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP),
        ("inet raw", libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_TCP),
        ("packet raw", libc::AF_PACKET, libc::SOCK_RAW, 0),
        ("netlink route", libc::AF_NETLINK, libc::SOCK_RAW, 0),
        ("netlink audit", libc::AF_NETLINK, libc::SOCK_RAW, 9),
        ("netlink netfilter", libc::AF_NETLINK, libc::SOCK_RAW, 12),
        ("netlink uevent", libc::AF_NETLINK, libc::SOCK_RAW, 15),
    ];
    // SAFETY: no memory is passed.
    let kinds = kinds.map(|(name, family, kind, protocol)| {
        (name.to_owned(), in_child(|| unsafe { i64::from(libc::socket(family, kind, protocol)) }))
    });
    families.chain(kinds).collect()
}

/// The requests that make, delete and set up subvolumes, with and without bit 32 set, which a plain comparison would miss. And the
/// sharing of blocks, which stays.
pub fn btrfs_requests() -> Outcomes {
    const TYPE: u64 = 0x94 << 8;
    let mut outcomes = Outcomes::new();
    for number in [1, 14, 15, 23, 24, 26, 63] {
        for (words, high) in [("", 0), (" with bit 32", 1 << 32)] {
            outcomes.insert(format!("{number}{words}"), request((1 << 30) | (4096 << 16) | TYPE | number | high));
        }
    }
    outcomes.insert("9, sharing blocks".into(), request((1 << 30) | (4 << 16) | TYPE | 9));
    outcomes
}

fn request(number: u64) -> String {
    in_child(|| {
        let Ok(root) = fs::File::open("/work") else { return -1 };
        // SAFETY: a null argument makes the kernel refuse what the filter let through.
        unsafe { libc::syscall(libc::SYS_ioctl, std::os::fd::AsRawFd::as_raw_fd(&root), number, 0) }
    })
}

pub fn devices() -> Outcomes {
    ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "kmsg", "mem", "fuse", "loop0", "vda", "sda"]
        .map(|name| (name.to_owned(), said(fs::File::open(format!("/dev/{name}")))))
        .into()
}

/// Opens for writing, without writing.
pub fn writes() -> Outcomes {
    [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/vm/drop_caches",
        "/proc/sys/fs/binfmt_misc/register",
        "/proc/sysrq-trigger",
        "/proc/1/mem",
        "/sys/kernel/uevent_helper",
        "/sys/fs/cgroup/cgroup.procs",
        "/sys/fs/cgroup/memory/release_agent",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/.holdfast/agent",
        "/proc/1/exe",
    ]
    .map(|path| (path.to_owned(), said(fs::OpenOptions::new().write(true).open(path))))
    .into()
}

/// `ok` only when something could be read.
pub fn reads() -> Outcomes {
    [
        "/dev/kmsg",
        "/proc/kallsyms",
        "/proc/kcore",
        "/proc/keys",
        "/proc/cmdline",
        "/proc/partitions",
        "/proc/timer_list",
        "/proc/latency_stats",
        "/proc/sched_debug",
        "/proc/1/environ",
        "/sys/kernel/security/lsm",
    ]
    .map(|path| {
        let mut byte = [0];
        let read = fs::File::open(path).and_then(|mut file| file.read(&mut byte));
        let outcome = if matches!(read, Ok(0)) { "empty".to_owned() } else { said(read) };
        (path.to_owned(), outcome)
    })
    .into()
}

pub fn connections() -> Outcomes {
    [
        "198.18.0.1:80",
        "198.18.0.1:53",
        "198.18.7.7:443",
        "198.19.7.7:443",
        "1.1.1.1:443",
        "169.254.169.254:80",
        "100.96.1.1:80",
        "127.0.0.1:1",
        "[::1]:1",
        "[2001:db8::1]:443",
    ]
    .map(|text| {
        let outcome = match text.parse::<SocketAddr>() {
            Ok(address) => said(TcpStream::connect_timeout(&address, Duration::from_secs(2))),
            Err(error) => error.to_string(),
        };
        (text.to_owned(), outcome)
    })
    .into()
}

/// Runs one call in a child and says what became of it: it may be ended by the filter.
fn in_child(call: impl FnOnce() -> libc::c_long) -> String {
    // SAFETY: the child makes the call and ends; this process has one thread.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            let result = call();
            let error = if result < 0 { io::Error::last_os_error().raw_os_error().unwrap_or(255) } else { 0 };
            libc::_exit(error);
        }
        let mut status = 0;
        if child < 0 || libc::waitpid(child, &mut status, 0) != child {
            return "not tried".into();
        }
        if libc::WIFSIGNALED(status) {
            return format!("ended by signal {}", libc::WTERMSIG(status));
        }
        named(libc::WEXITSTATUS(status))
    }
}

fn said<T>(result: io::Result<T>) -> String {
    match result {
        Ok(_) => "ok".into(),
        Err(error) => error.raw_os_error().map_or_else(|| format!("{:?}", error.kind()), named),
    }
}

fn named(error: i32) -> String {
    match error {
        0 => "ok",
        libc::EPERM => "EPERM",
        libc::ENOENT => "ENOENT",
        libc::EIO => "EIO",
        libc::ENXIO => "ENXIO",
        libc::EBADF => "EBADF",
        libc::EACCES => "EACCES",
        libc::EFAULT => "EFAULT",
        libc::EINVAL => "EINVAL",
        libc::EROFS => "EROFS",
        libc::ENOSYS => "ENOSYS",
        libc::ETXTBSY => "ETXTBSY",
        libc::ENODEV => "ENODEV",
        libc::ENOTTY => "ENOTTY",
        libc::ECONNREFUSED => "ECONNREFUSED",
        libc::ENETUNREACH => "ENETUNREACH",
        libc::EADDRNOTAVAIL => "EADDRNOTAVAIL",
        libc::EHOSTUNREACH => "EHOSTUNREACH",
        libc::EAFNOSUPPORT => "EAFNOSUPPORT",
        libc::EPROTONOSUPPORT => "EPROTONOSUPPORT",
        libc::ESOCKTNOSUPPORT => "ESOCKTNOSUPPORT",
        other => return format!("error {other}"),
    }
    .into()
}
