//! Tuples, each element with a marker of its own.

use super::{ElementMarker, KeyField};
use crate::key::Shape;
use crate::key::canonical::{CanonicalError, CanonicalWriter};

macro_rules! tuples {
    ($(($($element:ident $marker:ident $index:tt),+))*) => {
        $(
            impl<$($element: KeyField<$marker>, $marker),+> KeyField<($($marker,)+)> for ($($element,)+) {
                const SHAPE: Shape = Shape::tuple([$($element::SHAPE),+]);

                fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
                    out.array(|elements| {
                        $(elements.key(&self.$index)?;)+
                        Ok(())
                    })
                }
            }

            #[diagnostic::do_not_recommend]
            impl<$($marker),+> ElementMarker for ($($marker,)+) {}
        )*
    };
}

tuples! {
    (A MA 0)
    (A MA 0, B MB 1)
    (A MA 0, B MB 1, C MC 2)
    (A MA 0, B MB 1, C MC 2, D MD 3)
    (A MA 0, B MB 1, C MC 2, D MD 3, E ME 4)
    (A MA 0, B MB 1, C MC 2, D MD 3, E ME 4, F MF 5)
    (A MA 0, B MB 1, C MC 2, D MD 3, E ME 4, F MF 5, G MG 6)
    (A MA 0, B MB 1, C MC 2, D MD 3, E ME 4, F MF 5, G MG 6, H MH 7)
}
