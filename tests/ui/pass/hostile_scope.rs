//! Nothing in the user's scope changes what the generated code means.

#![no_implicit_prelude]
#![allow(dead_code, unused_macros, non_camel_case_types)]

mod core {}
mod std {}
mod serde {}

struct String;
struct Result;
struct Option;
struct Members;

trait Key: ::core::marker::Sized {
    fn key(self) {}
    fn tenant(self) {}
    fn value(self) {}
    fn write(self) {}
    fn object(self) {}
    fn string(self) {}
    fn is_absent(self) {}
}

impl<T> Key for T {}

macro_rules! unreachable {
    () => {
        ()
    };
}

#[::idem::idempotent(action = "refund.issue", key = [tenant, case_id, line], subject = case_id, once_per = [case_id])]
struct IssueRefund {
    tenant: ::std::string::String,
    case_id: u32,
    line: Line,
    cents: i64,
    #[basis]
    model: u8,
}

#[derive(::idem::KeyField)]
struct Line {
    sku: Sku,
    method: Method,
}

#[derive(::idem::KeyField)]
struct Sku(u8);

#[derive(::idem::KeyField)]
enum Method {
    Cash,
    Card(u8),
    Split(u8, u8),
    Voucher { code: u8 },
}

fn main() {
    let refund = IssueRefund {
        tenant: ::std::convert::Into::into("acme"),
        case_id: 7,
        line: Line { sku: Sku(1), method: Method::Split(1, 2) },
        cents: 1,
        model: 2,
    };
    let derived = match ::idem::derive(&refund, ::core::option::Option::None) {
        ::core::result::Result::Ok(derived) => derived,
        ::core::result::Result::Err(error) => ::std::panic!("{error}"),
    };
    ::std::assert_eq!(
        ::std::string::String::from_utf8_lossy(&derived.preimage),
        r#"{"action":"refund.issue","case_id":7,"line":{"method":{"Split":[1,2]},"sku":1},"tenant":"acme"}"#
    );
}
