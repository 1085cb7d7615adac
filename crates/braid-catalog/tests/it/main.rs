//! The system relations against PostgreSQL's.

mod views;
