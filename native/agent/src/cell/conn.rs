use super::fault::{Code, Fault, Gone, Stop};
use super::frames::{self, Broken, Frame, Kind};
use super::limits;
use serde_json::Value;
use std::io;
use std::os::fd::AsRawFd;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// One connection, which is one call. Writing waits for the reader, so a slow host slows only its own call.
pub struct Conn {
    stream: UnixStream,
}

impl Conn {
    pub fn new(stream: UnixStream) -> Conn {
        Conn { stream }
    }

    pub fn into_stream(self) -> UnixStream {
        self.stream
    }

    /// The next frame. Never reads past it, so that raw bytes may follow.
    pub async fn read(&self) -> Result<Frame, Stop> {
        let mut header = [0; frames::HEADER_BYTES];
        self.read_exact(&mut header).await?;
        let (kind, length) = frames::parse_header(header).map_err(|broken| {
            let message = match broken {
                Broken::TooLong(length) => {
                    format!("A frame of {length} bytes is longer than {}.", limits::FRAME_PAYLOAD_BYTES)
                }
                Broken::UnknownType(kind) => format!("Frame type {kind} is not known."),
            };
            Fault::new(Code::InvalidFrame, message)
        })?;
        let mut payload = vec![0; length];
        self.read_exact(&mut payload).await?;
        Ok(Frame { kind, payload })
    }

    pub async fn send(&self, kind: Kind, payload: &[u8]) -> Result<(), Gone> {
        self.send_parts(kind, &[payload]).await
    }

    pub async fn json(&self, kind: Kind, value: &Value) -> Result<(), Gone> {
        self.send(kind, value.to_string().as_bytes()).await
    }

    pub async fn output(&self, stream: u8, bytes: &[u8]) -> Result<(), Gone> {
        self.send_parts(Kind::Output, &[&[stream], bytes]).await
    }

    /// Waits until the host closes; a host that talks out of turn counts as one that closed.
    pub async fn closed(&self) {
        let peek = || {
            let mut byte = 0u8;
            // SAFETY: the buffer is one byte of this frame.
            let got = unsafe {
                libc::recv(self.stream.as_raw_fd(), (&raw mut byte).cast(), 1, libc::MSG_PEEK | libc::MSG_DONTWAIT)
            };
            if got < 0 {
                Err(io::Error::last_os_error())
            } else {
                Ok(())
            }
        };
        loop {
            if self.stream.readable().await.is_err() {
                return;
            }
            match self.stream.try_io(Interest::READABLE, peek) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                _ => return,
            }
        }
    }

    /// Says that nothing more comes and takes what the host still sends. A close with unread bytes would break the host's next
    /// write, and with it what it has not read yet.
    pub async fn discard(&self) {
        // SAFETY: the descriptor is this stream's own.
        unsafe { libc::shutdown(self.stream.as_raw_fd(), libc::SHUT_WR) };
        let mut scrap = vec![0; 64 * 1024];
        loop {
            match self.stream.try_read(&mut scrap) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.stream.readable().await.is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    async fn send_parts(&self, kind: Kind, parts: &[&[u8]]) -> Result<(), Gone> {
        let length = parts.iter().map(|part| part.len()).sum();
        let header = frames::header(kind, length);
        let mut slices: Vec<io::IoSlice> = Vec::with_capacity(parts.len() + 1);
        slices.push(io::IoSlice::new(&header));
        slices.extend(parts.iter().filter(|part| !part.is_empty()).map(|part| io::IoSlice::new(part)));
        let mut left = slices.as_mut_slice();
        while !left.is_empty() {
            match self.stream.try_write_vectored(left) {
                Ok(0) => return Err(Gone),
                Ok(written) => io::IoSlice::advance_slices(&mut left, written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.stream.writable().await.map_err(|_| Gone)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Gone),
            }
        }
        Ok(())
    }

    async fn read_exact(&self, mut buffer: &mut [u8]) -> Result<(), Gone> {
        while !buffer.is_empty() {
            match self.stream.try_read(buffer) {
                Ok(0) => return Err(Gone),
                Ok(got) => buffer = buffer.get_mut(got..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.stream.readable().await.map_err(|_| Gone)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Gone),
            }
        }
        Ok(())
    }
}
