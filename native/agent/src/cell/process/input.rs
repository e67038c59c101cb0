use crate::cell::fault::{Code, Fault};
use crate::cell::sys;
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use tokio::io::unix::AsyncFd;

/// The agent's end of a process's standard input.
#[derive(Default)]
pub struct Input {
    end: RefCell<Option<Rc<AsyncFd<OwnedFd>>>>,
    /// Writers take turns, so that two calls do not mix their bytes.
    turn: tokio::sync::Mutex<()>,
}

impl Input {
    pub fn new(end: Option<Rc<AsyncFd<OwnedFd>>>) -> Input {
        Input { end: RefCell::new(end), turn: tokio::sync::Mutex::new(()) }
    }

    pub fn is_open(&self) -> bool {
        self.end.borrow().is_some()
    }

    pub fn close(&self) {
        self.end.borrow_mut().take();
    }

    /// Waits while the pipe is full. Fails with `process_ended` when nobody can read it any more.
    pub async fn write(&self, mut bytes: &[u8]) -> Result<(), Fault> {
        let _turn = self.turn.lock().await;
        while !bytes.is_empty() {
            let end = self.end.borrow().clone().ok_or_else(closed)?;
            let mut ready = end.writable().await.map_err(|_| closed())?;
            match ready.try_io(|fd| sys::write(fd.as_raw_fd(), bytes)) {
                Err(_would_block) => {}
                Ok(Ok(written)) => bytes = bytes.get(written..).unwrap_or_default(),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(_)) => {
                    self.close();
                    return Err(closed());
                }
            }
        }
        Ok(())
    }
}

fn closed() -> Fault {
    let message = "The process's input is closed: it ended, closed it, or was started without `stdin: \"open\"`.";
    Fault::new(Code::ProcessEnded, message)
}
