//! The definition that a deploy changes.

use syn::LitStr;

use crate::args::Args;
use crate::ast::Item;
use crate::ctxt::Ctxt;
use crate::plan::{Plan, Previous};

/// The previous definition and the end of its time belong together.
pub(super) fn has_an_end(cx: &Ctxt, item: &Item, args: &Args, plans: &[Plan<'_>]) -> Option<Previous> {
    match (&args.previous, &args.until) {
        (Some(ty), Some(until)) => {
            let millis = millis(cx, until)?;
            if plans.iter().any(|plan| plan.action.is_none()) {
                cx.error(
                    ty,
                    format!(
                        "`{}` has no action, so it is not run and has no key to change\nhelp: put `previous` on the type that names the action, or name one: `action = \"refund.issue\"`",
                        item.ident
                    ),
                );
            }
            Some(Previous { ty: ty.clone(), millis })
        }
        (Some(ty), None) => {
            if !args.mentions("until") {
                cx.error(
                    ty,
                    "`previous` needs the date from which on nobody uses the previous key\nhelp: write `until = \"2027-03-01\"`: later than the last program with the previous definition runs, and than the last retry of its calls, by some days",
                );
            }
            None
        }
        (None, Some(until)) => {
            if !args.mentions("previous") {
                cx.error(
                    until,
                    "`until` ends the time of a previous definition, and none is named\nhelp: write `previous = OldRefund`, or leave `until` out",
                );
            }
            None
        }
        (None, None) => None,
    }
}

/// The beginning of a day in UTC, in milliseconds since 1970.
fn millis(cx: &Ctxt, until: &LitStr) -> Option<i64> {
    let text = until.value();
    let millis = day(&text).map(|days| days * 24 * 60 * 60 * 1000);
    if millis.is_none() {
        cx.error(
            until,
            format!("{text:?} is not a date\nhelp: write year, month and day, as in `until = \"2027-03-01\"`; it ends when that day begins in UTC"),
        );
    }
    millis
}

/// Days since 1970-01-01, of a date as ISO 8601 writes it.
fn day(text: &str) -> Option<i64> {
    let digits = |from: usize, to: usize| -> Option<i64> {
        let part = text.get(from..to)?;
        part.bytes().all(|it| it.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let has_form = text.len() == 10 && text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, 28 + i64::from(is_leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let index = usize::try_from(month.checked_sub(1)?).ok()?;
    if !has_form || year < 1970 || !(1..=*lengths.get(index)?).contains(&day) {
        return None;
    }
    let before = year - 1;
    let leap_days = |year: i64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leap_days(before) - leap_days(1969);
    Some(years + lengths[..index].iter().sum::<i64>() + day - 1)
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn dates_are_counted_as_the_calendar_counts_them() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1970-12-31", 364),
            ("1972-02-29", 789),
            ("2000-02-29", 11_016),
            ("2000-03-01", 11_017),
            ("2026-11-30", 20_787),
            ("2100-03-01", 47_541),
        ] {
            assert_eq!(day(text), Some(days), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "2027",
            "2027-3-1",
            "2027-13-01",
            "2027-00-10",
            "2027-02-29",
            "2100-02-29",
            "2027-04-31",
            "2027-01-00",
            "2027/03/01",
            "01-03-2027",
            "2027-03-01T00:00:00Z",
            "+027-03-01",
            "1969-12-31",
            "２027-03-1",
        ] {
            assert_eq!(day(text), None, "{text}");
        }
    }
}
