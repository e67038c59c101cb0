use super::{Directory, RECORD_BYTES, RECORD_HEADER_BYTES};
use crate::cell::sys;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use tokio::sync::Notify;

/// The output of one process or service. A cursor counts the bytes captured, of both streams, in order of arrival.
pub struct Store {
    dir: Directory,
    limit: u64,
    inner: RefCell<Inner>,
    /// Woken after each append and at the end.
    pub changed: Notify,
}

#[derive(Default)]
struct Inner {
    segments: VecDeque<Segment>,
    writer: Option<File>,
    /// The last record, which may still grow: its offset in the file, stream and length.
    open_record: Option<(u64, u8, u64)>,
    next: u64,
    lost: u64,
}

/// One file `out.<start>`: cursors `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub start: u64,
    pub end: u64,
    pub file_bytes: u64,
}

impl Store {
    /// `limit` bounds the bytes on disk. Two files share it, so the oldest half goes first.
    pub fn new(dir: Directory, limit: u64) -> Rc<Store> {
        Rc::new(Store { dir, limit, inner: RefCell::default(), changed: Notify::new() })
    }

    /// Takes up what an earlier start of the cell has written. `lost` counts what that one could not keep.
    pub fn resume(dir: Directory, limit: u64, segments: Vec<Segment>, lost: u64) -> Rc<Store> {
        let next = segments.last().map_or(0, |segment| segment.end);
        let inner = Inner { segments: segments.into(), next, lost, ..Inner::default() };
        Rc::new(Store { dir, limit, inner: RefCell::new(inner), changed: Notify::new() })
    }

    /// Keeps `bytes`, or counts them as lost when the disk refuses; never fails and never waits for a reader.
    pub fn append(&self, stream: u8, bytes: &[u8]) {
        let mut inner = self.inner.borrow_mut();
        for piece in bytes.chunks((self.limit / 4).clamp(1, RECORD_BYTES) as usize) {
            if self.keep(&mut inner, stream, piece).is_err() {
                inner.lost += piece.len() as u64;
                inner.open_record = None;
            }
        }
        drop(inner);
        self.changed.notify_waiters();
    }

    pub fn first(&self) -> u64 {
        let inner = self.inner.borrow();
        inner.segments.front().map_or(inner.next, |segment| segment.start)
    }

    /// The cursor after the last byte captured.
    pub fn next(&self) -> u64 {
        self.inner.borrow().next
    }

    /// Bytes that came but are not kept: the oldest ones, and those a full disk refused.
    pub fn dropped(&self) -> u64 {
        self.first() + self.inner.borrow().lost
    }

    pub fn lost(&self) -> u64 {
        self.inner.borrow().lost
    }

    pub fn segments(&self) -> Vec<Segment> {
        self.inner.borrow().segments.iter().copied().collect()
    }

    /// The writer is done; frees its descriptor. Appending again opens a new file.
    pub fn close(&self) {
        let mut inner = self.inner.borrow_mut();
        inner.writer = None;
        inner.open_record = None;
        drop(inner);
        self.changed.notify_waiters();
    }

    pub(super) fn segment_at(&self, cursor: u64) -> Option<Segment> {
        self.inner.borrow().segments.iter().find(|segment| cursor < segment.end).copied()
    }

    pub(super) fn open_segment(&self, start: u64) -> io::Result<File> {
        let name = sys::text(&segment_name(start))?;
        let flags = libc::O_RDONLY | libc::O_NONBLOCK;
        sys::open_child(self.dir.open()?.as_raw_fd(), &name, flags, 0).map(File::from)
    }

    fn keep(&self, inner: &mut Inner, stream: u8, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len() as u64;
        let full = inner
            .segments
            .back()
            .is_none_or(|segment| segment.file_bytes + RECORD_HEADER_BYTES + length > self.limit / 2);
        if full || inner.writer.is_none() {
            self.rotate(inner)?;
        }
        let (Some(file), Some(segment)) = (&inner.writer, inner.segments.back_mut()) else {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        };
        let grown = inner.open_record.filter(|(_, last, size)| *last == stream && size + length <= RECORD_BYTES);
        let written = match grown {
            Some((offset, _, size)) => write_at(file, &[bytes], segment.file_bytes)
                .and_then(|()| write_at(file, &[&((size + length) as u32).to_le_bytes()], offset + 1)),
            None => write_at(file, &[&[stream], &(length as u32).to_le_bytes(), bytes], segment.file_bytes),
        };
        if let Err(error) = written {
            let _ = file.set_len(segment.file_bytes);
            if let Some((offset, _, size)) = grown {
                let _ = write_at(file, &[&(size as u32).to_le_bytes()], offset + 1);
            }
            return Err(error);
        }
        match grown {
            Some((offset, _, size)) => inner.open_record = Some((offset, stream, size + length)),
            None => {
                inner.open_record = Some((segment.file_bytes, stream, length));
                segment.file_bytes += RECORD_HEADER_BYTES;
            }
        }
        segment.file_bytes += length;
        segment.end += length;
        inner.next += length;
        Ok(())
    }

    fn rotate(&self, inner: &mut Inner) -> io::Result<()> {
        let dir = self.dir.open()?;
        while inner.segments.len() >= 2 {
            let Some(oldest) = inner.segments.pop_front() else { break };
            sys::unlink_at(dir.as_raw_fd(), &sys::text(&segment_name(oldest.start))?, false).ok();
        }
        inner.open_record = None;
        // A last segment without bytes has the name that the new one needs.
        inner.segments.retain(|segment| segment.end > segment.start);
        let name = sys::text(&segment_name(inner.next))?;
        sys::unlink_at(dir.as_raw_fd(), &name, false).ok();
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
        inner.writer = Some(sys::open_child(dir.as_raw_fd(), &name, flags, 0o600)?.into());
        inner.segments.push_back(Segment { start: inner.next, end: inner.next, file_bytes: 0 });
        Ok(())
    }
}

pub(super) fn segment_name(start: u64) -> String {
    format!("out.{start}")
}

/// Writes all parts one after the other at `offset`.
fn write_at(file: &File, parts: &[&[u8]], offset: u64) -> io::Result<()> {
    let slices: Vec<IoSlice> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let total: usize = parts.iter().map(|part| part.len()).sum();
    // SAFETY: IoSlice has the layout of iovec; the slices live through the call.
    let put = unsafe {
        libc::pwritev(file.as_raw_fd(), slices.as_ptr().cast(), slices.len() as libc::c_int, offset as libc::off_t)
    };
    match usize::try_from(put) {
        Err(_) => Err(io::Error::last_os_error()),
        Ok(put) if put < total => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
        Ok(_) => Ok(()),
    }
}
