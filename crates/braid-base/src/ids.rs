//! Newtypes for identities. An id is never an index: positions in a `Vec` are plain `usize`.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

id!(
    /// A table, for as long as its data directory lives: an id is not given out twice.
    TableId(u32), "t"
);
id!(
    /// A schema: what names of relations are unique in. Its number is one of those of tables, and is not given out twice either.
    SchemaId(u32), "n"
);
id!(
    /// A horizontal piece of one table, at most [`crate::CHUNK_ROWS`] rows. Allocated upward per table and not
    /// reused, so that scans of different table versions agree on what a chunk is.
    ChunkId(u32), "k"
);
id!(
    /// A column of one table, for as long as the table lives. Allocated upward per table and not reused. It says nothing of
    /// the column's place in a definition, which is a plain `usize`.
    ColumnId(u16), "c"
);
id!(
    /// One registered scan of the Active Buffer Manager.
    ScanId(u64), "s"
);

/// One column of one chunk of one table: the unit of disk I/O and of buffering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId {
    /// The table.
    pub table: TableId,
    /// The chunk within the table.
    pub chunk: ChunkId,
    /// The column within the chunk.
    pub column: ColumnId,
}

impl SchemaId {
    /// `public`, which every database has. No table has its number.
    pub const PUBLIC: Self = Self(0);
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.table, self.chunk, self.column)
    }
}
