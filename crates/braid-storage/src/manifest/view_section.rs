//! The views of the manifest.
//!
//! | width | meaning |
//! |---|---|
//! | 4 | number of views; then each view, by ascending id |
//!
//! View:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | id; below the next table id. No sequence has it, and no table but the one of the same name that holds the rows of a materialized view |
//! | string | name, 1 to 255 bytes; names of views, tables and sequences of a schema differ, in `public` also those of types |
//! | 1 | bits 0 and 1: 0 a view, 1 a materialized view that is not populated, 2 one that is; bit 2: a schema is written; bit 3: options are written; others 0 |
//! | 4 | only if bit 2 is set: the id of its schema; else it is in `public` |
//! | 2 | only if bit 3 is set: number of options; of each a string, `name=value` |
//! | 2 | number of columns; of each a string, its name, a string, its name in the query, 4 bytes, the oid of its type, and 4 bytes, its modifier, signed |
//! | string | text of the query, at most [`VIEW_TEXT_BYTES_MAX`] bytes |
//! | 4 | number of names of relations in it; then each |
//! | 4 | number of enumerated types; then the oid of each |
//! | string | the time zone in which literals are read |
//! | 8 | the time at which they are read: microseconds since 1970-01-01 UTC, signed |
//! | 4 | levels of expressions, queries and tables |
//! | 4 | expressions |
//!
//! Name of a relation:
//!
//! | width | meaning |
//! |---|---|
//! | 1 | bit 0: a schema is written; bit 1: it is a relation of the system; others 0 |
//! | string | only if bit 0 is set: the schema |
//! | string | the name |
//! | 4 | how often the text has it |
//! | string | only if bit 1 is set: the schema of the relation of the system |
//! | 4 | only if it is not: the id of a table or view |
//! | 2 | only if it is not: number of columns; of each 2 bytes, its id, a string, its name, and 1 byte, 1 if it is read, else 0 |

use std::collections::{HashMap, HashSet};

use braid_base::{ColumnId, SchemaId, TableId};

use super::byte_reader::ByteReader;
use super::table_section::put_string;
use super::{Manifest, ManifestTable};
use crate::table::NAME_BYTES_MAX;
use crate::views::{VIEW_TEXT_BYTES_MAX, cyclic};
use crate::{ManifestError, SourceColumn, SourceRelation, ViewColumn, ViewDef, ViewKind, ViewSize, ViewSource};

/// The smallest view: an id, no texts, no lists.
const VIEW_BYTES_MIN: usize = 4 + 4 + 1 + 2 + 4 + 4 + 4 + 4 + 8 + 4 + 4;
/// The smallest column: no names, a type, a modifier.
const COLUMN_BYTES_MIN: usize = 4 + 4 + 4 + 4;
/// The smallest name of a relation of the system.
const SOURCE_BYTES_MIN: usize = 1 + 4 + 4 + 4;
/// The smallest column of a relation: an id, no name, a byte.
const SOURCE_COLUMN_BYTES_MIN: usize = 2 + 4 + 1;

/// Flags beside the kind of a view.
const HAS_OWN_SCHEMA: u8 = 4;
const HAS_OPTIONS: u8 = 8;
const KIND_FLAGS: u8 = HAS_OWN_SCHEMA | HAS_OPTIONS;

/// Flags of a name of a relation.
const HAS_SCHEMA: u8 = 1;
const IS_SYSTEM: u8 = 2;

/// Writes all views, by ascending id.
pub(super) fn put_views<'a>(out: &mut Vec<u8>, views: impl ExactSizeIterator<Item = &'a ViewDef>) {
    put_count(out, views.len());
    views.for_each(|view| put_view(out, view));
}

fn put_view(out: &mut Vec<u8>, view: &ViewDef) {
    out.extend_from_slice(&view.id.0.to_le_bytes());
    put_string(out, &view.name);
    let kind = match view.kind {
        ViewKind::Plain => 0,
        ViewKind::Materialized { is_populated } => 1 + u8::from(is_populated),
    };
    let (has_schema, has_options) = (view.schema != SchemaId::PUBLIC, !view.options.is_empty());
    out.push(kind + u8::from(has_schema) * HAS_OWN_SCHEMA + u8::from(has_options) * HAS_OPTIONS);
    if has_schema {
        out.extend_from_slice(&view.schema.0.to_le_bytes());
    }
    if has_options {
        put_short_count(out, view.options.len());
        view.options.iter().for_each(|option| put_string(out, option));
    }
    put_short_count(out, view.columns.len());
    for ViewColumn { name, query_name, type_oid, modifier } in &view.columns {
        put_string(out, name);
        put_string(out, query_name);
        out.extend_from_slice(&type_oid.to_le_bytes());
        out.extend_from_slice(&modifier.to_le_bytes());
    }
    put_string(out, &view.text);
    put_count(out, view.sources.len());
    view.sources.iter().for_each(|source| put_source(out, source));
    put_count(out, view.type_oids.len());
    view.type_oids.iter().for_each(|oid| out.extend_from_slice(&oid.to_le_bytes()));
    put_string(out, &view.time_zone);
    out.extend_from_slice(&view.read_at_us.to_le_bytes());
    out.extend_from_slice(&view.size.levels.to_le_bytes());
    out.extend_from_slice(&view.size.expressions.to_le_bytes());
}

