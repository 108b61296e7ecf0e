/// A call's result, and whether this call produced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Done<T> {
    /// The effect ran in this call.
    Executed(T),
    /// The effect ran before; this is its recorded result.
    Replayed(T),
}

impl<T> Done<T> {
    /// The result, wherever it came from.
    pub fn into_inner(self) -> T {
        match self {
            Self::Executed(value) | Self::Replayed(value) => value,
        }
    }

    /// Whether the effect ran before this call.
    pub const fn is_replayed(&self) -> bool {
        matches!(self, Self::Replayed(_))
    }

    /// The result by reference.
    pub const fn get(&self) -> &T {
        match self {
            Self::Executed(value) | Self::Replayed(value) => value,
        }
    }
}
