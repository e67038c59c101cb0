use super::spec::LinkSpec;
use super::sys::check;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Makes the pair of links between `cellnet` and the cell, whose only way it is: one route, to `range`.
///
/// The pair is born with one end in each namespace (about 2 ms). Moving the end of a pair that was made before costs the
/// kernel a grace period (10–30 ms here), so a pool of waiting pairs would be slower than none.
pub fn connect(spec: &LinkSpec, pid: libc::pid_t) -> io::Result<()> {
    let cellnet = namespace(&spec.namespace)?;
    let cell = namespace(&format!("/proc/{pid}/ns/net"))?;
    let LinkSpec { interface, address, gateway, range, .. } = spec;
    batch(
        spec,
        &cellnet,
        &format!(
            "link add {interface} type veth peer name eth0 netns {pid}\n\
             address add {gateway}/32 dev {interface}\n\
             link set dev {interface} up\n\
             route add {address}/32 dev {interface}\n"
        ),
    )?;
    batch(
        spec,
        &cell,
        &format!(
            "link set dev lo up\n\
             address add {address}/32 dev eth0\n\
             link set dev eth0 up\n\
             route add {gateway}/32 dev eth0 src {address}\n\
             route add {range} via {gateway} dev eth0 src {address}\n"
        ),
    )
}

fn namespace(path: &str) -> io::Result<OwnedFd> {
    File::open(path).map(OwnedFd::from)
}

fn batch(spec: &LinkSpec, namespace: &OwnedFd, commands: &str) -> io::Result<()> {
    let inside = namespace.as_raw_fd();
    let mut command = Command::new(&spec.ip);
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    // SAFETY: between fork and exec only one system call is made.
    unsafe {
        command.pre_exec(move || check(libc::setns(inside, libc::CLONE_NEWNET)).map(drop));
    }
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(commands.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("{}: {}", spec.ip, String::from_utf8_lossy(&output.stderr).trim())))
}
