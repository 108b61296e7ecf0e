//! Places that can have one effect, whatever key it comes under.

use std::fmt;
use std::ops::Range;

use super::canonical::members::absent;
use super::canonical::{CanonicalError, CanonicalErrorKind, CanonicalWriter, Members, Mode};
use super::{Digest, IdempotentFields, KeyError, KeyErrorKind, KeyField};

/// A place that can have one effect: the fields that a second decision shares with the first.
///
/// It is kept as its digest, SHA-256 of the canonical form of `{"action": .., "place": {..}}`.
///
/// # Examples
///
/// ```
/// use idem_core::Place;
///
/// let place = Place::builder("regulator.file").field("case", "C-7").field("year", &2026_u16).build()?;
/// let other = Place::builder("regulator.file").field("year", &2026_u16).field("case", "C-7").build()?;
/// assert_eq!(place, other);
///
/// let nobody: Option<String> = None;
/// assert_eq!(Place::builder("regulator.file").field("case", &nobody).build().unwrap_err().path(), "case");
/// # Ok::<(), idem_core::KeyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Place(Digest);

impl Place {
    /// Begins the place of an action; give it at least one field.
    pub fn builder(action: impl Into<String>) -> PlaceBuilder {
        PlaceBuilder {
            action: action.into(),
            fields: Vec::new(),
            fault: None,
        }
    }

    /// Returns the 32 bytes of the digest.
    pub const fn digest(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Computes the place that a type declares, if it declares one.
    pub(crate) fn of_type<I: IdempotentFields + ?Sized>(
        writer: &mut CanonicalWriter,
        action: Range<usize>,
        input: &I,
    ) -> Result<Option<Self>, KeyError> {
        Self::compute(writer, action, |members| input.once_per(members))
    }

    /// Computes a place with a writer that has already written the action.
    fn compute(
        writer: &mut CanonicalWriter,
        action: Range<usize>,
        write: impl FnOnce(&mut Members<'_>) -> Result<bool, CanonicalError>,
    ) -> Result<Option<Self>, KeyError> {
        writer.begin(Mode::Key, true);
        let mut members = Members::open(writer)?;
        if !write(&mut members).map_err(incomplete)? {
            writer.abandon();
            return Ok(None);
        }
        if members.is_empty() {
            return Err(KeyError::new(
                KeyErrorKind::PlaceIncomplete,
                "",
                "a place has no field: name what can have one effect only",
            ));
        }
        members.close().map_err(incomplete)?;
        let place = writer.end()?;
        let written = writer.written();
        let digest = Digest::of_parts(&[b"{\"action\":", &written[action], b",\"place\":", &written[place], b"}"]);
        writer.abandon();
        Ok(Some(Self(digest)))
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({})", self.0)
    }
}

/// Collects the fields of a [`Place`].
#[derive(Clone, Debug)]
#[must_use]
pub struct PlaceBuilder {
    action: String,
    /// Each field's name, and its value in canonical form.
    fields: Vec<(String, String)>,
    fault: Option<KeyError>,
}

impl PlaceBuilder {
    /// Adds a field.
    pub fn field<M, T: KeyField<M> + ?Sized>(mut self, name: &str, value: &T) -> Self {
        match form(name, value) {
            Ok(form) => self.fields.push((name.to_owned(), form)),
            Err(error) => drop(self.fault.get_or_insert(error)),
        }
        self
    }

    /// Makes the place.
    ///
    /// # Errors
    ///
    /// When a field is absent or cannot be part of a key, when a name is given twice, or when there is no field.
    pub fn build(self) -> Result<Place, KeyError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let mut writer = CanonicalWriter::of_forms();
        writer.begin(Mode::Key, false);
        writer.string(&self.action)?;
        let action = writer.end()?;
        let place = Place::compute(&mut writer, action, |members| {
            self.fields
                .iter()
                .try_for_each(|(name, form)| members.member(name, |writer| writer.literal(form)))?;
            Ok(true)
        })?;
        // A builder always declares a place.
        Ok(place.expect("a place was declared"))
    }
}

fn form<M, T: KeyField<M> + ?Sized>(name: &str, value: &T) -> Result<String, KeyError> {
    let mut writer = CanonicalWriter::complete();
    let written = match value.is_absent() {
        true => Err(absent()),
        false => value.write(&mut writer).and_then(|()| writer.finish()),
    };
    let form = written.map_err(|error| incomplete(error.within_member(name)))?;
    // A canonical form is UTF-8.
    Ok(String::from_utf8(form).unwrap_or_default())
}

fn incomplete(error: CanonicalError) -> KeyError {
    let kind = match error.kind() {
        CanonicalErrorKind::Absent => KeyErrorKind::PlaceIncomplete,
        _ => KeyErrorKind::Value,
    };
    KeyError::canonical(kind, &error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_digest_of_action_and_fields() {
        let place = Place::builder("file").field("case", "C-7").build().unwrap();
        let expected = Digest::of(br#"{"action":"file","place":{"case":"C-7"}}"#);
        assert_eq!(place.digest(), expected.as_bytes());
    }

    #[test]
    fn an_absent_field_is_refused_at_every_depth() {
        let none: Option<u32> = None;
        let fault = |place: PlaceBuilder| {
            let error = place.build().unwrap_err();
            (error.kind(), error.path().to_owned())
        };
        let incomplete = |path: &str| (KeyErrorKind::PlaceIncomplete, path.to_owned());
        assert_eq!(fault(Place::builder("a").field("x", &none)), incomplete("x"));
        assert_eq!(
            fault(Place::builder("a").field("x", &vec![Some(1), None])),
            incomplete("x[1]")
        );
        assert_eq!(fault(Place::builder("a").field("x", &Some(none))), incomplete("x"));
        assert_eq!(fault(Place::builder("a")), incomplete(""));
    }

    #[test]
    fn a_name_given_twice_is_refused() {
        let error = Place::builder("a").field("x", "1").field("x", "2").build().unwrap_err();
        assert_eq!((error.kind(), error.path()), (KeyErrorKind::Value, "x"));
    }
}
