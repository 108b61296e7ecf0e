//! Types that hold themselves, by name and by `Self`.

use idem::{IdempotentFields, KeyField, KeySchema, derive, idempotent};
use std::collections::BTreeMap;

#[derive(KeyField)]
struct Tree {
    name: String,
    branches: Vec<Tree>,
    by_name: BTreeMap<String, Self>,
    parent: Option<Box<crate::Tree>>,
}

#[derive(KeyField)]
enum Expression {
    Number(i32),
    Sum(Box<Self>, Box<Expression>),
    Not { inner: Box<Expression> },
}

#[idempotent(action = "a", key = [tree, expression], tenant = none)]
struct Order {
    tree: Tree,
    expression: Expression,
}

const SCHEMA: KeySchema = Order::KEY_SCHEMA;

fn main() -> Result<(), idem::KeyError> {
    let leaf = |name: &str| Tree { name: name.into(), branches: vec![], by_name: BTreeMap::new(), parent: None };
    let number = |value| Box::new(Expression::Number(value));
    let order = Order {
        tree: Tree { branches: vec![leaf("b")], ..leaf("a") },
        expression: Expression::Sum(number(1), Box::new(Expression::Not { inner: number(2) })),
    };
    assert_eq!(
        String::from_utf8_lossy(&derive(&order, None)?.preimage),
        r#"{"action":"a","expression":{"Sum":[{"Number":1},{"Not":{"inner":{"Number":2}}}]},"tree":{"branches":[{"branches":[],"by_name":{},"name":"b"}],"by_name":{},"name":"a"}}"#
    );
    assert_ne!(SCHEMA.as_u32(), 0);
    Ok(())
}
