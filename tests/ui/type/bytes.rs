use idem::idempotent;

#[idempotent(action = "file.import", key = [content, digest, parts], tenant = none)]
struct ImportFile {
    content: Vec<u8>,
    digest: [u8; 32],
    parts: Option<Box<[u8]>>,
}

fn main() {}
