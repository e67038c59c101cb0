//! Starts the real binary on directories of its own and speaks the protocol with it.
#![allow(dead_code)]

use serde_json::{json, Value};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const HELLO: u8 = 1;
pub const CALL: u8 = 2;
pub const RESULT: u8 = 3;
pub const ERROR: u8 = 4;
pub const DATA: u8 = 5;
pub const END: u8 = 6;
pub const EVENT: u8 = 7;
pub const OUTPUT: u8 = 8;
pub const CONTROL: u8 = 9;

pub struct Agent {
    child: Child,
    pub dir: PathBuf,
    pub cgroup: Option<PathBuf>,
    next: std::cell::Cell<u32>,
}

const UNIFIED: [&str; 2] = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];

impl Agent {
    pub fn start() -> Agent {
        let mut bytes = [0u8; 6];
        std::fs::File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
        let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let dir = std::env::temp_dir().join(format!("hfa-{name}"));
        std::fs::create_dir(&dir).unwrap();
        let cgroup = make_cgroup(&name);
        let child = spawn(&dir, cgroup.as_deref());
        Agent { child, dir, cgroup, next: std::cell::Cell::new(0) }
    }

    /// Ends the agent as a crash of the cell would, and starts another on the same state.
    pub fn crash_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        if let Some(cgroup) = &self.cgroup {
            let _ = std::fs::write(cgroup.join("cgroup.kill"), "1");
        }
        std::fs::remove_file(self.dir.join("control")).unwrap();
        std::fs::remove_file(self.dir.join("ingress")).unwrap();
        self.child = spawn(&self.dir, self.cgroup.as_deref());
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Children that were forked ahead of need and sit in a group of their own already.
    pub fn spares(&self) -> Vec<u32> {
        let path = format!("/proc/{0}/task/{0}/children", self.pid());
        let children = std::fs::read_to_string(path).unwrap();
        let read = |pid: u32, name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        children
            .split_ascii_whitespace()
            .map(|word| word.parse().unwrap())
            .filter(|pid| read(*pid, "cmdline").contains("holdfast-agent"))
            .filter(|pid| self.cgroup.is_none() || read(*pid, "cgroup").contains("/p/"))
            .collect()
    }

