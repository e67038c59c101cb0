use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;

/// The kernel's numbers of the namespaces it starts with (`include/linux/proc_ns.h`); the others are numbered as they come.
const FIRST_NAMESPACES: [(&str, &str); 6] = [
    ("cgroup", "4026531835"),
    ("ipc", "4026531839"),
    ("pid", "4026531836"),
    ("time", "4026531834"),
    ("user", "4026531837"),
    ("uts", "4026531838"),
];

const STATUS_LINES: [&str; 10] =
    ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters", "Uid", "Gid"];

#[derive(Serialize)]
pub struct Mount {
    at: String,
    kind: String,
    options: String,
}

pub fn own_namespaces() -> BTreeMap<String, bool> {
    let own = |(name, first): (&str, &str)| {
        let link = fs::read_link(format!("/proc/self/ns/{name}")).unwrap_or_default();
        (name.to_owned(), !link.to_string_lossy().contains(first))
    };
    FIRST_NAMESPACES.into_iter().map(own).collect()
}

pub fn id_map(name: &str) -> Vec<[u64; 3]> {
    let line = |line: &str| {
        let mut numbers = line.split_whitespace().map_while(|word| word.parse().ok());
        Some([numbers.next()?, numbers.next()?, numbers.next()?])
    };
    text(&format!("/proc/self/{name}")).lines().filter_map(line).collect()
}

pub fn status() -> BTreeMap<String, String> {
    let all = text("/proc/self/status");
    let lines = all.lines().filter_map(|line| line.split_once(':'));
    let wanted = lines.filter(|(name, _)| STATUS_LINES.contains(name));
    wanted.map(|(name, value)| (name.to_owned(), words(value))).collect()
}

pub fn limits() -> BTreeMap<String, String> {
    let all = text("/proc/self/limits");
    let wanted = all.lines().filter(|line| line.starts_with("Max core") || line.starts_with("Max open files"));
    wanted.map(|line| (words(&line[..line.len().min(26)]), words(line.get(26..).unwrap_or_default()))).collect()
}

pub fn mounts() -> Vec<Mount> {
    let all = text("/proc/self/mountinfo");
    let parse = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let fields: Vec<&str> = left.split(' ').collect();
        Some(Mount {
            at: (*fields.get(4)?).to_owned(),
            kind: right.split(' ').next()?.to_owned(),
            options: (*fields.get(5)?).to_owned(),
        })
    };
    let mut mounts: Vec<Mount> = all.lines().filter_map(parse).collect();
    mounts.sort_by(|left, right| left.at.cmp(&right.at));
    mounts
}

/// Destination, gateway and interface of each IPv4 route, as the kernel prints them, in hexadecimal.
pub fn routes() -> Vec<String> {
    let all = text("/proc/self/net/route");
    let pick = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        Some(format!("{} via {} mask {} dev {}", fields.get(1)?, fields.get(2)?, fields.get(7)?, fields.first()?))
    };
    let mut routes: Vec<String> = all.lines().skip(1).filter_map(pick).collect();
    routes.sort();
    routes
}

pub fn descriptors() -> BTreeMap<String, String> {
    let target = |name: String| {
        let link = fs::read_link(format!("/proc/self/fd/{name}")).ok()?;
        let kind = link.to_string_lossy().split(':').next()?.to_owned();
        (!kind.ends_with("/fd")).then_some((name, kind))
    };
    names("/proc/self/fd").into_iter().filter_map(target).collect()
}

pub fn names(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

pub fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim_end().to_owned()
}

fn words(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}
