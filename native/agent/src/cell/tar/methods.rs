use super::pack::Packer;
use super::place::Stage;
use super::unpack::Unpacker;
use crate::cell::agent::Agent;
use crate::cell::conn::Conn;
use crate::cell::fault::{Code, Fault, Stop};
use crate::cell::files::Place;
use crate::cell::frames::Kind;
use crate::cell::limits;
use crate::cell::params::params;
use crate::cell::process::command::User;
use flate2::write::MultiGzDecoder;
use serde::Deserialize;
use serde_json::{json, Value};
use std::io::{self, Write};
use std::rc::Rc;

#[derive(Deserialize)]
struct Export {
    path: String,
}

pub async fn export(agent: &Rc<Agent>, conn: &Conn, value: Value) -> Result<(), Stop> {
    let wanted: Export = params(value)?;
    let open = move || {
        let place = Place::find(&wanted.path)?;
        place
            .open(libc::O_RDONLY | libc::O_DIRECTORY, 0)
            .and_then(Packer::new)
            .map_err(|error| place.fault("export", &error))
    };
    let mut packer = agent.pool.run(open).await?;
    conn.json(Kind::Result, &json!({})).await?;
    loop {
        let work = move || packer.next(limits::CHUNK_BYTES).map(|bytes| (packer, bytes));
        let (back, bytes) = agent.pool.run(work).await?;
        packer = back;
        if bytes.is_empty() {
            break;
        }
        for piece in bytes.chunks(limits::FRAME_PAYLOAD_BYTES) {
            conn.send(Kind::Data, piece).await?;
        }
    }
    conn.json(Kind::End, &json!({ "entries": packer.entries, "bytes": packer.bytes })).await?;
    Ok(())
}

#[derive(Deserialize)]
struct Import {
    path: String,
    limit_bytes: u64,
    limit_entries: u64,
    #[serde(default)]
    user: Option<User>,
}

pub async fn import(agent: &Rc<Agent>, conn: &Conn, value: Value) -> Result<(), Stop> {
    let wanted: Import = params(value)?;
    let mut incoming = agent.pool.run(move || Incoming::begin(&wanted)).await?;
    loop {
        let frame = match conn.read().await {
            Ok(frame) => frame,
            Err(stop) => {
                // Clearing a large stage away must not hold the loop up.
                let clear = move || {
                    drop(incoming);
                    Ok(())
                };
                let _ = agent.pool.run(clear).await;
                return Err(stop);
            }
        };
        match frame.kind {
            Kind::Data => {
                incoming = agent.pool.run(move || incoming.add(&frame.payload).map(|()| incoming)).await?;
            }
            Kind::End => break,
            kind => {
                let message = format!("{kind:?} cannot come in an upload; DATA or END can.");
                return Err(Fault::new(Code::InvalidFrame, message).into());
            }
        }
    }
    let result = agent.pool.run(move || incoming.finish()).await?;
    conn.json(Kind::Result, &result).await?;
    Ok(())
}

/// An archive on its way in. Dropped before its end, it leaves nothing.
struct Incoming {
    reader: Reader,
    stage: Stage,
}

enum Reader {
    /// Nothing has come yet: the first two bytes tell which it is.
    Unknown(Vec<u8>, Unpacker),
    Plain(Unpacker),
    Gzip(Box<MultiGzDecoder<Sink>>),
    Moving,
}

/// Lets the unpacker's own fault through the decoder, which knows I/O errors only.
struct Sink {
    unpacker: Unpacker,
    fault: Option<Fault>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unpacker.feed(bytes).map(|()| bytes.len()).map_err(|fault| {
            self.fault = Some(fault);
            io::Error::from(io::ErrorKind::InvalidData)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Incoming {
    fn begin(wanted: &Import) -> Result<Incoming, Fault> {
        let user = wanted.user.map(|user| (user.uid, user.gid));
        let stage = Stage::new(&wanted.path, user)?;
        let root = stage.dir.try_clone().map_err(|error| Fault::io("unpack the archive", &error))?;
        let limit_bytes = wanted.limit_bytes.min(limits::IMPORT_BYTES);
        let unpacker = Unpacker::new(root, user, limit_bytes, wanted.limit_entries.min(limits::IMPORT_ENTRIES));
        Ok(Incoming { reader: Reader::Unknown(Vec::new(), unpacker), stage })
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.reader = match std::mem::replace(&mut self.reader, Reader::Moving) {
            Reader::Unknown(mut first, unpacker) => {
                first.extend_from_slice(bytes);
                if first.len() < 2 {
                    Reader::Unknown(first, unpacker)
                } else {
                    let mut reader = if first.starts_with(&[0x1f, 0x8b]) {
                        Reader::Gzip(Box::new(MultiGzDecoder::new(Sink { unpacker, fault: None })))
                    } else {
                        Reader::Plain(unpacker)
                    };
                    reader.feed(&first)?;
                    reader
                }
            }
            mut reader => {
                reader.feed(bytes)?;
                reader
            }
        };
        Ok(())
    }

    fn finish(self) -> Result<Value, Fault> {
        let unpacker = match self.reader {
            Reader::Unknown(_, unpacker) | Reader::Plain(unpacker) => unpacker,
            Reader::Gzip(mut decoder) => {
                decoder.try_finish().map_err(|error| decoder_fault(&mut decoder, &error))?;
                decoder.finish().map_err(|error| Fault::io("unpack the archive", &error))?.unpacker
            }
            Reader::Moving => {
                return Err(Fault::new(Code::Internal, "The archive was lost on its way. Send it again."))
            }
        };
        unpacker.finish()?;
        let result = json!({ "entries": unpacker.entries, "bytes": unpacker.bytes });
        self.stage.move_in()?;
        Ok(result)
    }
}

impl Reader {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        match self {
            Reader::Plain(unpacker) => unpacker.feed(bytes),
            Reader::Gzip(decoder) => decoder.write_all(bytes).map_err(|error| decoder_fault(decoder, &error)),
            Reader::Unknown(..) | Reader::Moving => Ok(()),
        }
    }
}

fn decoder_fault(decoder: &mut MultiGzDecoder<Sink>, error: &io::Error) -> Fault {
    let own = decoder.get_mut().fault.take();
    own.unwrap_or_else(|| super::refused(b"gzip stream", &format!("it is damaged ({error})")))
}