    /// Waits until there is a spare child and returns it.
    pub fn spare(&self) -> u32 {
        let end = Instant::now() + Duration::from_secs(5);
        loop {
            if let Some(pid) = self.spares().first() {
                return *pid;
            }
            assert!(Instant::now() < end, "no spare child");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn id(&self) -> String {
        self.next.set(self.next.get() + 1);
        format!("prc_{}", self.next.get())
    }

    pub fn path(&self, name: &str) -> String {
        self.dir.join(name).to_str().unwrap().to_owned()
    }

    /// A fresh connection on which HELLO was read.
    pub fn connect(&self) -> Connection {
        let mut connection = Connection::open(&self.dir.join("control"));
        let (kind, _) = connection.frame().expect("HELLO");
        assert_eq!(kind, HELLO);
        connection
    }

    pub fn connect_ingress(&self) -> Connection {
        let mut connection = Connection::open(&self.dir.join("ingress"));
        assert_eq!(connection.frame().expect("HELLO").0, HELLO);
        connection
    }

    /// A plain call: RESULT, or the code and details of ERROR.
    pub fn call(&self, method: &str, params: Value) -> Result<Value, Value> {
        let mut connection = self.connect();
        connection.call(method, params);
        connection.result()
    }

    pub fn ok(&self, method: &str, params: Value) -> Value {
        self.call(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The code of the error that this call must give.
    pub fn refused(&self, method: &str, params: Value) -> String {
        let error = self.call(method, params).expect_err(method);
        error["code"].as_str().unwrap().to_owned()
    }

    pub fn spec(&self, argv: &[&str]) -> Value {
        json!({"id": self.id(), "argv": argv, "cwd": "/", "env": {}, "user": {"uid": 0, "gid": 0},
               "stdin": "closed", "timeout_ms": 0, "pty": null, "output_limit_bytes": 16 << 20})
    }

    pub fn run(&self, spec: Value) -> Ran {
        let mut connection = self.connect();
        let mut params = spec;
        params["wait_ms"] = json!(20_000);
        params["max_output_bytes"] = json!(16 << 20);
        connection.call("processes.run", params);
        let result = connection.result().unwrap_or_else(|error| panic!("run: {error}"));
        let (stdout, stderr, _) = connection.output();
        Ran { result, stdout, stderr }
    }

    pub fn sh(&self, line: &str) -> Ran {
        self.run(self.spec(&["/bin/sh", "-c", line]))
    }

    pub fn upload(&self, method: &str, params: Value, bytes: &[u8]) -> Result<Value, Value> {
        let mut connection = self.connect();
        connection.call(method, params);
        for chunk in bytes.chunks(100_000) {
            if connection.try_send(DATA, chunk).is_err() {
                break;
            }
        }
        let _ = connection.try_send(END, b"{}");
        connection.result()
    }

    pub fn download(&self, method: &str, params: Value) -> Result<(Value, Vec<u8>, Value), Value> {
        let mut connection = self.connect();
        connection.call(method, params);
        let head = connection.result()?;
        let mut bytes = Vec::new();
        loop {
            match connection.frame().expect("END before the end") {
                (DATA, chunk) => bytes.extend(chunk),
                (END, end) => return Ok((head, bytes, serde_json::from_slice(&end).unwrap())),
                (ERROR, error) => return Err(serde_json::from_slice(&error).unwrap()),
                (kind, _) => panic!("frame {kind}"),
            }
        }
    }
}

pub struct Ran {
    pub result: Value,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Ran {
    pub fn code(&self) -> i64 {
        self.result["process"]["exit"]["code"].as_i64().unwrap_or_else(|| panic!("{}", self.result))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(cgroup) = &self.cgroup {
            let _ = std::fs::write(cgroup.join("cgroup.kill"), "1");
            let end = Instant::now() + Duration::from_secs(5);
            while !remove_cgroup(cgroup) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn spawn(dir: &Path, cgroup: Option<&Path>) -> Child {
    let cgroup = cgroup.map_or("none".into(), |path| path.to_path_buf());
    let child = Command::new(env!("CARGO_BIN_EXE_holdfast-agent"))
        .arg("cell")
        .args(["--control".as_ref(), dir.join("control").as_os_str()])
        .args(["--ingress".as_ref(), dir.join("ingress").as_os_str()])
        .args(["--state".as_ref(), dir.join("state").as_os_str()])
        .args(["--cgroup".as_ref(), cgroup.as_os_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while UnixStream::connect(dir.join("ingress")).is_err() {
        assert!(Instant::now() < end, "the agent did not start");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

/// A group of the test's own, where the host lets us; else the agent follows sessions.
fn make_cgroup(name: &str) -> Option<PathBuf> {
    let root = UNIFIED.iter().find(|root| Path::new(root).join("cgroup.controllers").exists())?;
    let path = Path::new(root).join(format!("holdfast-agent-test-{name}"));
    std::fs::create_dir(&path).ok().map(|()| path)
}

fn remove_cgroup(path: &Path) -> bool {
    if let Ok(children) = std::fs::read_dir(path) {
        for child in children.flatten().filter(|child| child.path().is_dir()) {
            remove_cgroup(&child.path());
        }
    }
    std::fs::remove_dir(path).is_ok()
}

pub struct Connection {
    pub stream: UnixStream,
}

impl Connection {
    pub fn open(path: &Path) -> Connection {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Connection { stream }
    }

    pub fn send(&mut self, kind: u8, payload: &[u8]) {
        self.try_send(kind, payload).unwrap();
    }

    pub fn try_send(&mut self, kind: u8, payload: &[u8]) -> std::io::Result<()> {
        let mut frame = (payload.len() as u32).to_be_bytes().to_vec();
        frame.push(kind);
        frame.extend(payload);
        self.stream.write_all(&frame)
    }

    pub fn call(&mut self, method: &str, params: Value) {
        self.send(CALL, json!({"protocol": 1, "method": method, "params": params}).to_string().as_bytes());
    }

    /// The next frame; none when the agent has closed.
    pub fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut header = [0u8; 5];
        self.stream.read_exact(&mut header).ok()?;
        let length = u32::from_be_bytes(header[..4].try_into().unwrap());
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).ok()?;
        Some((header[4], payload))
    }

    pub fn result(&mut self) -> Result<Value, Value> {
        match self.frame() {
            Some((RESULT, payload)) => Ok(serde_json::from_slice(&payload).unwrap()),
            Some((ERROR, payload)) => Err(serde_json::from_slice(&payload).unwrap()),
            other => panic!("neither RESULT nor ERROR: {other:?}"),
        }
    }

    /// Reads OUTPUT until END: stdout, stderr, bytes that EVENTs said were dropped.
    pub fn output(&mut self) -> (Vec<u8>, Vec<u8>, u64) {
        let (mut stdout, mut stderr, mut dropped) = (Vec::new(), Vec::new(), 0);
        loop {
            match self.frame().expect("END before the end") {
                (OUTPUT, payload) if payload[0] == 1 => stdout.extend(&payload[1..]),
                (OUTPUT, payload) => stderr.extend(&payload[1..]),
                (EVENT, payload) => {
                    let event: Value = serde_json::from_slice(&payload).unwrap();
                    dropped += event["bytes"].as_u64().unwrap();
                }
                (END, _) => return (stdout, stderr, dropped),
                (kind, payload) => panic!("frame {kind}: {}", String::from_utf8_lossy(&payload)),
            }
        }
    }
}
