//! The closed list of methods and the shape of each.

use super::agent::Agent;
use super::conn::Conn;
use super::fault::{Code, Fault, Stop};
use super::frames::Kind;
use super::process::methods as processes;
use super::service::methods as services;
use super::{files, ports, system, tar};
use serde_json::Value;
use std::future::Future;
use std::rc::Rc;

pub async fn run(agent: &Rc<Agent>, conn: &Conn, method: &str, params: Value) -> Result<(), Stop> {
    match method {
        "agent.info" => plain(conn, system::info(agent, params)).await,
        "processes.start" => plain(conn, processes::start(agent, params)).await,
        "processes.get" => plain(conn, processes::get(agent, params)).await,
        "processes.list" => plain(conn, processes::list(agent, params)).await,
        "processes.signal" => plain(conn, processes::signal(agent, params)).await,
        "processes.resize" => plain(conn, processes::resize(agent, params)).await,
        "processes.forget" => plain(conn, processes::forget(agent, params)).await,
        "processes.run" => download(conn, processes::run(agent, conn, params)).await,
        "processes.write" => processes::write(agent, conn, params).await,
        "processes.attach" => processes::attach(agent, conn, params).await,
        "output.read" => download(conn, processes::read(agent, conn, params)).await,
        "output.follow" => download(conn, processes::follow(agent, conn, params)).await,
        "services.apply" => plain(conn, services::apply(agent, params)).await,
        "services.list" => plain(conn, services::list(agent, params)).await,
        "services.restart" => plain(conn, services::restart(agent, params)).await,
        "services.wait" => plain(conn, services::wait(agent, params)).await,
        "services.shutdown" => plain(conn, services::shutdown(agent, params)).await,
        "files.stat" => plain(conn, files::stat(agent, params)).await,
        "files.list" => plain(conn, files::list(agent, params)).await,
        "files.read" => download(conn, files::read(agent, conn, params)).await,
        "files.write" => files::write(agent, conn, params).await,
        "files.edit" => plain(conn, files::edit(agent, params)).await,
        "files.move" => plain(conn, files::rename(agent, params)).await,
        "files.delete" => plain(conn, files::delete(agent, params)).await,
        "files.mkdir" => plain(conn, files::mkdir(agent, params)).await,
        "files.watch" => download(conn, files::watch(agent, conn, params)).await,
        "tar.export" => download(conn, tar::export(agent, conn, params)).await,
        "tar.import" => tar::import(agent, conn, params).await,
        "ports.list" => plain(conn, ports::list(agent, params)).await,
        "usage.read" => plain(conn, system::usage(agent, params)).await,
        "system.sync" => plain(conn, system::sync(agent, params)).await,
        _ => {
            let message = format!("There is no method {method:.64}. HELLO lists the features of this agent.");
            Err(Fault::new(Code::UnknownMethod, message).into())
        }
    }
}

/// One result, unless the host closes first: that cancels the waiting, not what was begun.
async fn plain(conn: &Conn, work: impl Future<Output = Result<Value, Fault>>) -> Result<(), Stop> {
    let result = tokio::select! {
        result = work => result?,
        () = conn.closed() => return Err(Stop::Gone),
    };
    conn.json(Kind::Result, &result).await?;
    Ok(())
}

async fn download(conn: &Conn, work: impl Future<Output = Result<(), Stop>>) -> Result<(), Stop> {
    tokio::select! {
        result = work => result,
        () = conn.closed() => Err(Stop::Gone),
    }
}
