//! Lines of bounded length.

use std::io::{self, BufRead, BufReader, Read};

/// The longest line that is read: ample for a preimage of 1 MiB with every character escaped twice.
const MAX_LINE: usize = 16 << 20;

/// Reads lines of any bytes, holding one in memory at a time.
pub struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
}

impl<R: Read> Lines<R> {
    pub fn new(input: BufReader<R>) -> Self {
        Self {
            input,
            line: Vec::new(),
        }
    }

    /// Reads the next line, without its end. A line that is too long is `Err` inside, and skipped to its end.
    pub fn next(&mut self) -> io::Result<Option<Result<&[u8], String>>> {
        self.line.clear();
        let read = self
            .input
            .by_ref()
            .take(MAX_LINE as u64)
            .read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if read == MAX_LINE && !self.at_end()? {
            self.input.skip_until(b'\n')?;
            return Ok(Some(Err(format!("the line is longer than {MAX_LINE} bytes"))));
        }
        Ok(Some(Ok(&self.line)))
    }

    /// Returns whether the next read has to wait for more input.
    pub fn would_wait(&self) -> bool {
        self.input.buffer().is_empty()
    }

    fn at_end(&mut self) -> io::Result<bool> {
        Ok(self.input.fill_buf()?.is_empty())
    }
}
