use std::ffi::OsString;
use std::path::PathBuf;

/// Where the agent finds its sockets, its cgroup and its state. In a cell all of them are inherited; paths are for
/// tests on a host.
#[derive(Debug, Default)]
pub struct Options {
    /// Unix socket to bind; absent: listener inherited as descriptor 3.
    pub control: Option<PathBuf>,
    /// Unix socket to bind; absent: listener inherited as descriptor 4.
    pub ingress: Option<PathBuf>,
    pub cgroup: CgroupOption,
    /// Absent: `/var/lib/holdfast`.
    pub state: Option<PathBuf>,
    pub hostname: Option<String>,
    pub machine_id: Option<String>,
    pub resolver: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub enum CgroupOption {
    /// A directory of a v2 hierarchy, inherited as descriptor 5.
    #[default]
    Inherited,
    Path(PathBuf),
    /// Kill by session and descent: best effort, for tests only.
    Absent,
}

pub fn parse(args: Vec<OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut args = args.into_iter();
    while let Some(flag) = args.next() {
        let flag = flag.to_string_lossy().into_owned();
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        let words = || value.to_str().map(str::to_owned).ok_or_else(|| format!("{flag} is not UTF-8"));
        match flag.as_str() {
            "--control" => options.control = Some(value.into()),
            "--ingress" => options.ingress = Some(value.into()),
            "--state" => options.state = Some(value.into()),
            "--cgroup" if value == "none" => options.cgroup = CgroupOption::Absent,
            "--cgroup" => options.cgroup = CgroupOption::Path(value.into()),
            "--hostname" => options.hostname = Some(words()?),
            "--machine-id" => options.machine_id = Some(words()?),
            "--resolver" => options.resolver = Some(words()?),
            _ => {
                return Err(format!(
                    "{flag} is not known; there are --control --ingress --state --cgroup --hostname --machine-id --resolver"
                ))
            }
        }
    }
    Ok(options)
}
