//! Decimals of the `rust_decimal` crate.

use rust_decimal::Decimal;

use super::KeyField;
use crate::key::Shape;
use crate::key::canonical::{CanonicalError, CanonicalWriter};

/// Written as a decimal string without trailing zeros, so that `1.5` and `1.50` are one amount.
impl KeyField for Decimal {
    const SHAPE: Shape = Shape::scalar("decimal");

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        let value = if self.is_zero() {
            Decimal::ZERO
        } else {
            self.normalize()
        };
        out.string(&value.to_string())
    }
}
