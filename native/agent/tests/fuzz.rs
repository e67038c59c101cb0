//! Bytes and calls that no host of ours would send. The seed is fixed, so a failure repeats; the agent must still be
//! there afterwards and serve. Paths come from a directory of the test's own only: the agent may be root here.

mod common;

use common::{Agent, Connection};
use serde_json::{json, Value};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Duration;

const SEED: u64 = 0x5eed_0a9e_2026_1130;
const BYTE_CASES: usize = 8_000;
const CALL_CASES: usize = 12_000;
const ARCHIVE_CASES: usize = 1_000;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Sends, half-closes or not (a half-close cancels a plain call), and takes the answer until the agent closes.
fn exchange(mut connection: Connection, bytes: &[u8], half_close: bool, patience_ms: u64) {
    connection.stream.set_read_timeout(Some(Duration::from_millis(patience_ms))).unwrap();
    let _ = connection.stream.write_all(bytes);
    if half_close {
        let _ = connection.stream.shutdown(Shutdown::Write);
    }
    let _ = connection.stream.read_to_end(&mut Vec::new());
}

fn still_serves(agent: &mut Agent, case: usize) {
    assert!(agent.alive(), "the agent ended by case {case}");
    assert_eq!(agent.sh("echo well").text(), "well\n", "case {case}");
}

#[test]
fn damaged_frames_end_their_own_connection_only() {
    let mut agent = Agent::start();
    let mut random = Random(SEED);
    for case in 0..BYTE_CASES {
        let body =
            json!({"protocol": 1, "method": "output.read", "params": {"id": "prc_x", "cursor": 0, "max_bytes": 9}});
        let body = body.to_string();
        let mut bytes = (body.len() as u32).to_be_bytes().to_vec();
        bytes.push(2);
        bytes.extend(body.as_bytes());
        for _ in 0..=random.below(6) {
            match random.below(4) {
                0 => {
                    let at = random.below(bytes.len());
                    bytes[at] = random.next() as u8;
                }
                1 => bytes.truncate(random.below(bytes.len()).max(1)),
                2 => bytes.insert(random.below(bytes.len()), random.next() as u8),
                _ => bytes.extend((0..random.below(40)).map(|_| 0)),
            }
        }
        let connection = if case % 4 == 0 { agent.connect_ingress() } else { agent.connect() };
        exchange(connection, &bytes, true, 2_000);
        if case % 2_000 == 0 {
            still_serves(&mut agent, case);
        }
    }
    still_serves(&mut agent, BYTE_CASES);
}

#[test]
fn odd_calls_are_answered_or_refused() {
    let mut agent = Agent::start();
    let mut random = Random(SEED);
    std::fs::create_dir(agent.path("play")).unwrap();
    let values = values(&agent);
    for case in 0..CALL_CASES {
        let (method, fields) = *random.pick(METHODS);
        let mut params = serde_json::Map::new();
        for field in fields.iter() {
            if random.below(5) > 0 {
                params.insert((*field).to_owned(), value(&mut random, &values, field, &agent));
            }
        }
        let params = if random.below(50) == 0 { random.pick(&values).clone() } else { Value::Object(params) };
        let call = json!({"protocol": 1, "method": method, "params": params}).to_string();
        let mut bytes = (call.len() as u32).to_be_bytes().to_vec();
        bytes.push(2);
        bytes.extend(call.as_bytes());
        for _ in 0..random.below(3) {
            let kind = random.below(11) as u8;
            bytes.extend([0, 0, 0, 2, kind, b'{', b'}']);
        }
        exchange(agent.connect(), &bytes, random.below(4) == 0, 10);
        if case % 3_000 == 0 {
            still_serves(&mut agent, case);
        }
    }
    still_serves(&mut agent, CALL_CASES);
}

