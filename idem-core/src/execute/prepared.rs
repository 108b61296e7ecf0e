use std::sync::OnceLock;
use std::time::Duration;

use super::Shared;
use super::effect::Effect;
use super::identity::Identity;
use super::lease::Attempt;
use super::watch::Watch;
use crate::codec::{Keeper, Kept};
use crate::error::{Error, ErrorKind};
use crate::key::{Derived, Fingerprint, IdempotencyKey};
use crate::ledger::{Detail, Entry, EntryKind, Reason, alias_for, find_basis};
use crate::record::{OutcomeKind, OwnerToken, Recovery};
use crate::state::{Claim, Tombstone};
use crate::store::{Alias, Completion, PlaceDigest, Store, StoreClaim};

/// A thousand years: what every storage's calendar can hold.
pub(crate) const LONGEST: Duration = Duration::from_secs(1000 * 366 * 24 * 60 * 60);

/// In bytes. The ledger's indexes hold both beside a tenant and a moment, and PostgreSQL's take 2700.
const LONGEST_ACTION: usize = 255;
pub(crate) const LONGEST_TEXT: usize = 1024;

/// One call with everything derived from its input.
pub(crate) struct Prepared {
    pub(crate) identity: Identity,
    pub(crate) action: String,
    pub(crate) step_id: Option<String>,
    pub(crate) run_id: Option<String>,
    pub(crate) wait: Duration,
    pub(crate) retention: Duration,
    /// Whether entries are appended.
    pub(crate) ledger: bool,
    /// How long the record of an effect stands after its retention.
    pub(crate) tombstone: Option<Duration>,
    pub(crate) keeper: Keeper,
    /// Whether to look for an outcome before the claim.
    pub(crate) probe: bool,
    /// Whether the task that calls is one that nobody cancels.
    pub(crate) detached: bool,
    pub(crate) watch: Watch,
    /// What the entries of this call tell in clear, and the key whose preimage that has.
    pub(crate) detail: OnceLock<(IdempotencyKey, Detail)>,
}

impl Prepared {
    pub(crate) fn key(&self) -> &IdempotencyKey {
        &self.identity.derived().key
    }

    pub(crate) fn fingerprint(&self) -> &Fingerprint {
        &self.identity.derived().fingerprint
    }

    /// Goes on under another key, where the effect is on record.
    pub(crate) fn turn_to(&self, key: &IdempotencyKey) -> Result<(), Error> {
        self.identity.turn_to(key, &self.action)
    }

    pub(crate) fn place(&self) -> Option<PlaceDigest> {
        self.identity.derived().place.as_ref().map(|place| *place.digest())
    }

