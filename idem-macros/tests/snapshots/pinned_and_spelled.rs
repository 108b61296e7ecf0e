#[idempotent(action = "token.mint", key = [serial, tags, owner], tenant = none, subject = owner, pin = "0a1b2c3d")]
struct MintToken<'a> {
    #[key(text)]
    serial: u128,
    #[key(set)]
    tags: HashSet<String>,
    #[key(display)]
    owner: &'a ForeignId,
}

#[derive(KeyField)]
struct Tree<T> {
    #[key(text)]
    serial: T,
    #[key]
    branches: Vec<Tree<T>>,
}
