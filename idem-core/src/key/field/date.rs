//! Civil dates of the crates `chrono`, `jiff` and `time`: one spelling, whichever crate a date is of.

use super::KeyField;
use crate::key::Shape;
use crate::key::canonical::{CanonicalError, CanonicalErrorKind, CanonicalWriter};

macro_rules! dates {
    ($($feature:literal: $date:ty => |$value:ident| ($year:expr, $month:expr, $day:expr);)*) => {
        $(
            /// Written as in `2026-08-14`; a year outside 0 to 9999 is refused.
            #[cfg(feature = $feature)]
            impl KeyField for $date {
                const SHAPE: Shape = Shape::scalar("date");

                fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
                    let $value = *self;
                    write(out, $year.into(), $month.into(), $day.into())
                }
            }
        )*
    };
}

dates! {
    "chrono": chrono::NaiveDate => |date| (
        chrono::Datelike::year(&date),
        chrono::Datelike::month(&date),
        chrono::Datelike::day(&date)
    );
    // Months and days of a jiff date are positive.
    "jiff": jiff::civil::Date => |date| (date.year(), date.month().unsigned_abs(), date.day().unsigned_abs());
    "time": time::Date => |date| (date.year(), u8::from(date.month()), date.day());
}

fn write(out: &mut CanonicalWriter, year: i32, month: u32, day: u32) -> Result<(), CanonicalError> {
    if !(0..=9999).contains(&year) {
        return Err(CanonicalError::new(
            CanonicalErrorKind::DateOutOfRange,
            format!("the year {year} is outside 0 to 9999, where ISO 8601 has no one spelling: send the date as text"),
        ));
    }
    out.display(&format_args!("{year:04}-{month:02}-{day:02}"))
}
