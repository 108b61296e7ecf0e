//! Runs the program as a user would, on SQLite and on PostgreSQL.

mod again;
mod bad_input;
mod chaos;
mod leased;
mod other_recordings;
mod reference;
mod sample;
mod support;
mod workers;
