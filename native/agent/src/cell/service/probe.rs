use super::spec::{Probe, ProbeKind};
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Asks once; says what is wrong, in words for people.
pub async fn ask(probe: &Probe) -> Result<(), String> {
    match tokio::time::timeout(Duration::from_millis(probe.timeout_ms), attempt(probe)).await {
        Ok(result) => result,
        Err(_elapsed) => Err(format!("port {} gave no answer within {} ms", probe.port, probe.timeout_ms)),
    }
}

async fn attempt(probe: &Probe) -> Result<(), String> {
    let port = probe.port;
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        .await
        .map_err(|error| format!("port {port} does not take a connection: {error}"))?;
    if probe.kind == ProbeKind::Tcp {
        return Ok(());
    }
    let path = &probe.path;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
    let broken = |error: std::io::Error| format!("port {port} broke off: {error}");
    stream.write_all(request.as_bytes()).await.map_err(broken)?;
    // `HTTP/1.1 200` is all that matters.
    let mut line = [0u8; 12];
    stream.read_exact(&mut line).await.map_err(broken)?;
    let status =
        std::str::from_utf8(&line).ok().and_then(|text| text.strip_prefix("HTTP/1.")?.get(2..)?.parse::<u16>().ok());
    match status {
        Some(200..=399) => Ok(()),
        Some(status) => Err(format!("{path} on port {port} answered {status}")),
        None => Err(format!("port {port} does not speak HTTP/1")),
    }
}
