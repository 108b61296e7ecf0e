use super::MemoryConnection;
use super::connection::Mark;

/// A transaction of a [`MemoryStore`](super::MemoryStore); dropping it rolls it back.
pub struct MemoryTransaction<'c> {
    connection: Connection<'c>,
    start: Mark,
    open: bool,
}

enum Connection<'c> {
    Owned(Box<MemoryConnection>),
    Borrowed(&'c mut MemoryConnection),
}

impl MemoryTransaction<'static> {
    pub(super) fn root(connection: MemoryConnection) -> Self {
        Self {
            start: connection.mark(),
            connection: Connection::Owned(Box::new(connection)),
            open: true,
        }
    }
}

impl<'c> MemoryTransaction<'c> {
    pub(super) fn nested(connection: &'c mut MemoryConnection) -> Self {
        Self {
            start: connection.mark(),
            connection: Connection::Borrowed(connection),
            open: true,
        }
    }

    /// Whether it committed: not if a record has changed since it was read.
    pub(super) fn commit(mut self) -> bool {
        self.open = false;
        // What a nested transaction has staged belongs to the outer one from here on.
        match &mut self.connection {
            Connection::Owned(connection) => connection.commit(),
            Connection::Borrowed(_) => true,
        }
    }
}

impl AsMut<MemoryConnection> for MemoryTransaction<'_> {
    fn as_mut(&mut self) -> &mut MemoryConnection {
        match &mut self.connection {
            Connection::Owned(connection) => connection,
            Connection::Borrowed(connection) => connection,
        }
    }
}

impl Drop for MemoryTransaction<'_> {
    fn drop(&mut self) {
        if self.open {
            let start = self.start;
            self.as_mut().roll_back_to(start);
        }
    }
}
