//! Drives the server from outside: one binary, one file a subject.

mod config;
