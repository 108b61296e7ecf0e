//! Numbers, booleans, characters and identifiers.

use std::num::{NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64};

use uuid::Uuid;

use super::{KeyField, Native, Single};
use crate::key::Shape;
use crate::key::canonical::{CanonicalError, CanonicalWriter};

macro_rules! integers {
    ($($integer:ty: $marker:ty => $write:ident),* $(,)?) => {
        $(impl KeyField<$marker> for $integer {
            const SHAPE: Shape = INTEGER;

            fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
                out.$write((*self).into())
            }
        })*
    };
}

integers! {
    i8: Native => integer,
    i16: Native => integer,
    i32: Native => integer,
    i64: Native => integer,
    u8: Single => unsigned,
    u16: Native => unsigned,
    u32: Native => unsigned,
    u64: Native => unsigned,
}

macro_rules! non_zero {
    ($($integer:ty => $write:ident),* $(,)?) => {
        $(impl KeyField for $integer {
            const SHAPE: Shape = INTEGER;

            fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
                out.$write(self.get().into())
            }
        })*
    };
}

non_zero! {
    NonZeroI8 => integer,
    NonZeroI16 => integer,
    NonZeroI32 => integer,
    NonZeroI64 => integer,
    NonZeroU8 => unsigned,
    NonZeroU16 => unsigned,
    NonZeroU32 => unsigned,
    NonZeroU64 => unsigned,
}

impl KeyField for isize {
    const SHAPE: Shape = INTEGER;

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        // No target has pointers of more than 64 bits.
        out.integer(*self as i64)
    }
}

impl KeyField for usize {
    const SHAPE: Shape = INTEGER;

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        // No target has pointers of more than 64 bits.
        out.unsigned(*self as u64)
    }
}

impl KeyField for bool {
    const SHAPE: Shape = Shape::scalar("boolean");

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.boolean(*self)
    }
}

impl KeyField for char {
    const SHAPE: Shape = Shape::text();

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.string(self.encode_utf8(&mut [0; 4]))
    }
}

impl KeyField for Uuid {
    const SHAPE: Shape = Shape::scalar("uuid");

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.string(self.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
    }
}

/// All widths write equal numbers alike.
const INTEGER: Shape = Shape::scalar("integer");
