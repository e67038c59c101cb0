use crate::cell::limits::{HELD_OUTPUT_BYTES, HELD_OUTPUT_TOTAL_BYTES};
use std::cell::Cell;
use std::rc::Rc;

/// What the outputs of a whole cell may hold in memory. Clones share it.
#[derive(Clone)]
pub struct Budget {
    left: Rc<Cell<usize>>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { left: Rc::new(Cell::new(HELD_OUTPUT_TOTAL_BYTES)) }
    }
}

impl Budget {
    /// Whether one more output could hold all that it may.
    pub fn has_room(&self) -> bool {
        self.left.get() >= HELD_OUTPUT_BYTES
    }

    fn take(&self, bytes: usize) {
        self.left.set(self.left.get().saturating_sub(bytes));
    }
}

/// Output that the disk refused, from cursor `start` on. Who has to free a full disk must see what `df` prints.
pub struct Held {
    pub start: u64,
    pub end: u64,
    pieces: Vec<(u8, Vec<u8>)>,
    cost: usize,
    budget: Budget,
    /// It was full once: what comes after lies on the disk or is lost.
    closed: bool,
}

/// What a piece takes besides its bytes, at most.
const PIECE_BYTES: usize = 64;

impl Held {
    pub fn new(start: u64, budget: Budget) -> Held {
        Held { start, end: start, pieces: Vec::new(), cost: 0, budget, closed: false }
    }

    /// Keeps as much of `bytes` as there is room for, and after the first refusal nothing more; says how much.
    pub fn push(&mut self, stream: u8, bytes: &[u8]) -> usize {
        let grows = self.pieces.last().is_some_and(|(last, _)| *last == stream);
        let around = if grows { 0 } else { PIECE_BYTES };
        let room = (HELD_OUTPUT_BYTES - self.cost).min(self.budget.left.get()).saturating_sub(around);
        let kept = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.closed |= kept.len() < bytes.len();
        if kept.is_empty() {
            return 0;
        }
        self.budget.take(kept.len() + around);
        self.cost += kept.len() + around;
        self.end += kept.len() as u64;
        match self.pieces.last_mut().filter(|_| grows) {
            Some((_, piece)) => piece.extend_from_slice(kept),
            None => self.pieces.push((stream, kept.to_vec())),
        }
        kept.len()
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// At most `most` bytes of one stream from `cursor` on; none outside of what is held.
    pub fn read(&self, cursor: u64, most: usize) -> Option<(u8, Vec<u8>)> {
        let mut skip = usize::try_from(cursor.checked_sub(self.start)?).ok()?;
        for (stream, piece) in &self.pieces {
            if let Some(rest) = piece.get(skip..).filter(|rest| !rest.is_empty()) {
                return Some((*stream, rest.get(..most.min(rest.len())).unwrap_or_default().to_vec()));
            }
            skip -= piece.len();
        }
        None
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.left.set(self.budget.left.get() + self.cost);
    }
}
