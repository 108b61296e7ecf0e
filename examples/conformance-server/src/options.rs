//! The command line.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use idem::Recovery;
use idem::tower::Profile;

/// Serves orders behind the idempotency layer, for test suites that know nothing but HTTP.
///
/// The first line on standard output is `listening on http://ADDR:PORT`. Whoever asks names itself in `X-Principal`.
#[derive(Parser)]
#[command(version)]
pub struct Options {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// `memory`, sqlite://FILE?mode=rwc, sqlite::memory: or postgres://USER:PASSWORD@HOST/NAME
    #[arg(long, value_name = "URL", default_value = "memory")]
    pub database: String,

    /// Whose rules the layer answers by
    #[arg(long, value_enum, default_value_t = ProfileName::Ietf)]
    pub profile: ProfileName,

    /// `leased`: orders are written apart from the record; `transactional`: in one transaction with it
    #[arg(long, value_enum, default_value_t = ModeName::Leased)]
    pub mode: ModeName,

    /// What a repeat may do after an attempt in leased mode that ended without telling
    #[arg(long, value_enum, default_value_t = RecoveryName::Rerun)]
    pub recovery: RecoveryName,

    /// How long `--recovery rerun` may run the request again
    #[arg(long, value_name = "SECONDS", default_value_t = 24 * 60 * 60)]
    pub remembered_for_s: u64,

    /// How long a claim in leased mode holds without being renewed
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 30_000)]
    pub lease_ms: u64,

    /// How long a repeat waits for the request in flight
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 0)]
    pub wait_ms: u64,

    /// How long the store may take to claim a key
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 10_000)]
    pub store_timeout_ms: u64,

    /// How long requests may take to end after SIGTERM or Ctrl-C
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub drain_s: u64,

    /// How long responses are replayed [default: that of the profile]
    #[arg(long, value_name = "SECONDS")]
    pub retention_s: Option<u64>,

    /// Write nothing to the ledger
    #[arg(long)]
    pub without_ledger: bool,

    /// Refuse an expired key for so long, without a ledger
    #[arg(long, value_name = "SECONDS")]
    pub tombstones_s: Option<u64>,

    /// The header that carries the key
    #[arg(long, value_name = "NAME")]
    pub header: Option<String>,

    /// Take keys in double quotes only
    #[arg(long)]
    pub strict_sf: bool,

    /// The shortest key
    #[arg(long, value_name = "CHARACTERS", default_value_t = 1)]
    pub min_key_length: usize,

    /// The longest key
    #[arg(long, value_name = "CHARACTERS", default_value_t = 255)]
    pub max_key_length: usize,

    /// The longest request body
    #[arg(long, value_name = "BYTES")]
    pub max_request_bytes: Option<usize>,

    /// The longest response body that is kept
    #[arg(long, value_name = "BYTES")]
    pub max_response_bytes: Option<usize>,

    /// Let a key name one effect for each method and path
    #[arg(long)]
    pub scope_by_operation: bool,

    /// Protect POST and PATCH only, and let PUT and DELETE pass
    #[arg(long)]
    pub default_methods: bool,

    /// Compare every body by its bytes
    #[arg(long)]
    pub raw: bool,

    /// Compare multipart bodies by their parts
    #[arg(long)]
    pub multipart_by_parts: bool,

    /// Leave a part of JSON bodies out of the comparison, as `/requested_at`
    #[arg(long, value_name = "POINTER")]
    pub exclude: Vec<String>,

    /// Serve requests without protection while the store does not answer
    #[arg(long)]
    pub fail_open: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    Leased,
    Transactional,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum RecoveryName {
    Rerun,
    Hold,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum ProfileName {
    Ietf,
    #[value(name = "stripe_v1")]
    StripeV1,
    Acp,
}

impl Options {
    pub fn recovery(&self) -> Recovery {
        match self.recovery {
            RecoveryName::Rerun => Recovery::Rerun {
                remembered_for: Duration::from_secs(self.remembered_for_s),
            },
            RecoveryName::Hold => Recovery::Hold,
        }
    }

    pub fn profile(&self) -> Profile {
        match self.profile {
            ProfileName::Ietf => Profile::Ietf,
            ProfileName::StripeV1 => Profile::StripeV1,
            ProfileName::Acp => Profile::Acp,
        }
    }
}
