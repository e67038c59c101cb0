use super::{Budget, Directory, Held, RECORD_BYTES, RECORD_HEADER_BYTES};
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
    budget: Budget,
    inner: RefCell<Inner>,
    /// Woken after each append and at the end.
    pub changed: Notify,
}

#[derive(Default)]
struct Inner {
    segments: VecDeque<Segment>,
    /// Lies before, between or behind the segments; gone after a restart of the cell.
    held: Option<Held>,
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
    pub fn new(dir: Directory, limit: u64, budget: Budget) -> Rc<Store> {
        Rc::new(Store { dir, limit, budget, inner: RefCell::default(), changed: Notify::new() })
    }

    /// Takes up what an earlier start of the cell has written. `lost` counts what that one could not keep.
    pub fn resume(dir: Directory, limit: u64, budget: Budget, segments: Vec<Segment>, lost: u64) -> Rc<Store> {
        let next = segments.last().map_or(0, |segment| segment.end);
        let inner = Inner { segments: segments.into(), next, lost, ..Inner::default() };
        Rc::new(Store { dir, limit, budget, inner: RefCell::new(inner), changed: Notify::new() })
    }

    /// Keeps `bytes`, in memory if the disk refuses; counts them as lost when there is no room either. Never fails and never waits for a
    /// reader.
    pub fn append(&self, stream: u8, bytes: &[u8]) {
        let mut inner = self.inner.borrow_mut();
        for piece in bytes.chunks((self.limit / 4).clamp(1, RECORD_BYTES) as usize) {
            let mut rest = piece;
            if inner.held.as_ref().is_some_and(|held| !held.is_closed()) {
                rest = inner.hold(stream, rest);
            }
            if rest.is_empty() || self.keep(&mut inner, stream, rest).is_ok() {
                continue;
            }
            inner.open_record = None;
            if inner.held.is_none() {
                inner.held = Some(Held::new(inner.next, self.budget.clone()));
                // The next segment begins behind what is held.
                inner.writer = None;
                rest = inner.hold(stream, rest);
            }
            inner.lost += rest.len() as u64;
        }
        drop(inner);
        self.changed.notify_waiters();
    }

