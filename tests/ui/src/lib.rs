//! Messages of the compiler about wrong uses of `idem`, and uses that must compile.
