use super::entry::version;
use super::read;
use super::write::{mismatch, Pending, Write};
use crate::cell::fault::{Code, Fault};
use crate::cell::limits;
use crate::cell::sys;
use serde::Deserialize;
use serde_json::{json, Value};
use std::os::fd::AsRawFd;

#[derive(Deserialize)]
pub struct Edit {
    path: String,
    edits: Vec<Replacement>,
    #[serde(default)]
    if_match: Option<String>,
}

#[derive(Deserialize)]
pub struct Replacement {
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

/// Replaces exact texts, in order, each in the result of the one before; all of them or none.
pub fn edit(wanted: Edit) -> Result<Value, Fault> {
    if wanted.edits.is_empty() || wanted.edits.len() > limits::EDITS {
        return Err(Fault::invalid(format!("There are 1 to {} edits in a call. Split them up.", limits::EDITS)));
    }
    let opened = read::open(&read::Read { path: wanted.path.clone(), offset: 0, length: None })?;
    if opened.length > limits::EDITED_FILE_BYTES {
        return Err(too_large());
    }
    let stat = sys::stat_fd(opened.file.as_raw_fd()).map_err(|error| Fault::io("look at the file", &error))?;
    let seen = version(&stat);
    if wanted.if_match.as_ref().is_some_and(|expected| *expected != seen) {
        return Err(mismatch(&wanted.path, Some(seen)));
    }
    let bytes = read::chunk(&opened.file, 0, opened.length as usize)?;
    let mut text = String::from_utf8(bytes).map_err(|_| {
        Fault::invalid(format!("{} is not UTF-8 text. Write it as a whole, or edit it with a process.", wanted.path))
    })?;
    let mut replaced = 0;
    for (index, replacement) in wanted.edits.iter().enumerate() {
        replaced += apply(&mut text, replacement).map_err(|fault| fault.with("edit", index))?;
    }
    let mut pending = Pending::begin(Write {
        path: real_path(&wanted.path)?,
        mode: None,
        user: None,
        make_parents: false,
        if_match: Some(seen),
        must_not_exist: false,
    })?;
    pending.add(text.as_bytes())?;
    let mut file = pending.finish()?;
    file["path"] = json!(wanted.path);
    Ok(json!({ "file": file, "replaced": replaced }))
}

fn apply(text: &mut String, replacement: &Replacement) -> Result<usize, Fault> {
    if replacement.old.is_empty() {
        return Err(Fault::invalid("`old` is empty. Give the text to replace."));
    }
    let occurrences = text.matches(&replacement.old).count();
    if occurrences == 0 || (occurrences > 1 && !replacement.all) {
        let message = match occurrences {
            0 => "The text `old` is not in the file. Read the file and copy the text exactly.".to_owned(),
            _ => format!("The text `old` is in the file {occurrences} times. Give more of it, or set `all`."),
        };
        return Err(Fault::new(Code::MatchFailed, message).with("occurrences", occurrences));
    }
    let removed = occurrences * replacement.old.len();
    let size = (text.len() - removed) as u64 + occurrences as u64 * replacement.new.len() as u64;
    if size > limits::EDITED_FILE_BYTES {
        return Err(too_large());
    }
    *text = text.replace(&replacement.old, &replacement.new);
    Ok(occurrences)
}

/// Where the file itself is: an edit through a link changes the target and keeps the link.
fn real_path(path: &str) -> Result<String, Fault> {
    let real = std::fs::canonicalize(path).map_err(|error| Fault::io(&format!("find {path}"), &error))?;
    real.into_os_string().into_string().map_err(|_| Fault::invalid("The path of the link's target is not UTF-8."))
}

fn too_large() -> Fault {
    let limit = limits::EDITED_FILE_BYTES;
    Fault::new(Code::TooLarge, format!("Only files of at most {limit} bytes are edited. Use a process."))
}
