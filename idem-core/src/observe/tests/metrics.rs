use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder};

use super::{Intent, begin, seven};
use crate::execute::{Done, Effect, EffectError, Idem, Settings};
use crate::observe::MetricsObserver;
use crate::record::Recovery;
use crate::store::MemoryStore;

/// Everything that was recorded, by name and labels; of histograms, how many values.
fn recorded(calls: impl AsyncFnOnce(Idem<MemoryStore>)) -> BTreeMap<String, f64> {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        let settings = Settings::default().observer(Arc::new(MetricsObserver::new()));
        let idem = Idem::with_settings(MemoryStore::new(), settings).expect("settings agree");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(calls(idem));
    });
    let snapshot = snapshotter.snapshot().into_vec();
    let values = snapshot.into_iter().map(|(key, unit, description, value)| {
        let name = key.key().name();
        assert!(unit.is_some() && description.is_some(), "{name} is described");
        let labels: Vec<_> = key
            .key()
            .labels()
            .map(|label| format!(" {}={}", label.key(), label.value()))
            .collect();
        let value = match value {
            DebugValue::Counter(count) => count as f64,
            DebugValue::Gauge(value) => value.0,
            DebugValue::Histogram(values) => values.len() as f64,
        };
        (format!("{name}{}", labels.concat()), value)
    });
    values.collect()
}

#[test]
fn every_metric_has_its_name_and_its_labels() {
    let intent = Intent::new("secret-case");
    let seen = recorded(async |idem| {
        idem.transaction(&intent, seven()).await.expect("it runs");
        for _ in 0..2 {
            idem.transaction(&intent, seven()).await.expect("it replays");
        }
        let changed = intent.amount(2);
        idem.transaction(&changed, seven()).await.expect_err("another payload");
        let fails = async |_: Effect| Err::<u32, _>(EffectError::new("no answer"));
        let unknown = intent.case("unknown");
        idem.run(&unknown, Recovery::Hold, fails).await.expect_err("unknown");
        idem.observe_unknown(10).await.expect("counted");

        let guarded = intent.case("guarded");
        let guard = begin(&idem, &guarded).await;
        let waiting = idem.call(&guarded).wait(Duration::from_secs(30)).transaction(seven());
        let completing = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            guard.complete(7).await
        };
        let (waited, _) = tokio::join!(waiting, completing);
        assert_eq!(waited.expect("it replays"), Done::Replayed(7));

        let short = intent.case("short");
        let moment = Duration::from_millis(1);
        idem.call(&short)
            .retention(moment)
            .transaction(seven())
            .await
            .expect("it runs");
        tokio::time::sleep(2 * moment).await;
        idem.purge_expired(10).await.expect("purged");
        std::mem::forget(begin(&idem, &intent.case("open")).await);
    });
    let calls = [
        ("executed", 3),
        ("mismatch", 1),
        ("replayed", 2),
        ("unknown", 1),
        ("waited", 1),
    ];
    let mut expected = BTreeMap::from([
        ("idempotency.in_flight action=kit.act".to_owned(), 1.0),
        ("idempotency.mismatches action=kit.act".to_owned(), 1.0),
        ("idempotency.purged".to_owned(), 1.0),
        ("idempotency.unknown".to_owned(), 1.0),
        ("idempotency.wait.duration action=kit.act".to_owned(), 1.0),
    ]);
    for (outcome, count) in calls {
        for name in ["calls", "duration"] {
            let name = format!("idempotency.{name} action=kit.act outcome={outcome}");
            expected.insert(name, f64::from(count));
        }
    }
    let mut seen = seen;
    let age = seen.remove("idempotency.unknown.oldest.age").expect("an age");
    assert!((0.0..60.0).contains(&age), "{age}");
    assert_eq!(seen, expected);
}
