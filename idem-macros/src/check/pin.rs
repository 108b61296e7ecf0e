//! A pinned key.

use syn::GenericParam;

use crate::args::Args;
use crate::ast::Item;
use crate::ctxt::Ctxt;

/// With a type parameter there are as many keys as types that take its place, and no one digest fits all.
pub(super) fn is_for_one_key(cx: &Ctxt, item: &Item, args: &Args) {
    let Some(pin) = &args.pin else { return };
    let parameter = item.generics.params.iter().find_map(|parameter| match parameter {
        GenericParam::Type(parameter) => Some(&parameter.ident),
        GenericParam::Const(parameter) => Some(&parameter.ident),
        GenericParam::Lifetime(_) => None,
    });
    if let Some(parameter) = parameter {
        cx.error(
            pin,
            format!(
                "the key of `{}` depends on `{parameter}`, so no one pin fits it\nhelp: pin a type without such parameters, or leave `pin` out",
                item.ident
            ),
        );
    }
}
