use super::{record, Process};
use crate::cell::clock::now_ms;
use crate::cell::fault::{Code, Fault};
use crate::cell::limits;
use crate::cell::output::{Budget, Directory};
use crate::cell::sys;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;

const DIRECTORY: libc::c_int = libc::O_RDONLY | libc::O_DIRECTORY;

/// Every process that is remembered, and its directory on the volume.
pub struct Table {
    dir: Rc<OwnedFd>,
    processes: RefCell<HashMap<String, Rc<Process>>>,
    sequence: Cell<u64>,
}

impl Table {
    /// Reads what earlier starts of the cell have left.
    pub fn open(dir: OwnedFd) -> io::Result<Table> {
        let dir = Rc::new(dir);
        let copy = sys::open_plain(dir.as_raw_fd(), c".", DIRECTORY, 0)?;
        let mut processes = HashMap::new();
        let (mut sequence, mut measured) = (0, limits::MEASURED_AT_START_BYTES);
        for name in sys::Names::new(copy)?.flatten().take(2 * limits::KEPT_PROCESSES) {
            let Some(id) = name.to_str().ok().filter(|id| check_id(id).is_ok()) else { continue };
            let child = Directory::new(dir.clone(), name.clone());
            if let Some(process) = record::read(id.to_owned(), child, now_ms(), &mut measured) {
                sequence = sequence.max(process.sequence);
                processes.insert(process.id.clone(), Rc::new(process));
            }
        }
        Ok(Table { dir, processes: RefCell::new(processes), sequence: Cell::new(sequence) })
    }

    pub fn find(&self, id: &str) -> Option<Rc<Process>> {
        self.processes.borrow().get(id).cloned()
    }

    pub fn get(&self, id: &str) -> Result<Rc<Process>, Fault> {
        self.find(id).ok_or_else(|| {
            let message =
                "There is no process of this id: it never started here, or was forgotten. List the processes.";
            Fault::new(Code::NotFound, message)
        })
    }

    /// Newest first.
    pub fn list(&self) -> Vec<Rc<Process>> {
        let mut all: Vec<Rc<Process>> = self.processes.borrow().values().cloned().collect();
        all.sort_by_key(|process| std::cmp::Reverse(process.sequence));
        all
    }

    pub fn len(&self) -> usize {
        self.processes.borrow().len()
    }

    pub fn running(&self) -> usize {
        self.processes.borrow().values().filter(|process| !process.ended()).count()
    }

    pub fn next_sequence(&self) -> u64 {
        self.sequence.set(self.sequence.get() + 1);
        self.sequence.get()
    }

    pub fn insert(&self, process: Rc<Process>) {
        self.processes.borrow_mut().insert(process.id.clone(), process);
    }

    /// Makes room for one more by forgetting the oldest ended one.
    pub fn make_room(&self) -> Result<(), Fault> {
        if self.running() >= limits::RUNNING_PROCESSES {
            let limit = limits::RUNNING_PROCESSES;
            let message = format!("{limit} processes run already, which is the most. End some, then try again.");
            return Err(Fault::new(Code::ProcessLimit, message));
        }
        while self.len() >= limits::KEPT_PROCESSES {
            let oldest = self.list().into_iter().rev().find(|process| forgettable(process));
            let Some(oldest) = oldest else {
                let message = "Too many processes still run in the background. End some, then try again.";
                return Err(Fault::new(Code::LimitReached, message));
            };
            self.forget(&oldest.id);
        }
        Ok(())
    }

    /// Gives back the memory of what a full disk refused of ended processes, the oldest first, until one more has room.
    pub fn let_held_output_go(&self, budget: &Budget) {
        for process in self.list().into_iter().rev().filter(|process| process.ended()) {
            if budget.has_room() {
                return;
            }
            process.store.let_go();
        }
    }

    /// Where the record and the output of `id` are.
    pub fn directory(&self, id: &str) -> io::Result<Directory> {
        Ok(Directory::new(self.dir.clone(), sys::text(id)?))
    }

    /// Forgets one that has ended, with its output; says whether it did.
    pub fn forget(&self, id: &str) -> bool {
        let Some(process) = self.find(id).filter(|process| forgettable(process)) else { return false };
        self.processes.borrow_mut().remove(&process.id);
        if let Ok(directory) = self.directory(id) {
            directory.remove();
        }
        true
    }
}

fn forgettable(process: &Process) -> bool {
    process.ended() && !process.life.get().background
}

/// Ids become names of directories and cgroups.
pub fn check_id(id: &str) -> Result<(), Fault> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if id.is_empty() || id.len() > limits::ID_BYTES || !id.bytes().all(plain) {
        return Err(Fault::invalid("An id has 1 to 64 lower-case letters, digits and underscores."));
    }
    Ok(())
}
