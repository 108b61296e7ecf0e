//! Listening, and ending without cutting off what can still end.

use std::io::Write;
use std::time::{Duration, Instant};

use axum::Router;
use idem::Store;
use idem::tower::{IdempotencyLayer, Mode};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::Fatal;
use crate::options::Options;

/// Serves until SIGTERM or Ctrl-C, then gives connections and the work of those that have gone `--drain-s` to end.
pub async fn serve<S: Store, M: Mode<S>>(
    options: &Options,
    router: Router,
    layer: &IdempotencyLayer<S, M>,
) -> Result<(), Fatal> {
    let mut terminate = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind(options.listen).await?;
    say(&format!("listening on http://{}", listener.local_addr()?))?;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = axum::serve(listener, router).with_graceful_shutdown(async {
        let _ = stopped.await;
    });
    let mut serving = tokio::spawn(async move { serving.await });
    tokio::select! {
        ended = &mut serving => return Ok(ended??),
        _ = terminate.recv() => {}
        pressed = tokio::signal::ctrl_c() => pressed?,
    }
    let limit = Duration::from_secs(options.drain_s);
    let began = Instant::now();
    let _ = stop.send(());
    let connections = tokio::time::timeout(limit, serving).await;
    let left = layer.drain(limit.saturating_sub(began.elapsed())).await;
    if connections.is_err() || left > 0 {
        // A request may be more than one piece of work.
        eprintln!("conformance-server: {left} pieces of work had not ended after {limit:?} and are cut off");
    }
    Ok(())
}

fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
