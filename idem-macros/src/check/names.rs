//! Names in lists, and names on the wire.

use syn::Ident;
use syn::ext::IdentExt;

use crate::ast::{Field, Form};
use crate::ctxt::Ctxt;
use crate::suggest::{listed, nearest};

/// A field, with the token that named it.
pub(super) struct Named<'a> {
    pub(super) ident: Ident,
    pub(super) field: &'a Field,
}

/// Finds the fields of a list. Each must exist and be named once: the second mention is a
/// slip, and the field that was meant would be missing.
pub(super) fn resolve<'a>(cx: &Ctxt, form: &'a Form, names: &[Ident], option: &Ident) -> Vec<Named<'a>> {
    let mut found: Vec<Named<'a>> = Vec::new();
    for name in names {
        let Some(field) = one(cx, form, name) else {
            continue;
        };
        if found.iter().any(|it| std::ptr::eq(it.field, field)) {
            cx.error(
                name,
                format!("field `{name}` is named twice in `{option}`\nhelp: name it once"),
            );
            continue;
        }
        found.push(Named {
            ident: name.clone(),
            field,
        });
    }
    found
}

/// Finds one field by its Rust name.
pub(super) fn one<'a>(cx: &Ctxt, form: &'a Form, name: &Ident) -> Option<&'a Field> {
    let found = form.field(name);
    if found.is_none() {
        unknown(cx, form, name);
    }
    found
}

fn unknown(cx: &Ctxt, form: &Form, name: &Ident) {
    let word = name.unraw().to_string();
    let names: Vec<_> = form.fields.iter().map(Field::name).collect();
    // Somebody who thinks in JSON writes the wire name.
    let meant = form
        .fields
        .iter()
        .find(|field| field.wire == word)
        .map(Field::name)
        .or_else(|| nearest(&word, names.iter().map(String::as_str)).map(ToOwned::to_owned));
    let help = match meant {
        Some(field) => format!("did you mean `{field}`?"),
        None if names.is_empty() => "it has no fields at all".to_owned(),
        None if names.len() == 1 => format!("its only field is {}", listed(&names)),
        None => format!("its fields are {}", listed(&names)),
    };
    cx.error(name, format!("`{}` has no field `{word}`\nhelp: {help}", form.ident));
}

/// Two members of one JSON object cannot have one name: the key would depend on which of
/// them a parser keeps.
pub(super) fn unique_on_the_wire(cx: &Ctxt, sorted: &[&Field]) {
    for pair in sorted.windows(2) {
        if let [first, second] = pair
            && first.wire == second.wire
        {
            cx.error(
                &second.member,
                format!(
                    "fields `{}` and `{}` are both `{}` on the wire\nhelp: rename one of them with `#[serde(rename = \"..\")]`",
                    first.name(),
                    second.name(),
                    second.wire
                ),
            );
        }
    }
}
