//! Numbers: ECMAScript's spelling, the range of a key, all digits of a fingerprint.

use super::error::clip;
use super::writer::CanonicalWriter;
use super::{CanonicalError, CanonicalErrorKind, Mode, Written};

impl CanonicalWriter {
    /// Writes an integer.
    ///
    /// # Errors
    ///
    /// In a key, outside ±(2^53−1).
    pub fn integer(&mut self, value: i64) -> Written {
        let mut digits = itoa::Buffer::new();
        self.whole(value.unsigned_abs().into(), digits.format(value))
    }

    /// Writes an integer.
    ///
    /// # Errors
    ///
    /// In a key, above 2^53−1.
    pub fn unsigned(&mut self, value: u64) -> Written {
        let mut digits = itoa::Buffer::new();
        self.whole(value.into(), digits.format(value))
    }

    pub(super) fn integer_128(&mut self, value: i128) -> Written {
        let mut digits = itoa::Buffer::new();
        self.whole(value.unsigned_abs(), digits.format(value))
    }

    pub(super) fn unsigned_128(&mut self, value: u128) -> Written {
        let mut digits = itoa::Buffer::new();
        self.whole(value, digits.format(value))
    }

    /// Writes a double.
    ///
    /// # Errors
    ///
    /// `NaN` and infinities always; in a key also a double that is written like an integer outside ±(2^53−1).
    pub fn double(&mut self, value: f64) -> Written {
        if !value.is_finite() {
            return Err(CanonicalError::new(
                CanonicalErrorKind::NotFinite,
                format!("{value} is no JSON number: leave it out, or say it as a string"),
            ));
        }
        let mut digits = ryu_js::Buffer::new();
        let text = digits.format_finite(value);
        if self.mode == Mode::Key && value.abs() > MAX_SAFE as f64 && value.abs() < EXPONENT_FROM {
            return Err(out_of_range(text));
        }
        self.literal(text)
    }

    pub(super) fn single(&mut self, value: f32) -> Written {
        if self.mode == Mode::Key {
            return Err(CanonicalError::new(
                CanonicalErrorKind::SinglePrecision,
                format!(
                    "the f32 {value} has other digits in every language: use integer minor units, a decimal string or an f64"
                ),
            ));
        }
        self.double(value.into())
    }

    /// Writes a number from its JSON literal, which follows the grammar.
    pub(super) fn number(&mut self, literal: &str) -> Written {
        let is_integer = !literal.contains(['.', 'e', 'E']);
        match self.mode {
            Mode::Fingerprint => self.decimal(literal),
            Mode::Key if is_integer => match literal.parse::<i64>() {
                Ok(value) => self.integer(value),
                Err(_) => Err(out_of_range(literal)),
            },
            Mode::Key | Mode::Form => match literal.parse::<f64>() {
                Ok(value) if value.is_finite() => self.double(value),
                _ => Err(overflow(literal)),
            },
        }
    }

    /// Writes an integer, given its magnitude and its digits.
    fn whole(&mut self, magnitude: u128, digits: &str) -> Written {
        if magnitude <= MAX_SAFE.into() {
            return self.literal(digits);
        }
        match self.mode {
            Mode::Key => Err(out_of_range(digits)),
            Mode::Fingerprint | Mode::Form => self.number(digits),
        }
    }

    /// Writes a literal with all its digits, laid out as ECMAScript lays out a double, so that `1`, `1.0` and `1e0`
    /// are one number and so are `1e21` and its 22 digits.
    fn decimal(&mut self, literal: &str) -> Written {
        // As most numbers are: its literal is how it is laid out.
        if literal.len() <= LAID_OUT_AS_IT_IS && literal != "-0" && !literal.contains(['.', 'e', 'E']) {
            self.check_size(literal.len())?;
            return self.literal(literal);
        }
        let (negative, unsigned) = match literal.strip_prefix('-') {
            Some(unsigned) => (true, unsigned),
            None => (false, literal),
        };
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        let significant = all.trim_start_matches('0');
        let digits = significant.trim_end_matches('0');
        if digits.is_empty() {
            return self.literal("0");
        }
        // The value is 0.DIGITS × 10^point. Lengths are far below the range of an i64.
        let leading = (all.len() - significant.len()) as i64;
        let point = exponent
            .parse::<i64>()
            .ok()
            .and_then(|exponent| exponent.checked_add(whole.len() as i64 - leading))
            .filter(|point| point.unsigned_abs() <= MAX_EXPONENT)
            .ok_or_else(|| overflow(literal))?;
        self.check_size(literal.len())?;
        self.occupy_leaf()?;
        if negative {
            self.buffer.push(b'-');
        }
        self.lay_out(digits, point);
        Ok(())
    }

    /// `Number::toString` of ECMAScript, for any number of digits.
    fn lay_out(&mut self, digits: &str, point: i64) {
        let out = &mut self.buffer;
        let count = digits.len() as i64;
        match point {
            1..=21 if count <= point => {
                out.extend_from_slice(digits.as_bytes());
                out.extend((count..point).map(|_| b'0'));
            }
            1..=21 => {
                let (whole, fraction) = digits.split_at(point as usize);
                out.extend_from_slice(whole.as_bytes());
                out.push(b'.');
                out.extend_from_slice(fraction.as_bytes());
            }
            -5..=0 => {
                out.extend_from_slice(b"0.");
                out.extend((point..0).map(|_| b'0'));
                out.extend_from_slice(digits.as_bytes());
            }
            _ => {
                let (first, rest) = digits.split_at(1);
                out.extend_from_slice(first.as_bytes());
                if !rest.is_empty() {
                    out.push(b'.');
                    out.extend_from_slice(rest.as_bytes());
                }
                out.push(b'e');
                out.push(if point > 0 { b'+' } else { b'-' });
                out.extend_from_slice(itoa::Buffer::new().format((point - 1).unsigned_abs()).as_bytes());
            }
        }
    }
}

pub(super) fn out_of_range(digits: &str) -> CanonicalError {
    CanonicalError::new(
        CanonicalErrorKind::IntegerOutOfRange,
        format!(
            "integer {} is outside ±(2^53−1), where JSON readers round it and different numbers become one: send it as a string",
            clip(digits, 48)
        ),
    )
}

fn overflow(literal: &str) -> CanonicalError {
    CanonicalError::new(
        CanonicalErrorKind::NumberOverflow,
        format!(
            "number {} is larger than JSON readers can hold: send it as a string",
            clip(literal, 48)
        ),
    )
}

/// 2^53−1: every integer up to it is a double of its own.
pub(super) const MAX_SAFE: u64 = (1 << 53) - 1;

/// From here on ECMAScript writes an exponent, and the text cannot be taken for an integer.
const EXPONENT_FROM: f64 = 1e21;

/// Up to here an integer is written with all its digits.
const LAID_OUT_AS_IT_IS: usize = 21;

/// Exact decimals are written with an exponent, so a large one costs nothing; this one is absurd all the same.
const MAX_EXPONENT: u64 = 999_999;
