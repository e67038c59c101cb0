//! Memory that the agent and a child forked ahead of time share: whose turn it is, and what the child shall become.

use super::command::Prepared;
use super::exec::Plan;
use std::ffi::CString;
use std::io;
use std::ptr::null;
use std::sync::atomic::{AtomicU32, Ordering};

/// Takes a page of memory only where it is written. A larger command goes without a spare child.
const BYTES: usize = 256 * 1024;

/// The child has not taken the plan yet: it can still be called off.
pub const WAITING: u32 = 0;
/// The child executes the plan, whatever the agent would like.
pub const TAKEN: u32 = 1;
pub const CALLED_OFF: u32 = 2;

/// The mapping has the same address in both processes, so pointers into it hold in both.
pub struct Shared {
    head: *mut Head,
}

#[repr(C)]
struct Head {
    turn: AtomicU32,
    plan: Plan,
}

impl Shared {
    pub fn new() -> io::Result<Shared> {
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        // SAFETY: a fresh mapping, zeroed by the kernel.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, kind, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Shared { head: at.cast() })
    }

    pub fn turn(&self) -> u32 {
        self.word().load(Ordering::SeqCst)
    }

    /// One of both wins: says whether the turn went from waiting to `to`.
    pub fn claim(&self, to: u32) -> bool {
        self.word().compare_exchange(WAITING, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Lays `prepared` and the rest of `plan` down for the child; false when it does not fit.
    pub fn lay(&self, plan: Plan, prepared: &Prepared) -> bool {
        let lists: [&[CString]; 3] = [&prepared.programs, &prepared.argv, &prepared.env];
        let size = |list: &[CString]| {
            let strings: usize = list.iter().map(|text| text.as_bytes_with_nul().len()).sum();
            strings + (list.len() + 1) * size_of::<*const u8>()
        };
        if size_of::<Head>() + lists.iter().map(|list| size(list)).sum::<usize>() > BYTES {
            return false;
        }
        // SAFETY: all pointers first, then all strings, which end within the mapping as was just computed; the child does not read before
        // it was told to. Head is aligned as pointers are.
        unsafe {
            let mut pointer = self.head.add(1).cast::<*const libc::c_char>();
            let mut string = pointer.add(lists.iter().map(|list| list.len() + 1).sum()).cast::<libc::c_char>();
            let mut starts = [null(); 3];
            for (list, start) in lists.iter().zip(&mut starts) {
                *start = pointer.cast_const();
                for text in *list {
                    let length = text.as_bytes_with_nul().len();
                    string.copy_from_nonoverlapping(text.as_ptr(), length);
                    pointer.write(string);
                    (pointer, string) = (pointer.add(1), string.add(length));
                }
                pointer.write(null());
                pointer = pointer.add(1);
            }
            let [programs, argv, env] = starts;
            (&raw mut (*self.head).plan).write(Plan { programs, argv, env, ..plan });
        }
        true
    }

    /// # Safety
    /// Only after `lay`.
    pub unsafe fn plan(&self) -> Plan {
        // SAFETY: written by `lay`, and by nobody since.
        unsafe { (&raw const (*self.head).plan).read() }
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the mapping lives as long as this value and only this word is shared by reference.
        unsafe { &(*self.head).turn }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, used by nothing after this.
        unsafe { libc::munmap(self.head.cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            stdio: [4, 5, 6],
            terminal: true,
            cwd: 7,
            error: 8,
            user: Some((1, 2)),
            descriptors: 3,
            oom_score: [0; 8],
            programs: null(),
            argv: null(),
            env: null(),
        }
    }

    fn strings(words: &[&str]) -> Vec<CString> {
        words.iter().map(|word| CString::new(*word).unwrap()).collect()
    }

    fn read(mut list: *const *const libc::c_char) -> Vec<String> {
        let mut words = Vec::new();
        // SAFETY: a list that `lay` has written, of a mapping that lives.
        unsafe {
            while !(*list).is_null() {
                words.push(std::ffi::CStr::from_ptr(*list).to_str().unwrap().to_owned());
                list = list.add(1);
            }
        }
        words
    }

    #[test]
    fn gives_back_what_was_laid_down() {
        let shared = Shared::new().unwrap();
        let prepared = Prepared { programs: strings(&["/bin/a", "/a"]), argv: strings(&["a", ""]), env: strings(&[]) };
        assert!(shared.lay(plan(), &prepared));
        // SAFETY: laid down just now.
        let laid = unsafe { shared.plan() };
        assert_eq!((laid.stdio, laid.terminal, laid.user), ([4, 5, 6], true, Some((1, 2))));
        assert_eq!((read(laid.programs), read(laid.argv)), (words(&["/bin/a", "/a"]), words(&["a", ""])));
        assert_eq!(read(laid.env), words(&[]));
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn refuses_what_does_not_fit_to_the_byte() {
        let shared = Shared::new().unwrap();
        // Besides the string: the head, one pointer to it, and three ends of lists.
        let most = BYTES - size_of::<Head>() - 4 * size_of::<usize>() - 1;
        let sized =
            |bytes: usize| Prepared { programs: vec![], argv: strings(&["x".repeat(bytes).as_str()]), env: vec![] };
        assert!(shared.lay(plan(), &sized(most)));
        assert!(!shared.lay(plan(), &sized(most + 1)));
    }

    #[test]
    fn only_one_claims() {
        let shared = Shared::new().unwrap();
        assert!(shared.claim(TAKEN) && !shared.claim(CALLED_OFF));
        assert_eq!(shared.turn(), TAKEN);
    }
}
