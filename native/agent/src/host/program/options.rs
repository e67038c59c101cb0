use std::ffi::OsString;
use std::net::SocketAddrV4;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

pub enum Socket {
    Unix { path: PathBuf, gid: u32, mode: u32 },
    Tcp(SocketAddrV4),
}

/// Numbers only: names are resolved by who asks.
#[derive(Clone)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

pub struct Options {
    pub sockets: Vec<Socket>,
    pub user: Option<User>,
    pub no_new_privs: bool,
    pub record: Option<PathBuf>,
    /// Kept in the record; how the launcher knows whether a running program is still what it would start.
    pub label: String,
    pub log: Option<PathBuf>,
    pub argv: Vec<OsString>,
}

impl Options {
    pub fn parse(args: Vec<OsString>) -> Result<Self, String> {
        let mut options = Options {
            sockets: Vec::new(),
            user: None,
            no_new_privs: false,
            record: None,
            label: String::new(),
            log: None,
            argv: Vec::new(),
        };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let name = arg.to_string_lossy().into_owned();
            if name == "--" {
                options.argv = args.collect();
                break;
            }
            if name == "--no-new-privs" {
                options.no_new_privs = true;
                continue;
            }
            let value = args.next().ok_or(format!("{name} needs a value"))?;
            let text = value.to_str().ok_or(format!("the value of {name} is not UTF-8"))?;
            match name.as_str() {
                "--listen" => options.sockets.push(unix_socket(text)?),
                "--listen-tcp" => options.sockets.push(Socket::Tcp(
                    text.parse().map_err(|_| format!("{text}: want an IPv4 address and a port, like 127.0.0.1:80"))?,
                )),
                "--user" => options.user = Some(user(text)?),
                "--record" => options.record = Some(text.into()),
                "--label" => options.label = text.to_owned(),
                "--log" => options.log = Some(text.into()),
                _ => return Err(format!("there is no option {name}")),
            }
        }
        if options.argv.is_empty() {
            return Err("give the program to run after --".to_owned());
        }
        if options.argv.iter().any(|arg| arg.as_bytes().contains(&0)) {
            return Err("an argument contains NUL".to_owned());
        }
        Ok(options)
    }
}

fn unix_socket(text: &str) -> Result<Socket, String> {
    let want = || format!("{text}: want path:gid:mode, like /run/x.sock:0:600");
    let mut parts = text.rsplitn(3, ':');
    let mode = parts.next().and_then(|mode| u32::from_str_radix(mode, 8).ok()).ok_or_else(want)?;
    let gid = parts.next().and_then(|gid| gid.parse().ok()).ok_or_else(want)?;
    let path = parts.next().filter(|path| path.starts_with('/')).ok_or_else(want)?;
    Ok(Socket::Unix { path: path.into(), gid, mode: mode & 0o777 })
}

fn user(text: &str) -> Result<User, String> {
    let want = || format!("{text}: want uid:gid and further gids, all numbers");
    let mut ids = text.split(':').map(|id| id.parse::<u32>().map_err(|_| want()));
    let uid = ids.next().ok_or_else(want)??;
    let gid = ids.next().ok_or_else(want)??;
    Ok(User { uid, gid, groups: ids.collect::<Result<_, _>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn reads_every_option() {
        let options = parse(
            "--listen /run/a.sock:7:660 --listen-tcp 127.0.0.1:80 --user 3:4:5 --no-new-privs --record /r --label l --log /l -- a --b",
        )
        .unwrap();
        assert!(matches!(&options.sockets[0], Socket::Unix { gid: 7, mode: 0o660, .. }));
        assert!(matches!(options.sockets[1], Socket::Tcp(_)));
        assert_eq!(options.user.as_ref().unwrap().groups, [5]);
        assert_eq!(options.argv, ["a", "--b"]);
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        for line in ["--listen a:1:600 -- x", "--user root:root -- x", "--else 1 -- x", "--no-new-privs", "--log"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
