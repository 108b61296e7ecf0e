//! A small service behind the idempotency layer, for test suites that know nothing but HTTP.

mod answer;
mod app;
mod database;
mod handlers;
mod layer;
mod options;
mod principal;
mod runs;
mod server;

use std::error::Error as StdError;
use std::process::ExitCode;

use clap::Parser;
use idem::tower::{IdempotencyLayer, Mode};

use crate::app::App;
use crate::database::{Database, Memory, Postgres, Sqlite};
use crate::options::{ModeName, Options};

/// What ends the program.
type Fatal = Box<dyn StdError + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-server: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                eprintln!("  because: {cause}");
                source = cause.source();
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), Fatal> {
    let url = options.database.clone();
    match url.split(':').next() {
        Some("memory") => by_mode(&options, Memory::open().await?).await,
        Some("sqlite") => by_mode(&options, Sqlite::open(&url).await?).await,
        Some("postgres" | "postgresql") => by_mode(&options, Postgres::open(&url).await?).await,
        _ => Err(
            "--database takes `memory`, `sqlite://file.sqlite?mode=rwc`, `sqlite::memory:` or `postgres://..`".into(),
        ),
    }
}

async fn by_mode<D: Database>(options: &Options, database: D) -> Result<(), Fatal> {
    let idem = layer::executor(options, database.store().clone())?;
    match options.mode {
        ModeName::Leased => {
            let builder = IdempotencyLayer::leased(idem, options.recovery());
            serve(options, database, layer::configured(options, builder)?).await
        }
        ModeName::Transactional => {
            let builder = IdempotencyLayer::transactional(idem);
            serve(options, database, layer::configured(options, builder)?).await
        }
    }
}

async fn serve<D: Database, M: Mode<D::Store>>(
    options: &Options,
    database: D,
    layer: IdempotencyLayer<D::Store, M>,
) -> Result<(), Fatal> {
    let router = app::router(App::new(database), &layer)?;
    server::serve(options, router, &layer).await
}
