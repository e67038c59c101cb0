use super::fault::{Code, Fault};
use super::limits::FILE_THREADS;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// Threads for file work that may block. All are started at boot: a cell at its limit of tasks must still be listed,
/// read and killed, so nothing here ever starts another.
#[derive(Clone)]
pub struct Pool {
    queue: Arc<Queue>,
}

struct Queue {
    jobs: Mutex<VecDeque<Job>>,
    ready: Condvar,
}

impl Pool {
    pub fn start() -> io::Result<Pool> {
        let queue = Arc::new(Queue { jobs: Mutex::new(VecDeque::new()), ready: Condvar::new() });
        for _ in 0..FILE_THREADS {
            let queue = queue.clone();
            std::thread::Builder::new().name("files".into()).stack_size(256 * 1024).spawn(move || loop {
                let mut jobs = queue.jobs.lock().unwrap_or_else(PoisonError::into_inner);
                let job = loop {
                    match jobs.pop_front() {
                        Some(job) => break job,
                        None => jobs = queue.ready.wait(jobs).unwrap_or_else(PoisonError::into_inner),
                    }
                };
                drop(jobs);
                job();
            })?;
        }
        Ok(Pool { queue })
    }

    /// Runs `work` on a thread. When the caller is dropped meanwhile, what `work` returns is dropped there.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (give, take) = oneshot::channel();
        let job: Job = Box::new(move || {
            let _ = give.send(work());
        });
        self.queue.jobs.lock().unwrap_or_else(PoisonError::into_inner).push_back(job);
        self.queue.ready.notify_one();
        take.await.unwrap_or_else(|_| Err(Fault::new(Code::Internal, "A file thread gave no answer. Try again.")))
    }
}
