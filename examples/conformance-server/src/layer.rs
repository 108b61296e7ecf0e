//! From the command line to the layer.

use std::time::Duration;

use axum::http::{HeaderName, Method};
use idem::tower::{Builder, HasScope, IdempotencyLayer, Mode, NoScope};
use idem::{Idem, Settings, Store};

use crate::Fatal;
use crate::options::Options;
use crate::principal::Principal;

pub fn executor<S: Store>(options: &Options, store: S) -> Result<Idem<S>, idem::Error> {
    Idem::with_settings(store, Settings::default().lease(millis(options.lease_ms)))
}

pub fn configured<S: Store, M: Mode<S>>(
    options: &Options,
    builder: Builder<S, M, NoScope>,
) -> Result<IdempotencyLayer<S, M>, Fatal> {
    // The profile first: it sets what others of these change.
    let mut builder: Builder<S, M, HasScope> = builder
        .scope(|parts| parts.extensions.get().map(Principal::tenant))
        .profile(options.profile())
        .required()
        .key_length(options.min_key_length, options.max_key_length)
        .wait(millis(options.wait_ms))
        .store_timeout(millis(options.store_timeout_ms));
    if !options.default_methods {
        builder = builder.methods([Method::POST, Method::PATCH, Method::PUT, Method::DELETE]);
    }
    if let Some(name) = &options.header {
        builder = builder.header(HeaderName::try_from(name)?);
    }
    if let Some(limit) = options.max_request_bytes {
        builder = builder.max_request_bytes(limit);
    }
    if let Some(limit) = options.max_response_bytes {
        builder = builder.max_response_bytes(limit);
    }
    if let Some(seconds) = options.retention_s {
        builder = builder.retention(Duration::from_secs(seconds));
    }
    if let Some(seconds) = options.tombstones_s {
        builder = builder.tombstones(Duration::from_secs(seconds));
    }
    for pointer in &options.exclude {
        builder = builder.exclude(pointer);
    }
    let switches: [(bool, fn(_) -> _); 6] = [
        (options.strict_sf, Builder::strict_sf),
        (options.scope_by_operation, Builder::scope_by_operation),
        (options.without_ledger, Builder::without_ledger),
        (options.raw, Builder::raw),
        (options.multipart_by_parts, Builder::multipart_by_parts),
        (options.fail_open, Builder::fail_open),
    ];
    for (is_on, switch) in switches {
        if is_on {
            builder = switch(builder);
        }
    }
    Ok(builder.build()?)
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
