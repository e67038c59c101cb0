//! The process that the supervisor keeps for system calls: what it cannot do fails alone.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// The longest write to a pipe that others cannot come between.
const PIPE_BUF: usize = 4096;

#[test]
fn a_request_that_is_not_understood_is_answered_and_the_next_one_served() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_holdfast-agent"))
        .args(["host", "cell", "serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let unknown = serde_json::json!({"request": 7, "timeout_s": 5, "verb": "\u{1}".repeat(3000), "spec": {}});
    for (line, number) in [
        ("no JSON".to_owned(), 0),
        (unknown.to_string(), 7),
        (r#"{"request":8,"timeout_s":5,"verb":"start","spec":{"id":1}}"#.to_owned(), 8),
        (r#"{"request":9,"timeout_s":5,"verb":"rules","spec":{"namespace":"/nowhere"}}"#.to_owned(), 9),
    ] {
        writeln!(input, "{line}").unwrap();
        let mut answered = String::new();
        output.read_line(&mut answered).unwrap();
        assert!(answered.len() <= PIPE_BUF, "{number}: {} bytes", answered.len());
        let answer: Value = serde_json::from_str(&answered).unwrap_or_else(|error| panic!("{number}: {error}"));
        assert_eq!(answer["request"], number);
        let step = answer["error"]["step"].as_str().unwrap();
        assert_eq!(step == "read_request", number != 9, "{answer}");
    }
    drop(input);
    assert!(server.wait().unwrap().success());
}
