#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| idem_fuzz::form(text));