#[test]
fn damaged_archives_leave_nothing() {
    let mut agent = Agent::start();
    let mut random = Random(SEED);
    std::fs::create_dir_all(agent.path("from/d")).unwrap();
    std::fs::write(agent.path("from/d/file"), [7u8; 3000]).unwrap();
    std::fs::write(agent.path(&format!("from/{}", "x".repeat(200))), "long").unwrap();
    std::os::unix::fs::symlink("d", agent.path("from/link")).unwrap();
    let (_, archive, _) = agent.download("tar.export", json!({"path": agent.path("from")})).unwrap();
    std::fs::write(agent.path("archive"), &archive).unwrap();
    let zipped = agent.sh(&format!("gzip -nc {}", agent.path("archive"))).stdout;
    std::fs::remove_file(agent.path("archive")).unwrap();
    for case in 0..ARCHIVE_CASES {
        let mut bytes = if case % 3 == 0 { zipped.clone() } else { archive.clone() };
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        if random.below(8) == 0 {
            bytes.truncate(random.below(bytes.len()));
        }
        let params = json!({"path": agent.path("to"), "limit_bytes": 1 << 20, "limit_entries": 100});
        if agent.upload("tar.import", params, &bytes).is_ok() {
            std::fs::remove_dir_all(agent.path("to")).unwrap();
        }
        let left = std::fs::read_dir(&agent.dir).unwrap().count();
        assert_eq!(left, 4, "case {case}: besides state, the sockets and `from`");
    }
    still_serves(&mut agent, ARCHIVE_CASES);
}

const FILE: &[&str] = &["path", "follow", "limit", "after", "offset", "length", "edits", "from", "to", "mode", "user"];

/// Nothing here runs a program but `true`, ends the agent's work or reaches beyond the test's directory.
const METHODS: &[(&str, &[&str])] = &[
    ("agent.info", &[]),
    ("processes.start", &["id", "argv", "cwd", "env", "user", "stdin", "timeout_ms", "pty", "output_limit_bytes"]),
    ("processes.run", &["id", "argv", "cwd", "env", "stdin", "pty", "wait_ms", "max_output_bytes", "timeout_ms"]),
    ("processes.get", &["id", "wait_ms"]),
    ("processes.list", &["id"]),
    ("processes.write", &["id", "close"]),
    ("processes.signal", &["id", "signal", "scope"]),
    ("processes.resize", &["id", "columns", "rows"]),
    ("processes.attach", &["id", "cursor"]),
    ("processes.forget", &["ids", "id"]),
    ("output.read", &["id", "cursor", "max_bytes", "wait_ms", "streams"]),
    ("output.follow", &["id", "cursor"]),
    ("services.apply", &["revision", "services"]),
    ("services.list", &[]),
    ("services.restart", &["id"]),
    ("services.wait", &["id", "wait_ms", "state"]),
    ("files.stat", FILE),
    ("files.list", FILE),
    ("files.read", FILE),
    ("files.write", FILE),
    ("files.edit", FILE),
    ("files.move", FILE),
    ("files.mkdir", FILE),
    ("files.delete", &["path"]),
    ("files.watch", FILE),
    ("tar.export", &["path"]),
    ("tar.import", &["path", "limit_bytes", "limit_entries"]),
    ("ports.list", &["id"]),
    ("usage.read", &[]),
    ("no.such", &["id"]),
];

fn values(agent: &Agent) -> Vec<Value> {
    let long = "x".repeat(70_000);
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(2.5),
        json!(1e300),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!("\u{0}"),
        json!("\u{202e}ü\n"),
        json!(long),
        json!([]),
        json!({}),
        json!([[[[[[1]]]]]]),
        json!({"uid": 0, "gid": 4294967296u64}),
        json!({"columns": 0, "rows": 70000}),
        json!({"base64": "%%%"}),
        json!([{"old": "", "new": ""}]),
        json!([{"id": "svc_x", "name": 3}]),
        json!(agent.path("play")),
    ]
}

fn value(random: &mut Random, values: &[Value], field: &str, agent: &Agent) -> Value {
    let own = match field {
        "id" => json!(format!("prc_{}", random.below(40))),
        "argv" => json!(["true"]),
        "cwd" => json!("/"),
        "path" | "from" | "to" => {
            let names = ["", "/", "/a", "/b", "/a/c", "/ü", "/a%2Fb", "//a/./b"];
            json!(format!("{}{}", agent.path("play"), random.pick(&names)))
        }
        "wait_ms" => json!(random.below(20)),
        "cursor" | "offset" | "limit" | "max_bytes" | "max_output_bytes" => json!(random.below(100)),
        "scope" => json!(random.pick(&["process", "all", "kill"])),
        "signal" => json!(random.below(70)),
        "stdin" => json!(random.pick(&["open", "closed", "other"])),
        "pty" => json!({"columns": 80, "rows": 24}),
        "columns" | "rows" => json!(random.below(70_000)),
        "edits" => json!([{"old": "a", "new": "b", "all": true}]),
        _ => random.pick(values).clone(),
    };
    // A path or a program that is odd must be odd in kind, never another real one.
    if random.below(4) == 0 {
        random.pick(values).clone()
    } else {
        own
    }
}
