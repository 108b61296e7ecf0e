//! The form of a key's values, as far as types tell it.

/// Says how the values of a type are written in a key: what a [`KeySchema`](super::KeySchema) is computed over.
///
/// Two types with one shape write equal values alike, as `u32` and `u64` do, or `String` and `Box<str>`. It is computed
/// in const evaluation, from names and nothing that a compiler chooses, so it is the same on every machine.
///
/// # Examples
///
/// ```
/// use idem_core::{KeyField, Shape};
///
/// assert_eq!(<u32 as KeyField>::SHAPE, <i64 as KeyField>::SHAPE);
/// assert_eq!(<Vec<String> as KeyField>::SHAPE, Shape::list(Shape::text()));
/// assert_ne!(<String as KeyField>::SHAPE, <u32 as KeyField>::SHAPE);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape(u64);

impl Shape {
    /// A value without parts, by the name of its form: `string`, `integer`, `boolean`, or a form of one's own.
    pub const fn scalar(name: &str) -> Self {
        Hash::of("scalar").text(name).shape()
    }

    /// Text: strings, and whatever is written as its `Display` or its decimal digits in quotes.
    pub const fn text() -> Self {
        Self::scalar("string")
    }

    /// Elements in the order given.
    pub const fn list(element: Self) -> Self {
        Hash::of("list").part(element).shape()
    }

    /// A fixed number of elements, each of a form of its own.
    pub const fn tuple<const N: usize>(elements: [Self; N]) -> Self {
        let mut hash = Hash::of("tuple").number(N as u64);
        let mut index = 0;
        while index < N {
            hash = hash.part(elements[index]);
            index += 1;
        }
        hash.shape()
    }

    /// Elements in the order of the type itself, as in a `BTreeSet`.
    pub const fn ordered(element: Self) -> Self {
        Hash::of("ordered").part(element).shape()
    }

    /// Elements sorted by their canonical form (`#[key(set)]`).
    pub const fn set(element: Self) -> Self {
        Hash::of("set").part(element).shape()
    }

    /// Members under names that are not known before.
    pub const fn map(value: Self) -> Self {
        Hash::of("map").part(value).shape()
    }

    /// A value that may be absent.
    pub const fn optional(inner: Self) -> Self {
        Hash::of("optional").part(inner).shape()
    }

    /// Members under fixed names. Their order here counts; generated code has them as they are written.
    pub const fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Hash::of("object").members(&members).shape()
    }

    /// One of several forms, each under its name.
    pub const fn variants<const N: usize>(variants: [(&str, Self); N]) -> Self {
        Hash::of("variants").members(&variants).shape()
    }

    /// A value of the type that is being described, somewhere inside it: a tree, a list in links.
    pub const fn recursive() -> Self {
        Hash::of("recursive").shape()
    }

    /// A value of which the type tells nothing: the shape of a [`KeyField`](super::KeyField) that does not state one.
    /// No pin sees its changes.
    pub const fn opaque() -> Self {
        Hash::of("opaque").shape()
    }
}

/// FNV-1a, because it is cheap in const evaluation. Nobody gains by a collision, and 64 bits have none by accident.
#[derive(Clone, Copy)]
pub(super) struct Hash(u64);

impl Hash {
    pub(super) const fn of(kind: &str) -> Self {
        Self(0xcbf2_9ce4_8422_2325).text(kind)
    }

    /// Takes a text with its length, so that two texts in a row keep their boundary.
    pub(super) const fn text(self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut hash = self.number(bytes.len() as u64);
        let mut index = 0;
        while index < bytes.len() {
            hash = hash.byte(bytes[index]);
            index += 1;
        }
        hash
    }

    pub(super) const fn number(self, number: u64) -> Self {
        let bytes = number.to_le_bytes();
        let (mut hash, mut index) = (self, 0);
        while index < bytes.len() {
            hash = hash.byte(bytes[index]);
            index += 1;
        }
        hash
    }

    pub(super) const fn part(self, shape: Shape) -> Self {
        self.number(shape.0)
    }

    pub(super) const fn members(self, members: &[(&str, Shape)]) -> Self {
        let mut hash = self.number(members.len() as u64);
        let mut index = 0;
        while index < members.len() {
            hash = hash.text(members[index].0).part(members[index].1);
            index += 1;
        }
        hash
    }

    pub(super) const fn finish(self) -> u64 {
        // The low bits of FNV depend on the low bits of the input alone; this spreads them.
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        mixed ^ (mixed >> 33)
    }

    const fn shape(self) -> Shape {
        Shape(self.finish())
    }

    const fn byte(self, byte: u8) -> Self {
        Self((self.0 ^ byte as u64).wrapping_mul(0x0100_0000_01b3))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn forms_that_differ_have_different_shapes() {
        let (text, integer) = (Shape::text(), Shape::scalar("integer"));
        let shapes = [
            text,
            integer,
            Shape::opaque(),
            Shape::recursive(),
            Shape::list(text),
            Shape::list(integer),
            Shape::ordered(text),
            Shape::set(text),
            Shape::map(text),
            Shape::optional(text),
            Shape::tuple([text]),
            Shape::tuple([text, integer]),
            Shape::tuple([integer, text]),
            Shape::object([("a", text)]),
            Shape::object([("a", integer)]),
            Shape::object([("a", text), ("b", text)]),
            Shape::object([("b", text)]),
            Shape::variants([("a", text)]),
        ];
        let distinct: BTreeSet<_> = shapes.iter().map(|shape| shape.0).collect();
        assert_eq!(distinct.len(), shapes.len());
    }

    #[test]
    fn shapes_never_change() {
        // Pins in other people's code rest on these numbers.
        assert_eq!(Shape::text().0, 11_157_705_602_502_558_014);
        assert_eq!(
            Shape::object([("a", Shape::list(Shape::scalar("integer")))]).0,
            14_160_336_814_666_059_145
        );
    }
}