fn put_source(out: &mut Vec<u8>, source: &ViewSource) {
    let is_system = matches!(source.relation, SourceRelation::System { .. });
    out.push(u8::from(source.schema.is_some()) * HAS_SCHEMA + u8::from(is_system) * IS_SYSTEM);
    source.schema.iter().for_each(|schema| put_string(out, schema));
    put_string(out, &source.name);
    out.extend_from_slice(&source.uses.to_le_bytes());
    match &source.relation {
        SourceRelation::System { schema } => put_string(out, schema),
        SourceRelation::Stored { id, columns } => {
            out.extend_from_slice(&id.0.to_le_bytes());
            put_short_count(out, columns.len());
            for SourceColumn { id, name, is_used } in columns {
                out.extend_from_slice(&id.0.to_le_bytes());
                put_string(out, name);
                out.push(u8::from(*is_used));
            }
        }
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u32::try_from(count).expect("a text has fewer names").to_le_bytes());
}

fn put_short_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u16::try_from(count).expect("relations have at most 1664 columns").to_le_bytes());
}

/// Reads all views.
pub(super) fn decode_views(reader: &mut ByteReader<'_>) -> Result<Vec<ViewDef>, ManifestError> {
    let count = reader.u32()? as usize;
    let mut views: Vec<ViewDef> = Vec::with_capacity(reader.bounded_capacity(count, VIEW_BYTES_MIN));
    for _ in 0..count {
        let view = take_view(reader)?;
        if views.last().is_some_and(|last| last.id >= view.id) {
            return Err(reader.malformed(format!("view id {} is out of order", view.id)));
        }
        views.push(view);
    }
    Ok(views)
}

fn take_view(reader: &mut ByteReader<'_>) -> Result<ViewDef, ManifestError> {
    let (id, name) = (TableId(reader.u32()?), take_name(reader)?);
    let flags = reader.u8()?;
    let kind = match flags & !KIND_FLAGS {
        0 => ViewKind::Plain,
        form @ (1 | 2) => ViewKind::Materialized { is_populated: form == 2 },
        _ => return Err(reader.malformed(format!("{flags} is no kind of view"))),
    };
    let schema = if flags & HAS_OWN_SCHEMA == 0 { SchemaId::PUBLIC } else { SchemaId(reader.u32()?) };
    let count = if flags & HAS_OPTIONS == 0 { 0 } else { usize::from(reader.u16()?) };
    let mut options = Vec::with_capacity(reader.bounded_capacity(count, 4));
    for _ in 0..count {
        options.push(reader.string()?);
    }
    let count = usize::from(reader.u16()?);
    let mut columns = Vec::with_capacity(reader.bounded_capacity(count, COLUMN_BYTES_MIN));
    for _ in 0..count {
        let (name, query_name) = (take_name(reader)?, take_name(reader)?);
        columns.push(ViewColumn { name, query_name, type_oid: reader.u32()?, modifier: reader.i32()? });
    }
    let text = reader.string()?;
    if text.len() > VIEW_TEXT_BYTES_MAX {
        return Err(reader.malformed(format!("the query of view \"{name}\" has {} bytes", text.len())));
    }
    let count = reader.u32()? as usize;
    let mut sources = Vec::with_capacity(reader.bounded_capacity(count, SOURCE_BYTES_MIN));
    for _ in 0..count {
        sources.push(take_source(reader)?);
    }
    let count = reader.u32()? as usize;
    let mut type_oids = Vec::with_capacity(reader.bounded_capacity(count, 4));
    for _ in 0..count {
        type_oids.push(reader.u32()?);
    }
    let (time_zone, read_at_us) = (reader.string()?, reader.i64()?);
    let size = ViewSize { levels: reader.u32()?, expressions: reader.u32()? };
    let text = text.into();
    Ok(ViewDef { id, schema, name, options, kind, columns, text, sources, type_oids, time_zone, read_at_us, size })
}

