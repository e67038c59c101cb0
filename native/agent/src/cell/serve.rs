use super::agent::Agent;
use super::conn::Conn;
use super::fault::{Code, Fault, Stop};
use super::frames::Kind;
use super::methods;
use super::options::Options;
use super::process::spare;
use super::{ingress, limits, rest};
use serde::Deserialize;
use serde_json::{json, Value};
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixListener as StdListener;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

pub const PROTOCOL: u64 = 1;
pub const OLDEST_PROTOCOL: u64 = 1;
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

const FEATURES: [&str; 7] = ["processes", "output", "services", "files", "tar", "watch", "ingress"];
/// Without a new call for this long the agent counts as idle. What it gave back costs the next call some 50 µs.
const REST_AFTER: Duration = Duration::from_millis(300);

const CONTROL: i32 = 3;
const INGRESS: i32 = 4;

/// Starts serving both sockets in the background.
pub fn start(agent: &Rc<Agent>, options: &Options) -> io::Result<()> {
    let control = listener(options.control.as_ref(), CONTROL)?;
    let ingress = listener(options.ingress.as_ref(), INGRESS)?;
    tokio::task::spawn_local(accept(agent.clone(), control, limits::CONTROL_CONNECTIONS, false));
    tokio::task::spawn_local(rest_when_idle(agent.clone()));
    tokio::task::spawn_local(spare::keep(agent.clone()));
    tokio::task::spawn_local(accept(agent.clone(), ingress, limits::INGRESS_CONNECTIONS, true));
    Ok(())
}

#[derive(Deserialize)]
struct Call {
    protocol: u64,
    method: String,
    #[serde(default)]
    params: Value,
}

fn listener(path: Option<&PathBuf>, inherited: i32) -> io::Result<UnixListener> {
    let listener = match path {
        Some(path) => StdListener::bind(path)?,
        // SAFETY: the host handed this descriptor over, nothing else owns it.
        None => unsafe { StdListener::from_raw_fd(inherited) },
    };
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

/// Connections above the limit wait in the socket's queue.
async fn accept(agent: Rc<Agent>, listener: UnixListener, most: usize, is_ingress: bool) {
    let places = std::sync::Arc::new(Semaphore::new(most));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors or memory: both pass.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        agent.calls.set(agent.calls.get() + 1);
        agent.called.notify_one();
        let agent = agent.clone();
        tokio::task::spawn_local(async move {
            serve(&agent, stream, is_ingress).await;
            agent.spawner.spares.refill();
            drop(place);
        });
    }
}

/// Gives memory back once after the start, and after each time of work.
async fn rest_when_idle(agent: Rc<Agent>) {
    let image = rest::image();
    rest::give_back(&image);
    loop {
        let mut seen = None;
        while seen != Some(agent.calls.get()) {
            seen = Some(agent.calls.get());
            tokio::time::sleep(REST_AFTER).await;
        }
        rest::give_back(&image);
        agent.called.notified().await;
    }
}

async fn serve(agent: &Rc<Agent>, stream: UnixStream, is_ingress: bool) {
    let conn = Conn::new(stream);
    let stop = match greet(agent, &conn).await {
        Ok(call) if is_ingress => match ingress::connect(&conn, &call.method, call.params).await {
            Ok(target) => return ingress::splice(conn, target).await,
            Err(stop) => Err(stop),
        },
        Ok(call) => methods::run(agent, &conn, &call.method, call.params).await,
        Err(stop) => Err(stop),
    };
    if let Err(Stop::Fault(fault)) = stop {
        let said = tokio::time::timeout(Duration::from_secs(10), conn.send(Kind::Error, &fault.payload())).await;
        if let Ok(Ok(())) = said {
            let _ = tokio::time::timeout(Duration::from_secs(2), conn.discard()).await;
        }
    }
}

async fn greet(agent: &Rc<Agent>, conn: &Conn) -> Result<Call, Stop> {
    let hello = json!({
        "protocol": PROTOCOL,
        "oldest": OLDEST_PROTOCOL,
        "agent": VERSION,
        "features": FEATURES,
        "boot": agent.boot,
    });
    conn.json(Kind::Hello, &hello).await?;
    let wait = Duration::from_millis(limits::CALL_WAIT_MS);
    let frame = tokio::time::timeout(wait, conn.read()).await.map_err(|_| Stop::Gone)??;
    if frame.kind != Kind::Call {
        let message = format!("{:?} came first; a connection begins with CALL.", frame.kind);
        return Err(Fault::new(Code::InvalidFrame, message).into());
    }
    let call: Call = serde_json::from_slice(&frame.payload)
        .map_err(|error| Fault::new(Code::InvalidFrame, format!("CALL is not what it should be: {error}.")))?;
    if !(OLDEST_PROTOCOL..=PROTOCOL).contains(&call.protocol) {
        let message = format!("Protocol {} is not spoken here, {OLDEST_PROTOCOL} to {PROTOCOL} are.", call.protocol);
        return Err(Fault::new(Code::UnsupportedProtocol, message).into());
    }
    Ok(call)
}
