/// What a store can do.
///
/// An action that needs what a store lacks is refused before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// It keeps the ledger.
    pub ledger: bool,
    /// Several processes may use it at once.
    pub shared: bool,
    /// A duplicate of a running claim of another process is told at once.
    pub fail_fast: bool,
    /// Time is that of the storage.
    pub storage_clock: bool,
}

impl Capabilities {
    /// A store that can do nothing beyond claims; switch on what it can.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            ledger: false,
            shared: false,
            fail_fast: false,
            storage_clock: false,
        }
    }

    /// Sets [`ledger`](Self::ledger).
    #[must_use]
    pub const fn with_ledger(mut self, ledger: bool) -> Self {
        self.ledger = ledger;
        self
    }

    /// Sets [`shared`](Self::shared).
    #[must_use]
    pub const fn with_shared(mut self, shared: bool) -> Self {
        self.shared = shared;
        self
    }

    /// Sets [`fail_fast`](Self::fail_fast).
    #[must_use]
    pub const fn with_fail_fast(mut self, fail_fast: bool) -> Self {
        self.fail_fast = fail_fast;
        self
    }

    /// Sets [`storage_clock`](Self::storage_clock).
    #[must_use]
    pub const fn with_storage_clock(mut self, storage_clock: bool) -> Self {
        self.storage_clock = storage_clock;
        self
    }
}
