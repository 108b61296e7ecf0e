#![no_main]

libfuzzer_sys::fuzz_target!(|value: &[u8]| idem_fuzz::key_header(value));
