//! A service that takes orders and has them paid, each of them once.

mod account;
mod gateway;
mod listen;
mod order;
mod payment;
mod table;

use std::error::Error as StdError;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{get, post};
use clap::{Parser, Subcommand};
use idem::tower::IdempotencyLayer;
use idem::{Idem, PgStore, Recovery, SqliteStore};

use crate::account::{Account, authenticate};
use crate::payment::Gateway;
use crate::table::Orders;

/// Takes orders and has them paid, each of them once, however often the request for it arrives.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Where to listen
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:3000")]
    listen: SocketAddr,

    /// sqlite://FILE?mode=rwc or postgres://USER:PASSWORD@HOST/NAME
    #[arg(long, value_name = "URL", default_value = "sqlite://orders.sqlite?mode=rwc")]
    database: String,

    /// Where the payment gateway listens
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:3001")]
    gateway: SocketAddr,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Be the payment gateway
    Gateway {
        /// Where to listen
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:3001")]
        listen: SocketAddr,
    },
}

/// What ends the program.
type Fatal = Box<dyn StdError + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Fatal> {
    let options = Options::parse();
    if let Some(Command::Gateway { listen }) = options.command {
        return Ok(listen::serve(listen, gateway::router()).await?);
    }
    match options.database.starts_with("sqlite:") {
        true => serve(SqliteStore::connect(&options.database).await?, &options).await,
        false => serve(PgStore::connect(&options.database).await?, &options).await,
    }
}

async fn serve<S: Orders>(store: S, options: &Options) -> Result<(), Fatal> {
    store.create_table().await?;
    let idem = Idem::new(store.clone());

    // The order is a row in the database of the records: both are committed, or neither.
    let ordering = IdempotencyLayer::transactional(idem.clone())
        .scope(|parts| parts.extensions.get().map(Account::tenant))
        .build()?;
    // The payment is made elsewhere. The gateway knows our key again for a day, so an attempt that ended without telling
    // may be followed by another one.
    let remembered_for = Duration::from_secs(24 * 60 * 60);
    let paying = IdempotencyLayer::leased(idem.clone(), Recovery::Rerun { remembered_for })
        .scope(|parts| parts.extensions.get().map(Account::tenant))
        .build()?;

    let gateway = Gateway::new(options.gateway);
    // The layer that is added last is the outermost: who asks is known before anything is looked up.
    let router = Router::new()
        .route("/orders", post(order::create::<S>).route_layer(ordering))
        .route("/orders/{id}/pay", post(payment::pay::<S>).route_layer(paying))
        .route("/orders", get(order::list::<S>))
        .route_layer(from_fn(authenticate))
        .with_state((store, gateway));

    tokio::spawn(idem.clone().purge_task(Duration::from_secs(60 * 60), 5000));
    listen::serve(options.listen, router).await?;
    // Connections have ended, but the work of a client that went away goes on.
    let left = idem.drain(Duration::from_secs(20)).await;
    if left > 0 {
        eprintln!("axum-orders: {left} pieces of work are cut off; repeats of their requests find out what happened");
    }
    Ok(())
}
