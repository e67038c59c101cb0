//! The child that is forked ahead of need: an exec uses it, and does without it whatever happens to it.
mod common;

use common::Agent;
use serde_json::{json, Value};
use std::time::{Duration, Instant};

fn signal(pid: u32, name: &str) {
    assert!(kill(pid, name), "{pid}");
}

fn kill(pid: u32, name: &str) -> bool {
    std::process::Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success()
}

/// The pids of the groups that the agent holds, by group; none where it follows sessions.
fn groups(agent: &Agent) -> Option<Vec<String>> {
    let path = agent.cgroup.as_ref()?.join("p");
    let children = std::fs::read_dir(path).unwrap().flatten().filter(|entry| entry.path().is_dir());
    Some(children.map(|entry| std::fs::read_to_string(entry.path().join("cgroup.procs")).unwrap_or_default()).collect())
}

fn eventually(what: &str, is: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(5);
    while !is() {
        assert!(Instant::now() < end, "not within 5 s: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_exec_is_the_child_that_waited_in_its_group_and_another_follows() {
    let agent = Agent::start();
    for _ in 0..3 {
        let spare = agent.spare();
        let state = agent.ok("processes.start", agent.spec(&["sleep", "4242"]));
        assert_eq!(state["pid"], spare);
        assert_ne!(agent.spare(), spare);
    }
}

#[test]
fn it_becomes_the_program_in_every_respect() {
    let agent = Agent::start();
    let show = "echo $V; pwd; id -u; id -g; id -G; umask; ulimit -Sn; cat /proc/self/oom_score_adj; \
                grep -E '^(Sig(Blk|Ign|Cgt)|NoNewPrivs)' /proc/self/status; ls /proc/self/fd | wc -l; ps -o sid=,tty= -p $$ | wc -w; \
                [ $(ps -o sid= -p $$) = $$ ] && echo leader; cat";
    let mut told = Vec::new();
    for has_spare in [true, false] {
        let spare = agent.spare();
        if !has_spare {
            signal(spare, "-KILL");
        }
        let mut spec = agent.spec(&["/bin/sh", "-c", show]);
        spec["env"] = json!({"V": "value"});
        spec["cwd"] = json!("/usr");
        spec["user"] = json!({"uid": 4242, "gid": 4343});
        spec["stdin"] = json!({"base64": "aW5wdXQ="});
        let ran = agent.run(spec);
        assert_eq!(ran.code(), 0, "{}", String::from_utf8_lossy(&ran.stderr));
        told.push(ran.text());
    }
    assert!(
        told[0].starts_with("value\n/usr\n4242\n4343\n4343\n0022\n") && told[0].ends_with("leader\ninput"),
        "{told:?}"
    );
    assert_eq!(told[0], told[1]);
}

#[test]
fn with_a_terminal_too() {
    let agent = Agent::start();
    agent.spare();
    let mut spec =
        agent.spec(&["/bin/sh", "-c", "tty; stty size; ps -o tpgid=,pgid= -p $$ | awk '{print $1 == $2}'; exit 3"]);
    spec["pty"] = json!({"columns": 91, "rows": 17});
    spec["stdin"] = json!("open");
    let ran = agent.run(spec);
    assert_eq!(ran.code(), 3);
    assert!(ran.text().contains("/dev/pts/") && ran.text().contains("17 91\r\n1\r\n"), "{}", ran.text());
}

#[test]
fn failures_are_told_as_without_it_and_leave_no_group() {
    let agent = Agent::start();
    for argv in ["no-such-program", "/etc/passwd", "/"] {
        let errors: Vec<Value> = [true, false]
            .into_iter()
            .map(|has_spare| {
                // The one that failed just now may still be on its way out.
                while !has_spare && !kill(agent.spare(), "-KILL") {}
                agent.call("processes.start", agent.spec(&[argv])).unwrap_err()
            })
            .collect();
        assert_eq!(errors[0]["code"], "spawn_failed", "{errors:?}");
        assert_eq!(errors[0], errors[1]);
    }
    eventually("one group, the next spare's", || {
        groups(&agent).is_none_or(|groups| groups.len() == 1 && groups[0].trim() == agent.spare().to_string())
    });
}

#[test]
fn a_killed_one_is_done_without() {
    let agent = Agent::start();
    for _ in 0..20 {
        signal(agent.spare(), "-KILL");
        assert_eq!(agent.sh("echo ran").text(), "ran\n");
    }
}

#[test]
fn a_stopped_one_is_done_without_and_never_runs_late() {
    let agent = Agent::start();
    let spare = agent.spare();
    signal(spare, "-STOP");
    let mut spec = agent.spec(&["/bin/sh", "-c", "echo x >> \"$FILE\""]);
    spec["env"] = json!({"FILE": agent.path("count")});
    let began = Instant::now();
    let ran = agent.run(spec);
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!((ran.code(), ran.result["process"]["pid"].is_null()), (0, true));
    let _ = std::process::Command::new("kill")
        .args(["-CONT", &spare.to_string()])
        .stderr(std::process::Stdio::null())
        .status();
    eventually("the stopped one is gone", || !agent.spares().contains(&spare));
    assert_eq!(std::fs::read_to_string(agent.path("count")).unwrap(), "x\n");
}

#[test]
fn a_command_too_large_for_it_runs_all_the_same() {
    let agent = Agent::start();
    agent.spare();
    let words: Vec<String> = (0..8).map(|_| "w".repeat(100_000)).collect();
    let argv: Vec<&str> =
        ["/bin/sh", "-c", "echo $#", "sh"].into_iter().chain(words.iter().map(String::as_str)).collect();
    assert_eq!(agent.run(agent.spec(&argv)).text(), "8\n");
}

#[test]
fn kill_and_timeout_reach_what_it_became() {
    let agent = Agent::start();
    agent.spare();
    let mut spec = agent.spec(&["/bin/sh", "-c", "trap '' TERM; setsid sleep 4242 & sleep 4242"]);
    spec["timeout_ms"] = json!(200);
    let ran = agent.run(spec);
    assert_eq!(
        (ran.result["process"]["timed_out"].clone(), ran.result["process"]["background"].clone()),
        (json!(true), json!(false))
    );
    eventually("only the spare's group is left", || groups(&agent).is_none_or(|groups| groups.len() == 1));
}

#[test]
fn it_is_no_process_of_the_computer_and_ends_with_the_agent() {
    let mut agent = Agent::start();
    let first = agent.spare();
    assert_eq!(agent.ok("processes.list", json!({}))["processes"], json!([]));
    assert_eq!(agent.ok("agent.info", json!({}))["processes"], 0);
    // Nobody may look into it: it has a copy of the agent's memory.
    let status = std::fs::metadata(format!("/proc/{first}/environ")).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&status), 0);
    let descriptors = std::fs::read_dir(format!("/proc/{first}/fd")).unwrap().count();
    assert_eq!(descriptors, 4, "0, 1, 2 and the socket to the agent");
    agent.crash_and_restart();
    eventually("it ends with the agent", || !std::path::Path::new(&format!("/proc/{first}")).exists());
    agent.ok("services.shutdown", json!({"grace_ms": 100}));
    eventually("none is kept once the cell ends", || agent.spares().is_empty());
}

#[test]
fn a_signal_that_came_while_it_waited_does_not_reach_the_program() {
    let agent = Agent::start();
    for name in ["-TERM", "-INT", "-CHLD"] {
        let spare = agent.spare();
        signal(spare, name);
        let ran = agent.sh("sleep 0.05; echo $$");
        assert_eq!(ran.result["process"]["exit"], json!({"kind": "exited", "code": 0}), "{name}");
        assert_eq!(ran.text(), format!("{spare}\n"));
    }
}
