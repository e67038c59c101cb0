//! What an idle agent gives back. Of a hundred sleeping cells each should cost little, and the pages of the program are
//! in the page cache once for all of them anyway.

use std::ops::Range;

/// The program's own pages that nothing ever writes: they can be dropped at any time and come back when touched.
pub fn image() -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    // SAFETY: the callback gets the vector that lives through the call.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut ranges).cast()) };
    ranges
}

unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _: usize, found: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the loader's description is valid during the callback; `found` is the vector of `image`.
    unsafe {
        let found = &mut *found.cast::<Vec<Range<usize>>>();
        let headers = std::slice::from_raw_parts((*info).dlpi_phdr, usize::from((*info).dlpi_phnum));
        for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W == 0)
        {
            let start = (*info).dlpi_addr as usize + header.p_vaddr as usize;
            let page = 4096;
            // Whole pages only: a shared one at an end may belong to a segment that is written.
            found.push(start.next_multiple_of(page)..(start + header.p_memsz as usize) / page * page);
        }
    }
    // The program comes first; what follows, such as the kernel's own page of code, is not ours.
    1
}

/// Returns free heap and the image's pages to the kernel.
pub fn give_back(image: &[Range<usize>]) {
    // SAFETY: the ranges are mappings of a file that this process never writes.
    unsafe {
        libc::malloc_trim(0);
        for range in image.iter().filter(|range| !range.is_empty()) {
            libc::madvise(range.start as *mut libc::c_void, range.len(), libc::MADV_DONTNEED);
        }
    }
}