fn take_source(reader: &mut ByteReader<'_>) -> Result<ViewSource, ManifestError> {
    let flags = reader.u8()?;
    if flags & !(HAS_SCHEMA | IS_SYSTEM) != 0 {
        return Err(reader.malformed(format!("{flags:#x} has unknown flags of a name in a view")));
    }
    let schema = (flags & HAS_SCHEMA != 0).then(|| reader.string()).transpose()?;
    let (name, uses) = (reader.string()?, reader.u32()?);
    if flags & IS_SYSTEM != 0 {
        return Ok(ViewSource { schema, name, uses, relation: SourceRelation::System { schema: reader.string()? } });
    }
    let id = TableId(reader.u32()?);
    let count = usize::from(reader.u16()?);
    let mut columns = Vec::with_capacity(reader.bounded_capacity(count, SOURCE_COLUMN_BYTES_MIN));
    for _ in 0..count {
        let (id, name) = (ColumnId(reader.u16()?), take_name(reader)?);
        let is_used = match reader.u8()? {
            used @ (0 | 1) => used == 1,
            other => return Err(reader.malformed(format!("{other} does not say whether a column is read"))),
        };
        columns.push(SourceColumn { id, name, is_used });
    }
    Ok(ViewSource { schema, name, uses, relation: SourceRelation::Stored { id, columns } })
}

fn take_name(reader: &mut ByteReader<'_>) -> Result<String, ManifestError> {
    let name = reader.string()?;
    match (1..=NAME_BYTES_MAX).contains(&name.len()) {
        true => Ok(name),
        false => Err(reader.malformed(format!("\"{name}\" is no name of a view or a column"))),
    }
}

/// Whether the views and the rest of a manifest go together; if not, what does not.
pub(super) fn check_views(manifest: &Manifest) -> Result<(), String> {
    if let Some(view) = cyclic(manifest.views.iter()) {
        return Err(format!("view \"{}\" reads itself", view.name));
    }
    let relations = Relations::of(manifest);
    let mut names = HashSet::new();
    for view in &manifest.views {
        if view.id.0 >= manifest.next_ids.table || !names.insert((view.schema, &view.name)) {
            return Err(format!("view \"{}\": its id {} is not given out, or its name is taken", view.name, view.id));
        }
        relations.check(view).map_err(|what| format!("view \"{}\": {what}", view.name))?;
    }
    Ok(())
}

/// What a manifest has besides its views, by id and by name.
struct Relations<'a> {
    manifest: &'a Manifest,
    tables: HashMap<(SchemaId, &'a str), TableId>,
    others: HashSet<(SchemaId, &'a str)>,
    type_oids: HashSet<u32>,
}

impl<'a> Relations<'a> {
    fn of(manifest: &'a Manifest) -> Self {
        let tables = manifest.tables.iter().map(|table| ((table.def.schema, &*table.def.name), table.def.id)).collect();
        let types =
            manifest.types.iter().flat_map(|known| [&*known.name, &*known.array_name].map(|name| (known.schema, name)));
        let domains = || manifest.domains.values();
        let of_domains =
            domains().flat_map(|known| [&*known.name, &*known.array_name].map(|name| (known.schema, name)));
        let sequences = manifest.sequences.iter().map(|known| (known.def.schema, &*known.def.name));
        let others = types.chain(of_domains).chain(sequences).collect();
        let enums = manifest.types.iter().flat_map(|known| [known.oid, known.array_oid]);
        let type_oids = enums.chain(domains().flat_map(|known| [known.oid, known.array_oid])).collect();
        Self { manifest, tables, others, type_oids }
    }

    fn check(&self, view: &ViewDef) -> Result<(), String> {
        let name = (view.schema, &*view.name);
        let named = self.tables.get(&name).copied();
        let is_own = |id: TableId| view.is_materialized() && id == view.id;
        if self.others.contains(&name) || named.is_some_and(|id| !is_own(id)) {
            return Err("its name is taken".to_owned());
        }
        let is_sequence = self.manifest.sequences.iter().any(|known| known.def.id == view.id);
        if is_sequence
            || (named.is_some(), self.table(view.id).is_some()) != (view.is_materialized(), view.is_materialized())
        {
            return Err("a table or sequence has its id, or its table is not there".to_owned());
        }
        if let Some((id, _)) = view.stored_sources().find(|(id, columns)| !self.has(*id, columns)) {
            return Err(format!("relation {id} is not there, or a column of it is not"));
        }
        match view.type_oids.iter().find(|oid| !self.type_oids.contains(oid)) {
            Some(oid) => Err(format!("it has a type {oid:#x}")),
            None => Ok(()),
        }
    }

    fn table(&self, id: TableId) -> Option<&ManifestTable> {
        let tables = &self.manifest.tables;
        tables.binary_search_by_key(&id, |table| table.def.id).ok().map(|at| &tables[at])
    }

    /// Whether a table or view is there, with those columns of a table that are read.
    fn has(&self, id: TableId, columns: &[SourceColumn]) -> bool {
        match self.table(id) {
            Some(table) => {
                let mut read = columns.iter().filter(|column| column.is_used);
                read.all(|column| table.def.column_by_id(column.id).is_some())
            }
            None => self.manifest.views.binary_search_by_key(&id, |view| view.id).is_ok(),
        }
    }
}
