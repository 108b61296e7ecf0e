//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use idem::{Basis, Digest, KeyError, Model, Tenant};

use crate::breakpoint::{LEASED, Stop, TRANSACTIONAL};
use crate::failure::Failure;
use crate::remote::Airline;
use crate::serve::Settings;

/// Serves a model's recorded tool calls so that every repeat resolves to the one recorded outcome.
///
/// The effects are rows in a database. Claim, effect, outcome and ledger entry are one transaction, so the work may be
/// killed at any instant and started again from the first call. With --mode leased they are acts of another process, which
/// knows a key again.
#[derive(Parser)]
#[command(version, after_help = EXIT_STATUS)]
pub struct Options {
    /// The recording: JSON Lines of task, trial, seq, tool, arguments, result [default: a made-up sample of 29]
    #[arg(long, value_name = "FILE", default_value = SAMPLE, hide_default_value = true)]
    pub calls: PathBuf,

    /// sqlite://PATH?mode=rwc or postgres://USER:PASSWORD@HOST/NAME [default: a new SQLite file in the temp directory]
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,

    /// Where the effects are: `transactional`: rows in the same database; `leased`: with an airline in a process of its own,
    /// called over a socket under a claim with a lease
    #[arg(long, value_enum, default_value_t = Mode::Transactional)]
    pub mode: Mode,

    /// The file in which the airline of --mode leased keeps its books [default: beside the SQLite file, else a new one in the
    /// temp directory]
    #[arg(long, value_name = "FILE")]
    pub airline: Option<PathBuf>,

    /// Whose keys these are: 1 to 64 of A-Z a-z 0-9 . _ -
    #[arg(long, value_name = "NAME", default_value = "airline", value_parser = tenant)]
    pub tenant: Tenant,

    /// Allow one booking per customer's request, user, origin and destination, whichever flights the model picks
    #[arg(long)]
    pub once_per: bool,

    /// Kill the work at named points and at odd moments, at least ten times, and start it again; SEED makes the plan
    #[arg(long, value_name = "SEED", conflicts_with = "workers")]
    pub chaos: Option<u64>,

    /// Let N processes serve all calls at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub workers: Option<u16>,

    /// Print one line of JSON on stdout and nothing else there
    #[arg(long)]
    pub json: bool,

    /// The model that made the calls: part of the basis on record, never of a key
    #[arg(long, value_name = "ID", default_value = "gpt-4o")]
    pub model: String,

    /// Its pinned version; `latest` and the like are refused. The recording does not say: the default is an example
    #[arg(long, value_name = "VERSION", default_value = "2024-05-13")]
    pub model_version: String,

    /// SHA-256 of the prompt template, 64 hex digits [default: that of a made-up template]
    #[arg(long, value_name = "HEX", default_value = PROMPT, hide_default_value = true, value_parser = digest)]
    pub prompt_sha256: Digest,

    /// The policy that the model was to follow
    #[arg(long, value_name = "VERSION", default_value = "airline-policy-1")]
    pub policy_version: String,

    /// Serve one pass and report every answer to the supervising process
    #[arg(long, hide = true, requires = "database")]
    pub child: bool,

    /// The port of the airline, for a pass in leased mode
    #[arg(long, hide = true, requires = "child")]
    pub airline_port: Option<u16>,

    /// Be the airline of leased mode, with its books in this file
    #[arg(long, hide = true, value_name = "FILE")]
    pub serve_airline: Option<PathBuf>,

    /// Stop at a named point, as POINT:HIT, until the supervising process kills this one
    #[arg(long, hide = true, requires = "child", value_parser = Stop::parse)]
    pub stop: Option<Stop>,
}

/// Where the effects are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    Transactional,
    Leased,
}

impl Mode {
    /// The points at which a process is killed.
    pub fn points(self) -> &'static [&'static str] {
        match self {
            Self::Transactional => TRANSACTIONAL,
            Self::Leased => LEASED,
        }
    }
}

impl Options {
    /// What is the same for every call.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let model = Model::try_new(&self.model, &self.model_version)
            .map_err(|error| Failure::Option(format!("--model and --model-version: {error}")))?;
        let basis = Basis {
            model,
            prompt_template_sha256: self.prompt_sha256,
            retrieval_snapshot_id: None,
            policy_version: self.policy_version.clone(),
            approver: None,
        };
        Ok(Settings {
            tenant: self.tenant.clone(),
            basis,
            once_per: self.once_per,
            airline: self.airline_port.map(|port| Airline { port }),
        })
    }

    /// The arguments for a process that serves the same calls on the same database.
    pub fn for_child(&self, database: &str, airline: Option<Airline>) -> Vec<OsString> {
        let mut arguments = vec!["--child".into(), "--calls".into(), self.calls.clone().into_os_string()];
        let settings = [
            ("--database", database),
            ("--tenant", self.tenant.as_str()),
            ("--model", &self.model),
            ("--model-version", &self.model_version),
            ("--prompt-sha256", &self.prompt_sha256.to_string()),
            ("--policy-version", &self.policy_version),
        ];
        arguments.extend(settings.map(|(name, value)| format!("{name}={value}").into()));
        if self.once_per {
            arguments.push("--once-per".into());
        }
        if let Some(Airline { port }) = airline {
            arguments.push(format!("--airline-port={port}").into());
        }
        arguments
    }
}

fn tenant(text: &str) -> Result<Tenant, String> {
    Tenant::parse(text).map_err(|error| error.to_string())
}

fn digest(text: &str) -> Result<Digest, String> {
    text.parse().map_err(|error: KeyError| error.to_string())
}

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sample-calls.jsonl");

const PROMPT: &str = "920f22f3b16bb342f51f654c40b2904e0eb1c1ed6b25f62dacef3086d0e48b44";

const EXIT_STATUS: &str = "\
Exit status: 0 when effect rows, distinct keys and ledger agree; 1 when they do not; 2 for a bad recording or option;
3 when the database cannot be used or the run cannot go on.";
