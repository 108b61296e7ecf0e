use idem::KeyField;

#[derive(KeyField)]
struct Nothing;

#[derive(KeyField)]
struct Gone {
    #[transient]
    note: String,
}

#[derive(KeyField)]
enum Never {}

#[derive(KeyField)]
union Bits {
    word: u32,
}

fn main() {}
