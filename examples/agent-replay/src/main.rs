//! Serves a model's recorded tool calls so that every repeat resolves to the one recorded outcome.

mod airline;
mod books;
mod breakpoint;
mod chaos;
mod child;
mod comparison;
mod database;
mod failure;
mod leased;
mod members;
mod options;
mod patience;
mod questions;
mod random;
mod recording;
mod remote;
mod report;
mod serve;
mod service;
mod tools;
mod workers;

use std::process::ExitCode;

use clap::Parser;
use indicatif::ProgressBar;

use crate::books::Books;
use crate::chaos::{Kills, Supervisor};
use crate::child::{Message, Work};
use crate::comparison::Comparison;
use crate::database::Database;
use crate::failure::Failure;
use crate::options::{Mode, Options};
use crate::recording::Call;
use crate::remote::Service;
use crate::report::{Report, Served};
use crate::serve::Settings;

// One thread: the calls are served in order, and a process that a breakpoint stops is stopped as a whole.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Options::parse()).await {
        Ok(code) => code,
        Err(failure) => {
            report::say(&format!("agent-replay: {failure}"));
            failure.exit_code()
        }
    }
}

async fn run(options: Options) -> Result<ExitCode, Failure> {
    if let Some(file) = &options.serve_airline {
        let served = service::run(file).map_err(|error| Failure::Airline(file.clone(), error));
        return served.map(|()| ExitCode::SUCCESS);
    }
    // Nothing is written before every line is known to be good.
    let calls = recording::read(&options.calls, &options.tenant)?;
    let mut settings = options.settings()?;
    if let (true, Some(url)) = (options.child, &options.database) {
        let database = Database::join(url).await?;
        if let Some(stop) = options.stop {
            stop.install();
        }
        let tell = |call, answer| Message::Answered(call, answer).send();
        return database.pass(&settings, &calls, tell).await.map(|()| ExitCode::SUCCESS);
    }

    let database = Database::open(options.database.as_deref()).await?;
    let comparison = Comparison::of(&calls, options.once_per);
    let service = match options.mode {
        Mode::Transactional => None,
        Mode::Leased => {
            let file = options.airline.clone().unwrap_or_else(|| database.airline_books());
            Some(Service::start(&file).await?)
        }
    };
    settings.airline = service.as_ref().map(|service| service.airline);
    let served = serve(&options, &settings, &database, &calls, comparison.effects as u64).await?;
    let mut connection = database.connect().await?;
    let outside = match &service {
        Some(service) => Some(service.airline.report().await?),
        None => None,
    };
    let books = Books::read(
        &mut connection,
        outside.as_ref(),
        &options.tenant,
        &calls,
        &served.answers,
    )
    .await
    .map_err(|error| database.failure(error))?;
    let report = Report {
        mode: options.mode,
        calls: &calls,
        served: &served,
        comparison: &comparison,
        books: &books,
    };
    let text = if options.json {
        report.json()
    } else {
        let ledger = report
            .ledger(&mut connection, &options.tenant)
            .await
            .map_err(|error| database.failure(error))?;
        format!(
            "{} on {}{}\n\n{}{ledger}",
            options.calls.display(),
            database.name(),
            service.as_ref().map(books_are_in).unwrap_or_default(),
            report.text()
        )
    };
    report::print(&text).map_err(Failure::Output)?;
    if books.agree() {
        return Ok(ExitCode::SUCCESS);
    }
    let of = service.as_ref().map(books_are_in).unwrap_or_default();
    report::say(&format!("agent-replay: {books}{of}"));
    Ok(ExitCode::FAILURE)
}

fn books_are_in(service: &Service) -> String {
    let file = service.file.display();
    format!("\nthe airline's books are in {file}; another run on the same database needs them: --airline FILE")
}

/// Serves the calls in the way the options ask for.
async fn serve(
    options: &Options,
    settings: &Settings,
    database: &Database,
    calls: &[Call],
    effects: u64,
) -> Result<Served, Failure> {
    let work = Work {
        options,
        database: database.url(),
        airline: settings.airline,
    };
    if let Some(seed) = options.chaos {
        let supervisor = Supervisor { work };
        return supervisor.run(seed, calls.len() as u64, effects).await;
    }
    let length = calls.len() as u64 * u64::from(options.workers.unwrap_or(1));
    // Drawn on standard error, and only if that is a terminal.
    let bar = if options.json {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(length)
    };
    let answers = match options.workers {
        Some(workers) => workers::run(&work, workers, calls.len(), || bar.inc(1)).await?,
        None => {
            let mut answers = Vec::with_capacity(calls.len());
            let tell = |_, answer| {
                answers.push(answer);
                bar.inc(1);
            };
            database.pass(settings, calls, tell).await?;
            answers
        }
    };
    bar.finish_and_clear();
    Ok(Served {
        answers,
        kills: Kills::default(),
    })
}
