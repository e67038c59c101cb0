use std::ffi::CString;
use std::io;
use std::net::{SocketAddrV4, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use super::options::Socket;

/// One listening socket for each, close-on-exec.
pub fn make(wanted: &[Socket]) -> io::Result<Vec<OwnedFd>> {
    wanted
        .iter()
        .map(|socket| match socket {
            Socket::Unix { path, gid, mode } => unix(path, *gid, *mode)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
            Socket::Tcp(address) => tcp(address).map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!("cannot listen on {address}: {error}. Choose another address, or end what listens there."),
                )
            }),
        })
        .collect()
}

/// What the kernel holds for a reader that is slow, at most: it grows by itself to 4 MiB else, and all TCP of the host shares its memory.
const SEND_BUFFER_BYTES: libc::c_int = 256 * 1024;

/// Connections inherit the listener's buffer.
fn tcp(address: &SocketAddrV4) -> io::Result<OwnedFd> {
    let listener = OwnedFd::from(TcpListener::bind(address)?);
    let bytes = SEND_BUFFER_BYTES;
    // SAFETY: the value lives through the call and its size is said.
    let set = unsafe {
        libc::setsockopt(
            listener.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_SNDBUF,
            (&raw const bytes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if set != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(listener)
}

/// Bound under another name and renamed, so that callers see the old socket or a listening one with its final rights.
fn unix(path: &Path, gid: u32, mode: u32) -> io::Result<OwnedFd> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = Path::new(&temporary);
    match std::fs::remove_file(temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(temporary)?;
    std::fs::set_permissions(temporary, std::fs::Permissions::from_mode(0o600))?;
    let name = CString::new(temporary.as_os_str().as_bytes())?;
    // SAFETY: the path is a live C string.
    if unsafe { libc::lchown(name.as_ptr(), 0, gid) } != 0 {
        return Err(io::Error::last_os_error());
    }
    std::fs::set_permissions(temporary, std::fs::Permissions::from_mode(mode))?;
    std::fs::rename(temporary, path)?;
    Ok(listener.into())
}
