//! One function for each route.

pub mod bodies;
pub mod orders;
pub mod outcomes;
pub mod outside;
