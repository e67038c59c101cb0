use super::{Segment, Store, RECORD_BYTES, RECORD_HEADER_BYTES};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// Reads a store from a cursor on. Holds one file open; what it reads is checked, because the cell can change the files.
pub struct Reader {
    store: Rc<Store>,
    cursor: u64,
    place: Option<Place>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    Output {
        stream: u8,
        bytes: Vec<u8>,
    },
    /// The capture has moved past the cursor, or the files were damaged.
    Dropped(u64),
}

/// A record's start: its offset in the file of `segment`, and its cursor.
struct Place {
    segment_start: u64,
    file: File,
    offset: u64,
    cursor: u64,
}

const SCAN_BYTES: usize = 64 * 1024;

impl Reader {
    pub fn new(store: Rc<Store>, cursor: u64) -> Reader {
        Reader { store, cursor, place: None }
    }

    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The next piece of one stream, at most `most` bytes of it; none when everything captured so far was read.
    pub fn next(&mut self, most: usize) -> Option<Piece> {
        let first = self.store.first();
        if self.cursor < first {
            return Some(self.skip_to(first));
        }
        if let Some((stream, bytes)) = self.store.read_held(self.cursor, most) {
            self.cursor += bytes.len() as u64;
            self.place = None;
            return Some(Piece::Output { stream, bytes });
        }
        let segment = self.store.segment_at(self.cursor)?;
        match self.read(segment, most) {
            Some((stream, bytes)) => {
                self.cursor += bytes.len() as u64;
                Some(Piece::Output { stream, bytes })
            }
            None => Some(self.skip_to(segment.end)),
        }
    }

    fn skip_to(&mut self, cursor: u64) -> Piece {
        let dropped = cursor - self.cursor;
        self.cursor = cursor;
        self.place = None;
        Piece::Dropped(dropped)
    }

    fn read(&mut self, segment: Segment, most: usize) -> Option<(u8, Vec<u8>)> {
        if self.place.as_ref().is_none_or(|place| place.segment_start != segment.start) {
            let file = self.store.open_segment(segment.start).ok()?;
            self.place = Some(Place { segment_start: segment.start, file, offset: 0, cursor: segment.start });
        }
        let place = self.place.as_mut()?;
        let (stream, length) = seek(place, segment.end, self.cursor)?;
        let skipped = self.cursor - place.cursor;
        let take = (length - skipped).min(most as u64);
        let mut bytes = vec![0; take as usize];
        place.file.read_exact_at(&mut bytes, place.offset + RECORD_HEADER_BYTES + skipped).ok()?;
        Some((stream, bytes))
    }
}

/// Moves to the record that holds `cursor`: its stream and length. The last record may have grown since the last call.
fn seek(place: &mut Place, end: u64, cursor: u64) -> Option<(u8, u64)> {
    let mut block = vec![0; RECORD_HEADER_BYTES as usize];
    let mut block_offset = place.offset;
    place.file.read_exact_at(&mut block, block_offset).ok()?;
    loop {
        let at = (place.offset - block_offset) as usize;
        let Some(&[stream, a, b, c, d]) = block.get(at..at + RECORD_HEADER_BYTES as usize) else {
            block.resize(SCAN_BYTES, 0);
            block_offset = place.offset;
            let got = place.file.read_at(&mut block, block_offset).ok()?;
            block.truncate(got);
            if got < RECORD_HEADER_BYTES as usize {
                return None;
            }
            continue;
        };
        let length = u64::from(u32::from_le_bytes([a, b, c, d]));
        if length == 0
            || length > RECORD_BYTES
            || length > end.saturating_sub(place.cursor)
            || !(1..=2).contains(&stream)
        {
            return None;
        }
        if cursor < place.cursor + length {
            return Some((stream, length));
        }
        place.cursor += length;
        place.offset += RECORD_HEADER_BYTES + length;
    }
}

/// How far the whole records of a file reach, when nothing else tells.
pub fn measure(file: File, start: u64) -> Option<Segment> {
    let size = file.metadata().ok().filter(|meta| meta.is_file())?.len();
    let mut place = Place { segment_start: start, file, offset: 0, cursor: start };
    // Nothing lies at this cursor, so the search stops behind the last record.
    let _ = seek(&mut place, u64::MAX, u64::MAX);
    if place.offset > size {
        return None;
    }
    Some(Segment { start, end: place.cursor, file_bytes: place.offset })
}