    /// Refuses what the store cannot keep.
    pub(crate) fn check<S: Store>(&self, shared: &Shared<S>) -> Result<(), Error> {
        shared.settings.check_retention(self.retention)?;
        if self.place().is_some() && !shared.store.capabilities().ledger {
            return Err(Error::new(
                ErrorKind::Misuse,
                "`once_per` needs a store that keeps the ledger",
            ));
        }
        if self.place().is_some() && !self.ledger {
            let message = format!(
                "`{}` may happen once for its `once_per` place, which only the ledger keeps, and the call is without ledger; leave `without_ledger` away, or the place",
                self.action
            );
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        self.check_texts()
    }

    /// Refuses text that some storage would refuse after the effect has run: PostgreSQL takes no
    /// U+0000, and no index takes an entry of any length.
    fn check_texts(&self) -> Result<(), Error> {
        check_text("action", Some(&self.action), LONGEST_ACTION)?;
        check_text("subject", self.identity.current().subject.as_deref(), LONGEST_TEXT)?;
        check_text("step id", self.step_id.as_deref(), LONGEST_TEXT)?;
        check_text("run id", self.run_id.as_deref(), LONGEST_TEXT)?;
        // Written as JSON it is harmless, but its parts are columns too.
        let basis = self
            .identity
            .current()
            .basis
            .as_deref()
            .filter(|json| json.contains("\\u0000"));
        let Some(basis) = basis.and_then(find_basis) else {
            return Ok(());
        };
        check_text("model id", Some(basis.model.id()), usize::MAX)?;
        check_text("model version", Some(basis.model.version()), usize::MAX)?;
        check_text(
            "retrieval snapshot id",
            basis.retrieval_snapshot_id.as_deref(),
            usize::MAX,
        )?;
        check_text("policy version", Some(&basis.policy_version), usize::MAX)?;
        check_text("approver", basis.approver.as_deref(), usize::MAX)
    }

    /// What a claim would bring, for a question that claims nothing: no record has its owner.
    pub(crate) fn question(&self) -> Claim {
        self.claim_of(self.identity.derived(), OwnerToken::from_bytes([0; 16]))
    }

    fn claim_of(&self, derived: &Derived, owner: OwnerToken) -> Claim {
        Claim {
            fingerprint: derived.fingerprint.clone(),
            owner,
            lease: None,
            retention: self.retention.min(LONGEST),
            tombstone: self.tombstone.map(|lasts| {
                Box::new(Tombstone {
                    lasts: lasts.min(LONGEST),
                    key: derived.key.clone(),
                    action: self.action.clone(),
                })
            }),
            step_id: self.step_id.clone(),
            run_id: self.run_id.clone(),
        }
    }

    /// A claim of a new attempt.
    pub(crate) fn claim(&self) -> Result<StoreClaim, Error> {
        let claim_of = |derived: &Derived| Ok::<_, Error>(self.claim_of(derived, OwnerToken::random()?));
        let derived = self.identity.derived();
        let alias = self.identity.alias().map(|current| -> Result<Box<Alias>, Error> {
            let mut entry = self.entry_of(current, EntryKind::Aliased, Won::FIRST)?;
            entry.references = alias_for(&derived.key);
            Ok(Box::new(Alias {
                key: current.key.clone(),
                claim: claim_of(current)?,
                entry,
            }))
        });
        Ok(StoreClaim {
            key: derived.key.clone(),
            claim: claim_of(derived)?,
            place: self.place(),
            alias: alias.transpose()?,
        })
    }

    pub(crate) fn completion(&self, claim: &StoreClaim, won: Won, kept: Kept) -> Result<Completion, Error> {
        let Kept { outcome, digest } = kept;
        let (kind, retention) = match outcome.kind() {
            OutcomeKind::Success => (EntryKind::Executed, claim.claim.kept()),
            OutcomeKind::Declined => (EntryKind::Declined, claim.claim.retention),
            OutcomeKind::Alias => (EntryKind::Aliased, claim.claim.retention),
        };
        let mut entry = self.kept_entry(kind, won)?;
        if let Some(entry) = &mut entry {
            entry.outcome_digest = digest;
            // A declined effect has not happened, so its place stays free.
            entry.place = if kind == EntryKind::Executed {
                self.place()
            } else {
                None
            };
        }
        Ok(Completion {
            key: claim.key.clone(),
            generation: won.generation,
            attempt: won.attempt,
            owner: claim.claim.owner,
            outcome,
            retention,
            entry,
        })
    }

    /// A downstream that remembers the key for longer than we do would be asked to repeat what is
    /// forgotten here.
    pub(crate) fn check_recovery(&self, recovery: Recovery) -> Result<(), Error> {
        match recovery {
            Recovery::Rerun { remembered_for } if remembered_for > self.retention => {
                let message = format!(
                    "the downstream remembers the key for {remembered_for:?}, but outcomes would be kept for {:?}; raise the retention",
                    self.retention
                );
                Err(Error::new(ErrorKind::Misuse, message))
            }
            Recovery::Rerun { .. } | Recovery::Hold => Ok(()),
        }
    }

    /// A claim of a new attempt with a lease.
    pub(crate) fn leased_claim(&self, lease: Duration, recovery: Recovery) -> Result<StoreClaim, Error> {
        let mut claim = self.claim()?;
        let recovery = match recovery {
            Recovery::Rerun { remembered_for } => Recovery::Rerun {
                remembered_for: remembered_for.min(LONGEST),
            },
            Recovery::Hold => Recovery::Hold,
        };
        claim.claim.lease = Some((lease.min(LONGEST), recovery));
        Ok(claim)
    }

    /// The entry that is committed with a leased claim; it takes the place.
    pub(crate) fn intended(&self) -> Result<Option<Entry>, Error> {
        let mut entry = self.kept_entry(EntryKind::Intended, Won::FIRST)?;
        if let Some(entry) = &mut entry {
            entry.place = self.place();
        }
        Ok(entry)
    }

    pub(crate) fn leased_completion(
        &self,
        attempt: &Attempt,
        effect: &Effect,
        kept: Kept,
    ) -> Result<Completion, Error> {
        let mut completion = self.completion(&attempt.claim, attempt.won, kept)?;
        let Some(entry) = &mut completion.entry else {
            return Ok(completion);
        };
        // The `intended` entry holds the place. What did not happen frees it.
        entry.place = None;
        entry.frees_place = entry.kind == EntryKind::Declined;
        let references = effect.references();
        if !references.is_empty() {
            entry.references = serde_json::to_string(&references).ok();
        }
        Ok(completion)
    }

    /// The entry of an attempt that is known to have had no effect.
    pub(crate) fn nothing_happened(&self, won: Won) -> Result<Option<Entry>, Error> {
        let mut entry = self.kept_entry(EntryKind::Resolved, won)?;
        if let Some(entry) = &mut entry {
            entry.reason = Some(Reason::NothingHappened);
            entry.frees_place = true;
        }
        Ok(entry)
    }

    pub(crate) fn refusal(&self, reason: Reason) -> Result<Entry, Error> {
        let mut entry = self.entry(
            EntryKind::Refused,
            Won {
                generation: 1,
                attempt: 0,
            },
        )?;
        entry.reason = Some(reason);
        // For the auditor to join the refusal with the holder; a refusal takes no place.
        entry.place = self.place().filter(|_| reason == Reason::OncePer);
        Ok(entry)
    }

    /// The entry, unless the call is without ledger: then not even its parts are made.
    pub(crate) fn kept_entry(&self, kind: EntryKind, won: Won) -> Result<Option<Entry>, Error> {
        self.ledger.then(|| self.entry(kind, won)).transpose()
    }

    fn entry(&self, kind: EntryKind, won: Won) -> Result<Entry, Error> {
        self.entry_of(self.identity.derived(), kind, won)
    }

    fn entry_of(&self, derived: &Derived, kind: EntryKind, won: Won) -> Result<Entry, Error> {
        Ok(Entry {
            key: derived.key.clone(),
            generation: won.generation,
            attempt: won.attempt,
            kind,
            reason: None,
            action: self.action.clone(),
            fingerprint: derived.fingerprint.clone(),
            step_id: self.step_id.clone(),
            run_id: self.run_id.clone(),
            payload_digest: derived.payload_digest(),
            outcome_digest: None,
            place: None,
            frees_place: false,
            actor: None,
            references: None,
            detail: self.detail_of(derived)?,
        })
    }

    /// The same for all entries of one key: to commit to it anew would only cost.
    fn detail_of(&self, derived: &Derived) -> Result<Detail, Error> {
        if let Some((key, detail)) = self.detail.get()
            && *key == derived.key
        {
            return Ok(detail.clone());
        }
        // On what basis and about whom is what this build knows of, whichever key it is on record under.
        let Derived { subject, basis, .. } = self.identity.current();
        // A canonical form is UTF-8, so nothing is lost.
        let preimage = String::from_utf8_lossy(&derived.preimage).into_owned();
        let detail = Detail::new(subject.clone(), preimage, basis.clone())?;
        let _ = self.detail.set((derived.key.clone(), detail.clone()));
        Ok(detail)
    }
}

fn check_text(what: &str, text: Option<&str>, longest: usize) -> Result<(), Error> {
    match text_fault(what, text, longest) {
        Some(fault) => Err(Error::new(ErrorKind::InvalidKey, format!("{fault}; nothing was run"))),
        None => Ok(()),
    }
}

/// Why the ledger cannot keep a text, and what to do.
pub(crate) fn text_fault(what: &str, text: Option<&str>, longest: usize) -> Option<String> {
    let length = text.map_or(0, str::len);
    if length > longest {
        return Some(format!(
            "the {what} is {length} bytes long, and the ledger takes {longest}: shorten it, or use a digest of it"
        ));
    }
    text.is_some_and(|text| text.contains('\0'))
        .then(|| format!("the {what} contains U+0000, which databases do not keep in text: remove it"))
}

/// Where in the life of its record a claim was won.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Won {
    pub(crate) generation: u32,
    pub(crate) attempt: u32,
}

impl Won {
    const FIRST: Self = Self {
        generation: 1,
        attempt: 1,
    };
}
