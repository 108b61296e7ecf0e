use std::io::{Read, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use sqlx::postgres::PgConnectOptions;

/// Where PostgreSQL listens.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    Tcp(String, u16),
    Unix(PathBuf),
}

impl Server {
    pub(crate) fn of(options: &PgConnectOptions) -> Self {
        let (host, port) = (options.get_host(), options.get_port());
        match options.get_socket() {
            Some(folder) => Self::in_folder(folder, port),
            None if host.starts_with('/') => Self::in_folder(Path::new(host), port),
            None => Self::Tcp(host.to_owned(), port),
        }
    }

    pub(crate) fn connect(&self) -> Result<Stream> {
        match self {
            Self::Tcp(host, port) => Stream::tcp(TcpStream::connect((host.as_str(), *port))?),
            Self::Unix(path) => Ok(Stream::Unix(UnixStream::connect(path)?)),
        }
    }

    fn in_folder(folder: &Path, port: u16) -> Self {
        Self::Unix(folder.join(format!(".s.PGSQL.{port}")))
    }
}

/// One side of a connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Takes a TCP connection over, without the delay that would distort what is measured through the proxy.
    pub(crate) fn tcp(stream: TcpStream) -> Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    pub(crate) fn try_clone(&self) -> Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    /// Ends the connection for everybody who holds a clone of it.
    pub(crate) fn shutdown(&self) {
        // It fails when the other side has gone already, which is as good.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(buffer),
            Self::Unix(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
