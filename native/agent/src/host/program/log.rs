use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// One file of the log; with `FILES` of them a flood costs 32 MiB of disk and no more.
const FILE_BYTES: u64 = 8 * 1024 * 1024;
const FILES: u32 = 4;
/// What a program may write for long, and at once; more is dropped and counted, the program is never held up.
const BYTES_PER_SECOND: f64 = 1024.0 * 1024.0;
const BURST_BYTES: f64 = 4.0 * 1024.0 * 1024.0;

/// A bounded log file, or standard error where none is named. Errors of writing (a full disk) drop output; they never stop a program.
pub struct Log {
    path: Option<PathBuf>,
    file: Option<File>,
    bytes: u64,
    allowance: f64,
    refilled: Instant,
    dropped: u64,
    buffer: Vec<u8>,
}

impl Log {
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        let file = path.map(open).transpose()?;
        let bytes = file.as_ref().map_or(Ok(0), |file| file.metadata().map(|data| data.len()))?;
        Ok(Self {
            path: path.map(Path::to_path_buf),
            file,
            bytes,
            allowance: BURST_BYTES,
            refilled: Instant::now(),
            dropped: 0,
            buffer: vec![0; 64 * 1024],
        })
    }

    /// Takes what one read gives; false at the end of the output.
    pub fn copy(&mut self, output: &OwnedFd) -> bool {
        let mut buffer = std::mem::take(&mut self.buffer);
        let length = read(output, &mut buffer);
        match length {
            Ok(0) => {}
            Ok(length) => self.write_limited(&buffer[..length]),
            Err(_) => {}
        }
        self.buffer = buffer;
        !matches!(length, Ok(0))
    }

    /// Takes what is in the pipe already. Not until its end: a descendant of the program may hold it open.
    pub fn drain(&mut self, output: &OwnedFd) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut left = 2 * 1024 * 1024_usize;
        while let Ok(length) = read(output, &mut buffer) {
            if length == 0 || left < length {
                break;
            }
            left -= length;
            self.write_limited(&buffer[..length]);
        }
        self.buffer = buffer;
    }

    /// A line of the keeper's own, in the form the programs log in.
    pub fn note(&mut self, message: &str) {
        let milliseconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let line = serde_json::json!({ "time_ms": milliseconds as u64, "level": "info", "program": "keeper", "message": message });
        self.write(format!("{line}\n").as_bytes());
    }

    fn write_limited(&mut self, output: &[u8]) {
        let now = Instant::now();
        let gained = now.duration_since(self.refilled).as_secs_f64() * BYTES_PER_SECOND;
        self.allowance = (self.allowance + gained).min(BURST_BYTES);
        self.refilled = now;
        if self.allowance < output.len() as f64 {
            self.dropped += output.len() as u64;
            return;
        }
        self.allowance -= output.len() as f64;
        if self.dropped > 0 {
            let dropped = std::mem::take(&mut self.dropped);
            self.write(b"\n");
            self.note(&format!("{dropped} bytes of output were dropped: more than the log takes"));
        }
        self.write(output);
    }

    fn write(&mut self, output: &[u8]) {
        if self.bytes > 0 && self.bytes + output.len() as u64 > FILE_BYTES && self.rotate().is_err() {
            return;
        }
        let written = match &mut self.file {
            Some(file) => file.write_all(output),
            None if self.path.is_none() => io::stderr().write_all(output),
            None => return,
        };
        if written.is_ok() {
            self.bytes += output.len() as u64;
        }
    }

    fn rotate(&mut self) -> io::Result<()> {
        let Some(path) = &self.path else {
            self.bytes = 0;
            return Ok(());
        };
        for number in (1..FILES - 1).rev() {
            rename(&numbered(path, number), &numbered(path, number + 1))?;
        }
        rename(path, &numbered(path, 1))?;
        self.file = Some(open(path)?);
        self.bytes = 0;
        Ok(())
    }
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).mode(0o640).custom_flags(libc::O_NOFOLLOW).open(path)
}

fn read(output: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    File::from(output.as_fd().try_clone_to_owned()?).read(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_stays_within_its_files_and_is_counted() {
        let directory = std::env::temp_dir().join(format!("holdfast-log-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("program.log");
        let mut log = Log::open(Some(&path)).unwrap();
        for _ in 0..1024 {
            log.allowance = BURST_BYTES;
            log.write_limited(&[b'x'; 64 * 1024]);
        }
        log.allowance = 0.0;
        log.write_limited(&[b'y'; 64 * 1024]);
        assert_eq!(log.dropped, 64 * 1024);
        let sizes: Vec<u64> =
            std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).collect();
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(sizes.len(), FILES as usize);
        assert!(sizes.iter().all(|size| *size <= FILE_BYTES), "{sizes:?}");
    }
}
