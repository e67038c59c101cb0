use super::reader::measure;
use super::{Directory, Segment};
use crate::cell::sys;
use std::fs::File;
use std::os::fd::AsRawFd;

/// After a sudden end no record knows how far the output went: the files do. Damaged ones count as absent, and so do those that are longer
/// than what is left of `measured`: the cell could have put any number of them there.
pub fn found_segments(directory: &Directory, measured: &mut u64) -> Vec<Segment> {
    let Ok(names) = directory.open().and_then(sys::Names::new) else { return Vec::new() };
    let fd = names.fd();
    let mut names = names.take(64);
    let mut segments = Vec::new();
    while let Some(Ok(name)) = names.next() {
        let start = name.to_str().ok().and_then(|name| name.strip_prefix("out.")?.parse().ok());
        let Some(start) = start.filter(|start: &u64| *start < 1 << 53) else { continue };
        let file = sys::open_child(fd.as_raw_fd(), &name, libc::O_RDONLY | libc::O_NONBLOCK, 0);
        let file = file.ok().map(File::from);
        let size = file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |facts| facts.len());
        let Some(left) = measured.checked_sub(size) else { continue };
        *measured = left;
        segments.extend(file.and_then(|file| measure(file, start)));
    }
    segments.sort_by_key(|segment| segment.start);
    // What lay in between was held in memory and is gone, and with it what came before.
    let follows = |index: usize| matches!(segments.get(index..index + 2), Some([one, two]) if one.end == two.start);
    let first = (0..segments.len()).rev().take_while(|index| *index + 1 == segments.len() || follows(*index)).last();
    segments.drain(..first.unwrap_or(0));
    segments
}

/// Segments follow one another without a gap.
pub fn consistent(segments: &[Segment]) -> bool {
    segments.iter().all(|segment| segment.start <= segment.end)
        && segments.windows(2).all(|pair| matches!(pair, [one, two] if one.end == two.start))
}
