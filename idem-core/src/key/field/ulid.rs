//! ULIDs of the `ulid` crate.

use ulid::{ULID_LEN, Ulid};

use super::KeyField;
use crate::key::Shape;
use crate::key::canonical::{CanonicalError, CanonicalWriter};

/// Written as 26 upper-case characters of Crockford's base 32.
impl KeyField for Ulid {
    const SHAPE: Shape = Shape::scalar("ulid");

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.string(self.array_to_str(&mut [0; ULID_LEN]))
    }
}
