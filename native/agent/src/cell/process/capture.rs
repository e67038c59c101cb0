use crate::cell::output::Store;
use crate::cell::sys;
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use tokio::io::unix::AsyncFd;

/// One buffer for all captures: it is borrowed between a read and the append that follows, never over a wait.
pub type Scratch = Rc<RefCell<Vec<u8>>>;

const SCRATCH_BYTES: usize = 64 * 1024;
/// Reads in a row before others get their turn.
const READS_PER_TURN: usize = 8;

pub fn scratch() -> Scratch {
    Rc::new(RefCell::new(vec![0; SCRATCH_BYTES]))
}

/// Moves everything from `source` to `store` until the other side is closed.
pub async fn capture(source: Rc<AsyncFd<OwnedFd>>, stream: u8, store: Rc<Store>, scratch: Scratch) {
    let mut reads = 0;
    loop {
        let Ok(mut ready) = source.readable().await else { return };
        let got = ready.try_io(|fd| {
            let mut buffer = scratch.borrow_mut();
            let got = sys::read(fd.as_raw_fd(), &mut buffer)?;
            store.append(stream, buffer.get(..got).unwrap_or_default());
            Ok(got)
        });
        match got {
            Err(_would_block) => continue,
            Ok(Ok(0)) => return,
            Ok(Ok(_)) => {}
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            // A terminal says EIO when its last process has closed it.
            Ok(Err(_)) => return,
        }
        reads += 1;
        if reads % READS_PER_TURN == 0 {
            tokio::task::yield_now().await;
        }
    }
}
