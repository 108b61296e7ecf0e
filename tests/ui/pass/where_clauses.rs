//! Bounds of every kind stay on the implementations.

#![deny(warnings)]

use idem::{Idempotent, KeyField, TenantField, derive, idempotent};
use serde::Serialize;
use std::fmt::Debug;

pub trait Shop {
    type Id: KeyField + Debug;
    type Name: ?Sized;
}

#[derive(Debug)]
pub struct Corner;

impl Shop for Corner {
    type Id = u32;
    type Name = str;
}

#[idempotent(action = "order.place", key = [id, lines, name], tenant = org)]
#[derive(Debug)]
pub struct PlaceOrder<'a, S, O, F, const N: usize>
where
    S: Shop + ?Sized + 'a,
    S::Name: KeyField + Debug,
    O: Debug + ?Sized,
    for<'f> F: Fn(&'f str) -> &'f str,
{
    org: &'a O,
    id: S::Id,
    lines: [<S as Shop>::Id; N],
    name: &'a S::Name,
    #[transient]
    _then: std::marker::PhantomData<F>,
}

fn key_of<T>(input: &T) -> String
where
    T: Idempotent,
{
    derive(input, None).map_or_else(|error| error.to_string(), |it| String::from_utf8_lossy(&it.preimage).into_owned())
}

fn generic<O: TenantField + Debug + Serialize + ?Sized>(org: &O) -> String {
    key_of(&PlaceOrder::<'_, Corner, O, fn(&str) -> &str, 2> {
        org,
        id: 1,
        lines: [2, 3],
        name: "n",
        _then: std::marker::PhantomData,
    })
}

fn main() {
    assert_eq!(generic("acme"), r#"{"action":"order.place","id":1,"lines":[2,3],"name":"n"}"#);
}
