//! Runs the program as the README says.

mod database;
mod failures;
mod program;
mod readme;
