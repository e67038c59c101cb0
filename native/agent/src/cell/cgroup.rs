use super::options::CgroupOption;
use super::sys;
use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::time::Duration;

const INHERITED: RawFd = 5;
const DIRECTORY: libc::c_int = libc::O_RDONLY | libc::O_DIRECTORY;

/// The cell's delegated cgroup; each process gets a child `p/<number>` of it.
#[derive(Clone)]
pub struct Groups {
    tree: Option<Rc<Tree>>,
}

struct Tree {
    root: OwnedFd,
    children: OwnedFd,
    made: Cell<u64>,
}

impl Groups {
    pub fn open(option: &CgroupOption) -> io::Result<Groups> {
        let root = match option {
            CgroupOption::Absent => return Ok(Groups { tree: None }),
            CgroupOption::Path(path) => {
                sys::open_plain(libc::AT_FDCWD, &sys::text(&path.to_string_lossy())?, DIRECTORY, 0)?
            }
            CgroupOption::Inherited => {
                // SAFETY: the host handed this descriptor over, nothing else owns it.
                let given = unsafe { OwnedFd::from_raw_fd(INHERITED) };
                sys::open_plain(given.as_raw_fd(), c".", DIRECTORY, 0)?
            }
        };
        match sys::mkdir_at(root.as_raw_fd(), c"p", 0o755) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let children = sys::open_child(root.as_raw_fd(), c"p", DIRECTORY, 0)?;
        Ok(Groups { tree: Some(Rc::new(Tree { root, children, made: Cell::new(0) })) })
    }

    /// A fresh, empty group under a number of its own. What an earlier start left under that number is emptied first.
    pub fn create(&self) -> io::Result<Group> {
        let Some(tree) = &self.tree else {
            return Ok(Group { kind: GroupKind::Session { leader: Cell::new(0) } });
        };
        tree.made.set(tree.made.get() + 1);
        let name = sys::text(&tree.made.get().to_string())?;
        let parent = tree.children.as_raw_fd();
        if let Err(error) = sys::mkdir_at(parent, &name, 0o755) {
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(error);
            }
            let left = sys::open_child(parent, &name, DIRECTORY, 0)?;
            write_file(left.as_raw_fd(), c"cgroup.kill", b"1")?;
        }
        let dir = sys::open_child(parent, &name, DIRECTORY, 0)?;
        Ok(Group { kind: GroupKind::Cgroup { tree: tree.clone(), name, dir } })
    }

    /// How often the kernel has killed for want of memory in this cell, where it tells.
    pub fn out_of_memory_kills(&self) -> u64 {
        let ours = self.tree.as_ref().and_then(|tree| read_file(tree.root.as_raw_fd(), c"memory.events").ok());
        let text = ours
            .or_else(|| std::fs::read_to_string("/sys/fs/cgroup/memory.events").ok())
            .or_else(|| std::fs::read_to_string("/sys/fs/cgroup/memory/memory.oom_control").ok());
        text.and_then(|text| field(&text, "oom_kill")).unwrap_or(0)
    }
}

/// What belongs to one process: everything it started, however it tried to get away.
pub struct Group {
    kind: GroupKind,
}

enum GroupKind {
    Cgroup { tree: Rc<Tree>, name: CString, dir: OwnedFd },
    Session { leader: Cell<i32> },
}

impl Group {
    /// The file a new child writes itself into; none where children are followed by session.
    pub fn entrance(&self) -> io::Result<Option<OwnedFd>> {
        match &self.kind {
            GroupKind::Cgroup { dir, .. } => {
                sys::open_child(dir.as_raw_fd(), c"cgroup.procs", libc::O_WRONLY, 0).map(Some)
            }
            GroupKind::Session { .. } => Ok(None),
        }
    }

    pub fn set_leader(&self, pid: i32) {
        if let GroupKind::Session { leader } = &self.kind {
            leader.set(pid);
        }
    }

    /// Kills everything in it at once.
    pub fn kill(&self) {
        if let GroupKind::Cgroup { dir, .. } = &self.kind {
            if write_file(dir.as_raw_fd(), c"cgroup.kill", b"1").is_ok() {
                return;
            }
        }
        // A group that forks while it is read needs more than one pass.
        for _ in 0..10 {
            if !self.signal(libc::SIGKILL) {
                return;
            }
        }
    }

    /// Signals each process; says whether there was one.
    pub fn signal(&self, signal: i32) -> bool {
        let members = self.members();
        for pid in &members {
            let _ = sys::kill(*pid, signal);
        }
        !members.is_empty()
    }

    pub fn populated(&self) -> bool {
        match &self.kind {
            GroupKind::Cgroup { dir, .. } => read_file(dir.as_raw_fd(), c"cgroup.events")
                .ok()
                .and_then(|text| field(&text, "populated"))
                .is_some_and(|count| count != 0),
            GroupKind::Session { .. } => !self.members().is_empty(),
        }
    }

    pub fn members(&self) -> Vec<i32> {
        match &self.kind {
            GroupKind::Cgroup { dir, .. } => read_file(dir.as_raw_fd(), c"cgroup.procs")
                .map(|text| text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).collect())
                .unwrap_or_default(),
            GroupKind::Session { leader } => session_members(leader.get()),
        }
    }

    /// Removes it once it is empty, at most half a second from now. The kernel counts a process as a member until its exit is complete,
    /// which may be a moment after it was reaped.
    pub async fn clear(&self) {
        for _ in 0..50 {
            if self.remove() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Removes an empty group; a populated one stays.
    pub fn remove(&self) -> bool {
        match &self.kind {
            GroupKind::Cgroup { tree, name, .. } => sys::unlink_at(tree.children.as_raw_fd(), name, true).is_ok(),
            GroupKind::Session { .. } => true,
        }
    }
}

fn write_file(dir: RawFd, name: &CStr, content: &[u8]) -> io::Result<()> {
    let file = sys::open_child(dir, name, libc::O_WRONLY, 0)?;
    sys::write(file.as_raw_fd(), content).map(drop)
}

fn read_file(dir: RawFd, name: &CStr) -> io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::from(sys::open_child(dir, name, libc::O_RDONLY, 0)?).read_to_string(&mut text)?;
    Ok(text)
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Members of a session. One that made a session of its own is not seen: this is why cells have cgroups.
fn session_members(session: i32) -> Vec<i32> {
    if session <= 0 {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
            let Some((_, rest)) = stat.rsplit_once(')') else { return false };
            let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
            fields.first() != Some(&"Z") && fields.get(3).and_then(|text| text.parse().ok()) == Some(session)
        })
        .collect()
}
