//! Why the program ends without its answer, and with which exit status.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};

use crate::recording::BadRecording;

#[derive(Debug)]
pub enum Failure {
    Recording(BadRecording),
    /// An option that the command line parser could not judge.
    Option(String),
    Database {
        url: String,
        cause: Box<dyn Error + Send + Sync>,
    },
    /// The calls could be read and the database be opened, and still a call could not be served.
    Stopped(Box<dyn Error + Send + Sync>),
    /// The books of the airline of leased mode.
    Airline(PathBuf, std::io::Error),
    /// A child ended by itself, having said why.
    Child(ExitStatus),
    Process(Box<dyn Error + Send + Sync>),
    /// The work is done and cannot be reported.
    Output(std::io::Error),
}

impl Failure {
    pub fn process(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Process(cause.into())
    }

    /// An error of the database at `url`, whose password is left out.
    pub fn database(url: &str, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Database {
            url: without_password(url),
            cause: cause.into(),
        }
    }

    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Recording(_) | Self::Option(_) => 2,
            Self::Database { .. } | Self::Airline(..) | Self::Stopped(_) | Self::Process(_) | Self::Output(_) => 3,
            Self::Child(status) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(3),
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recording(bad) => write!(f, "{bad}"),
            Self::Option(what) => f.write_str(what),
            Self::Database { url, cause } => {
                write!(f, "cannot use the database {url}: {}", chain(&**cause))?;
                f.write_str("\nname one that can be reached with --database sqlite://PATH?mode=rwc or postgres://..")
            }
            Self::Stopped(cause) => {
                f.write_str(&chain(&**cause))?;
                f.write_str("\nwhat was served before it stands; run again to serve the rest")
            }
            Self::Airline(file, cause) => {
                write!(f, "cannot keep the airline's books in {}: {cause}", file.display())?;
                f.write_str("\nname another file with --airline FILE")
            }
            Self::Child(status) => write!(f, "a process that served the calls ended with {status}"),
            Self::Output(cause) => write!(f, "cannot write to standard output: {cause}"),
            Self::Process(cause) => write!(f, "cannot run the work in a process of its own: {}", chain(&**cause)),
        }
    }
}

impl Error for Failure {}

impl From<BadRecording> for Failure {
    fn from(bad: BadRecording) -> Self {
        Self::Recording(bad)
    }
}

/// An error and what it came from. A source whose text the error has repeated already is left out.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// `postgres://user:secret@host/name?password=secret` without the secrets.
pub fn without_password(url: &str) -> String {
    let (address, settings) = url
        .split_once('?')
        .map_or((url, None), |(address, settings)| (address, Some(settings)));
    let mut text = match address
        .rsplit_once('@')
        .and_then(|(login, place)| Some((login.splitn(3, ':').nth(2)?, place)))
    {
        Some((password, place)) => address.replace(&format!("{password}@{place}"), &format!("…@{place}")),
        None => address.to_owned(),
    };
    for (index, setting) in settings
        .into_iter()
        .flat_map(|settings| settings.split('&'))
        .enumerate()
    {
        text.push(if index == 0 { '?' } else { '&' });
        text.push_str(if setting.starts_with("password=") {
            "password=…"
        } else {
            setting
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_passwords() {
        for (url, shown) in [
            ("postgres://ada:p:@ss@host:5432/name", "postgres://ada:…@host:5432/name"),
            (
                "postgres://ada@host/name?password=p&sslmode=off",
                "postgres://ada@host/name?password=…&sslmode=off",
            ),
            ("postgres://host:5432/name", "postgres://host:5432/name"),
            ("sqlite://a@b.sqlite?mode=rwc", "sqlite://a@b.sqlite?mode=rwc"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
