//! Type, lifetime and const parameters with bounds and where clauses.

#![deny(warnings)]

use idem::{KeyField, derive, idempotent};
use serde::Serialize;

#[idempotent(action = "refund.issue", key = [case_id, lines], tenant = org)]
#[derive(Clone)]
pub struct IssueRefund<'a, T, U: Clone = u32, const N: usize = 2>
where
    T: Clone + 'a,
    U: PartialEq,
{
    org: &'a str,
    case_id: &'a T,
    lines: [Option<U>; N],
    extra: Vec<(T, U)>,
    #[transient]
    note: std::marker::PhantomData<dyn Fn(&'a T) -> U>,
    #[basis]
    decided_by: Option<U>,
}

#[derive(KeyField, Clone)]
pub struct Tree<T> {
    name: T,
    branches: Vec<Tree<T>>,
    fruit: Vec<(T, u8)>,
}

#[derive(KeyField)]
pub enum Either<A, B>
where
    A: Clone,
{
    Left(A),
    Both { a: A, b: Option<B> },
}

trait HasId {
    type Id;
}

struct Case;

impl HasId for Case {
    type Id = u64;
}

#[idempotent(action = "case.close", key = [id])]
struct Close<T: HasId> {
    id: T::Id,
    #[transient]
    _of: std::marker::PhantomData<T>,
}

fn check<T: Serialize + KeyField + Clone>(case_id: &T) -> Result<String, idem::KeyError> {
    let refund = IssueRefund::<T, u32, 2> {
        org: "acme",
        case_id,
        lines: [Some(1), Some(2)],
        extra: vec![(case_id.clone(), 3)],
        note: std::marker::PhantomData,
        decided_by: None,
    };
    let key = derive(&refund.clone(), None)?;
    assert!(key.key.to_string().starts_with("dk_acme_"));
    Ok(String::from_utf8_lossy(&key.preimage).into_owned())
}

#[derive(KeyField)]
struct Identity {
    tree: Tree<String>,
    left: Either<u32, String>,
    both: Either<u32, String>,
}

#[idempotent(action = "x", key = [identity], tenant = none)]
struct Nested {
    identity: Identity,
}

fn main() -> Result<(), idem::KeyError> {
    assert_eq!(check(&"C-7".to_owned())?, r#"{"action":"refund.issue","case_id":"C-7","lines":[1,2]}"#);
    let leaf = |name: &str| Tree { name: name.to_owned(), branches: Vec::new(), fruit: Vec::new() };
    let identity = Identity {
        tree: Tree { branches: vec![leaf("b")], fruit: vec![("f".to_owned(), 1)], ..leaf("a") },
        left: Either::Left(1),
        both: Either::Both { a: 2, b: None },
    };
    assert_eq!(
        String::from_utf8_lossy(&derive(&Nested { identity }, None)?.preimage),
        r#"{"action":"x","identity":{"both":{"Both":{"a":2}},"left":{"Left":1},"tree":{"branches":[{"branches":[],"fruit":[],"name":"b"}],"fruit":[["f",1]],"name":"a"}}}"#
    );
    let tenant = idem::Tenant::parse("acme")?;
    let close = Close::<Case> { id: 7, _of: std::marker::PhantomData };
    assert_eq!(
        String::from_utf8_lossy(&derive(&close, Some(&tenant))?.preimage),
        r#"{"action":"case.close","id":7,"tenant":"acme"}"#
    );
    Ok(())
}
