use super::reader::measure;
use super::{Directory, Segment};
use crate::cell::sys;
use std::fs::File;
use std::os::fd::AsRawFd;

/// After a sudden end no record knows how far the output went: the files do. Damaged ones count as absent.
pub fn found_segments(directory: &Directory) -> Vec<Segment> {
    let Ok(names) = directory.open().and_then(sys::Names::new) else { return Vec::new() };
    let fd = names.fd();
    let mut names = names.take(64);
    let mut segments = Vec::new();
    while let Some(Ok(name)) = names.next() {
        let start = name.to_str().ok().and_then(|name| name.strip_prefix("out.")?.parse().ok());
        let Some(start) = start.filter(|start: &u64| *start < 1 << 53) else { continue };
        let file = sys::open_child(fd.as_raw_fd(), &name, libc::O_RDONLY | libc::O_NONBLOCK, 0);
        segments.extend(file.ok().and_then(|file| measure(File::from(file), start)));
    }
    segments.sort_by_key(|segment| segment.start);
    if consistent(&segments) {
        segments
    } else {
        Vec::new()
    }
}

/// Segments follow one another without a gap.
pub fn consistent(segments: &[Segment]) -> bool {
    segments.iter().all(|segment| segment.start <= segment.end)
        && segments.windows(2).all(|pair| matches!(pair, [one, two] if one.end == two.start))
}