    pub fn first(&self) -> u64 {
        let inner = self.inner.borrow();
        let on_disk = inner.segments.front().map(|segment| segment.start);
        let held = inner.held.as_ref().map(|held| held.start);
        on_disk.into_iter().chain(held).min().unwrap_or(inner.next)
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

    /// What will be there after a restart of the cell: the last segments that follow one another, and how many bytes are lost besides.
    pub fn durable(&self) -> (Vec<Segment>, u64) {
        let inner = self.inner.borrow();
        let mut segments: Vec<Segment> = inner.segments.iter().copied().collect();
        let Some(held) = &inner.held else { return (segments, inner.lost) };
        if segments.last().is_some_and(|segment| segment.end > held.start) {
            segments.retain(|segment| segment.start >= held.start);
            return (segments, inner.lost);
        }
        (segments, inner.lost + (held.end - held.start))
    }

    /// Gives the memory of what the disk refused back. For outputs that have ended: where nothing came after, their end moves.
    pub fn let_go(&self) {
        let mut inner = self.inner.borrow_mut();
        let Some(held) = inner.held.take() else { return };
        if inner.next == held.end {
            inner.next = held.start;
            inner.lost += held.end - held.start;
        } else {
            // A cursor cannot skip: what lies before goes with it.
            inner.segments.retain(|segment| segment.start >= held.end);
        }
    }

    /// The writer is done; frees its descriptor. Appending again opens a new file.
    pub fn close(&self) {
        let mut inner = self.inner.borrow_mut();
        inner.writer = None;
        inner.open_record = None;
        drop(inner);
        self.changed.notify_waiters();
    }

    /// As `Held::read`, where the cursor lies in what is held.
    pub(super) fn read_held(&self, cursor: u64, most: usize) -> Option<(u8, Vec<u8>)> {
        self.inner.borrow().held.as_ref()?.read(cursor, most)
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
            inner.held.take_if(|held| held.end <= oldest.start);
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

impl Inner {
    /// Returns what there was no room for.
    fn hold<'a>(&mut self, stream: u8, bytes: &'a [u8]) -> &'a [u8] {
        let kept = self.held.as_mut().map_or(0, |held| held.push(stream, bytes));
        self.next += kept as u64;
        bytes.get(kept..).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::super::{Piece, Reader, STDERR, STDOUT};
    use super::*;
    use crate::cell::limits::{HELD_OUTPUT_BYTES, HELD_OUTPUT_TOTAL_BYTES};
    use std::path::PathBuf;

    /// A directory of outputs in which `out` does not exist yet, so that the disk refuses all.
    struct Place {
        path: PathBuf,
        parent: Rc<std::os::fd::OwnedFd>,
    }

    impl Place {
        fn new(name: &str) -> Place {
            let path = std::env::temp_dir().join(format!("hfa-store-{}-{name}", std::process::id()));
            std::fs::create_dir(&path).unwrap();
            let parent = Rc::new(std::fs::File::open(&path).unwrap().into());
            Place { path, parent }
        }

        fn directory(&self) -> Directory {
            Directory::new(self.parent.clone(), c"out".to_owned())
        }

        fn repair(&self) {
            std::fs::create_dir(self.path.join("out")).unwrap();
        }

        fn break_again(&self) {
            std::fs::remove_dir_all(self.path.join("out")).unwrap();
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }

    fn read(store: &Rc<Store>, cursor: u64) -> Vec<(u8, String)> {
        let mut reader = Reader::new(store.clone(), cursor);
        let mut found = Vec::new();
        while let Some(piece) = reader.next(5) {
            found.push(match piece {
                Piece::Output { stream, bytes } => (stream, String::from_utf8(bytes).unwrap()),
                Piece::Dropped(bytes) => (0, bytes.to_string()),
            });
        }
        found
    }

    fn said(pieces: &[(u8, &str)]) -> Vec<(u8, String)> {
        pieces.iter().map(|(stream, text)| (*stream, (*text).to_owned())).collect()
    }

    #[test]
    fn what_the_disk_refuses_is_read_from_memory() {
        let place = Place::new("refuses");
        let store = Store::new(place.directory(), 1 << 20, Budget::default());
        store.append(STDOUT, b"one");
        store.append(STDOUT, b"two!");
        store.append(STDERR, b"three");
        assert_eq!((store.first(), store.next(), store.dropped()), (0, 12, 0));
        assert_eq!(read(&store, 0), said(&[(1, "onetw"), (1, "o!"), (2, "three")]));
        assert_eq!(read(&store, 6), said(&[(1, "!"), (2, "three")]));
        assert_eq!(store.durable(), (vec![], 12));
        store.let_go();
        assert_eq!((store.next(), store.dropped(), read(&store, 0)), (0, 12, vec![]));
    }

    #[test]
    fn memory_lies_between_what_came_before_and_after() {
        let place = Place::new("between");
        place.repair();
        let store = Store::new(place.directory(), 256 << 10, Budget::default());
        store.append(STDOUT, b"disk ");
        store.close();
        place.break_again();
        store.append(STDOUT, b"held ");
        store.append(STDOUT, &[b'x'; HELD_OUTPUT_BYTES]);
        // Five bytes and what goes around a piece were taken already; before them lie five bytes of the file.
        let (end, lost) = (store.next(), store.lost());
        assert_eq!(end + lost, 10 + HELD_OUTPUT_BYTES as u64);
        assert!((64..80).contains(&lost), "{lost}");
        place.repair();
        store.append(STDOUT, b"disk again");
        let durable: Vec<(u64, u64)> = store.durable().0.iter().map(|segment| (segment.start, segment.end)).collect();
        assert_eq!(durable, [(end, end + 10)]);
        // The first file went with its directory.
        assert_eq!(read(&store, 0)[..2], said(&[(0, "5"), (1, "held ")]));
        assert_eq!(read(&store, end - 1), said(&[(1, "x"), (1, "disk "), (1, "again")]));
        store.let_go();
        assert_eq!((store.first(), store.next()), (end, end + 10));
        assert_eq!(read(&store, end), said(&[(1, "disk "), (1, "again")]));
    }

    #[test]
    fn all_outputs_together_hold_no_more_than_the_budget() {
        let place = Place::new("budget");
        let budget = Budget::default();
        let hold = |bytes: usize| {
            let store = Store::new(place.directory(), 1 << 20, budget.clone());
            // One byte of each stream in turn: the dearest way.
            (0..bytes).for_each(|at| store.append(STDOUT + (at % 2) as u8, b"y"));
            store
        };
        let stores: Vec<_> = (0..40).map(|_| hold(2000)).collect();
        let held: u64 = stores.iter().map(|store| store.next()).sum();
        assert!(held > 10_000 && held < HELD_OUTPUT_TOTAL_BYTES as u64 / 60, "{held}");
        assert_eq!(stores.iter().map(|store| store.next() + store.lost()).sum::<u64>(), 80_000);
        assert!(!budget.has_room());
        drop(stores);
        assert_eq!(hold(1).next(), 1);
        assert!(budget.has_room());
    }
}
