//! The database: catalog, sessions, statements, loading. Embeddable.
