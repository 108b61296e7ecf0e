//! Derives keys from JSON, one per line, so that another language can hold its own derivation against this one.
//!
//! Each line on standard input is an object `{"input": .., "tenant": ..}`: `input` is JSON text in a string, the whole
//! preimage; `tenant` labels the key. Each line is answered by one line: `{"canonical","sha256","key"}`, or
//! `{"error","path"}` when it has no key. The path is that of the value inside `input`; it is empty for the outermost
//! value and for a line that is not as it should be, and `tenant` for a tenant that is none.
//!
//! ```text
//! $ echo '{"input":"{\"b\":1.0,\"a\":2}","tenant":"acme"}' | cargo run -p derive-key
//! {"canonical":"{\"a\":2,\"b\":1}","sha256":"…","key":"dk_acme_…"}
//! ```

mod answer;
mod lines;

use std::io::{self, BufReader, BufWriter, Write};

use crate::answer::answer;
use crate::lines::Lines;

const USAGE: &str = "\
derives keys from JSON Lines on standard input, and answers each line with one
usage: echo '{\"input\":\"{\\\"b\\\":1.0,\\\"a\\\":2}\",\"tenant\":\"acme\"}' | derive-key
  input   JSON text in a string: the whole preimage of the key
  tenant  labels the key
";

fn main() -> io::Result<()> {
    if let Some(argument) = std::env::args().nth(1) {
        let asked = argument == "--help" || argument == "-h";
        if asked {
            print!("{USAGE}");
        } else {
            eprint!("it takes no arguments\n{USAGE}");
        }
        std::process::exit(if asked { 0 } else { 2 });
    }
    let mut lines = Lines::new(BufReader::new(io::stdin().lock()));
    let mut out = BufWriter::new(io::stdout().lock());
    while let Some(line) = lines.next()? {
        serde_json::to_writer(&mut out, &answer(line))?;
        out.write_all(b"\n")?;
        // Whoever sends one line and waits for its answer gets it; whoever sends many gets them in bulk.
        if lines.would_wait() {
            out.flush()?;
        }
    }
    out.flush()
}
