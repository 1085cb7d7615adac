//! The query of a CREATE VIEW, bound: its columns, and what it depends on.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use braid_base::{ColumnId, TableId};
use braid_base::{DomainType, DomainTypeId};
use braid_sql::binder::{Referenced, Statement as BoundStatement};
use braid_sql::functions::advisory::AdvisoryLocks;
use braid_sql::functions::backends::Backends;
use braid_sql::functions::in_formats::InFormats;
use braid_sql::functions::literal_notes::LiteralNotes;
use braid_sql::functions::numbers::random::SessionRandom;
use braid_sql::functions::{
    HeldPrivileges, Notifications, ObjectNames, PrivilegedObject, RoleRight, RowTypeName, Sequences, SessionFacts,
    SettingChanges,
};
use braid_sql::input::time_zones::TimeZone;
use braid_sql::pg_catalog::TypeId;
use braid_sql::{Formats, SqlError, SqlType};
use braid_storage::{Catalog, SourceColumn, SourceRelation, ViewSource};
use parking_lot::Mutex;

use super::operator_query::QuerySource;
use super::session_facts::StatementFacts;
use super::snapshot_tables::SnapshotTables;
use super::stored_formats::reads_otherwise;
use crate::deep_stack::on_deep_stack;
use crate::statement_context::StatementContext;
use crate::{EngineError, Statement};

/// The query of a view.
#[derive(Debug)]
pub(crate) struct ViewQuery {
    /// Names and types of its columns.
    pub columns: Vec<(String, SqlType)>,
    /// What its names of relations mean.
    pub sources: Vec<ViewSource>,
    /// The oids of enumerated types in its text and its columns.
    pub type_oids: BTreeSet<u32>,
    /// The oids of those types that its text names.
    pub named_types: BTreeSet<u32>,
    /// Whether it reads a temporary table or view.
    pub reads_temporary: bool,
}

impl ViewQuery {
    /// Binds the query of a statement that creates a view.
    ///
    /// # Errors
    /// Those of the query, and 0A000 for what would mean something else after a change of names.
    pub async fn of(context: &StatementContext, statement: &Statement) -> Result<Self, EngineError> {
        statement.size().check_for_planning()?;
        let (size, created) = (statement.size(), statement.clone());
        let work = async move |context: StatementContext| Ok(bound(&context, &created)?);
        context.plan_apart(size, work).await
    }
}

fn bound(context: &StatementContext, statement: &Statement) -> Result<ViewQuery, SqlError> {
    let source = QuerySource::default();
    let views = source.views(context, statement)?;
    views.check_within_view()?;
    on_deep_stack(statement.size().expressions + views.expressions, || {
        let tables = SnapshotTables::of(context);
        let names = NotedNames::default();
        let (text, query) = source.of(statement)?;
        let session = StatementFacts::of(context);
        let literals = session.formats().read_otherwise().then(|| LiteralNotes::of(text.into()));
        let facts = NotingSession { session, names: names.clone(), literals };
        let binding = BoundStatement::new(text, &facts, &tables).with_references();
        let bound = binding.binder().whole_query(&query)?;
        names.check()?;
        facts.check_literals()?;
        let columns: Vec<(String, SqlType)> =
            bound.outputs.into_iter().map(|output| (output.name.clone(), binding.declared_type(&output))).collect();
        let (named_types, mut type_oids) = (names.named_types(), names.type_oids());
        type_oids.extend(columns.iter().filter(|(_, sql_type)| is_own(sql_type.id)).map(|(_, own)| own.id.oid()));
        let referenced = binding.referenced();
        let schemas = referenced.iter().filter_map(|named| tables.snapshot().schema_named(&named.table.schema));
        let reads_temporary = schemas.into_iter().any(|schema| tables.snapshot().is_temporary(schema));
        let sources = sources_of(tables.snapshot(), referenced)?;
        Ok(ViewQuery { columns, sources, type_oids, named_types, reads_temporary })
    })
}

/// Whether a type is an enumerated type, or the array type of one.
fn is_own(id: TypeId) -> bool {
    id.oid() != id.0
}

/// Each name once, with all columns that are read through it.
fn sources_of(catalog: &Catalog, referenced: Vec<Referenced>) -> Result<Vec<ViewSource>, SqlError> {
    let mut sources: Vec<ViewSource> = Vec::new();
    for named in referenced {
        let is_same = |source: &&mut ViewSource| source.schema == named.schema && source.name == named.name;
        match sources.iter_mut().find(is_same) {
            Some(source) => unite(source, &named),
            None => sources.push(source_of(catalog, named)?),
        }
    }
    Ok(sources)
}

fn source_of(catalog: &Catalog, named: Referenced) -> Result<ViewSource, SqlError> {
    let Referenced { schema, name, table, is_read } = named;
    let stored = u32::try_from(table.id).ok().map(TableId);
    let relation = match stored {
        // It is computed, as the system's relations are, and may go.
        None if catalog.schema_named(&table.schema).is_some() => {
            return Err(SqlError::unsupported(format!("a view that reads sequence \"{name}\" is not supported")));
        }
        None => SourceRelation::System { schema: table.schema.clone() },
        Some(id) => {
            let def = catalog.by_id(id).map(|version| &version.def);
            let id_at = |at: usize| def.map_or(ColumnId(at as u16), |def| def.columns[at].id);
            let column = |((at, column), is_used): ((usize, &braid_sql::tables::TableColumn), bool)| SourceColumn {
                id: id_at(at),
                name: column.name.clone(),
                is_used,
            };
            SourceRelation::Stored { id, columns: table.columns.iter().enumerate().zip(is_read).map(column).collect() }
        }
    };
    Ok(ViewSource { schema, name, uses: 1, relation })
}

/// Adds another use of a name.
fn unite(source: &mut ViewSource, other: &Referenced) {
    source.uses = source.uses.saturating_add(1);
    if let SourceRelation::Stored { columns, .. } = &mut source.relation {
        columns.iter_mut().zip(&other.is_read).for_each(|(column, is_read)| column.is_used |= *is_read);
    }
}

/// The names that binding has looked up by itself, not as names of tables.
#[derive(Clone, Debug, Default)]
struct NotedNames(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    /// The oids of types of users that are named in the text, or in the texts of views that it reads.
    type_oids: BTreeSet<u32>,
    /// The oids of those that the text itself names.
    named_types: BTreeSet<u32>,
    /// A name of a relation, schema or role that a literal stands for.
    name: Option<String>,
}

impl NotedNames {
    fn type_oids(&self) -> BTreeSet<u32> {
        self.0.lock().type_oids.clone()
    }

    fn named_types(&self) -> BTreeSet<u32> {
        self.0.lock().named_types.clone()
    }

    fn note(&self, name: &str) {
        self.0.lock().name = Some(name.to_owned());
    }

    /// Refuses literals like `'t'::regclass`: PostgreSQL keeps the object that they mean.
    fn check(&self) -> Result<(), SqlError> {
        match &self.0.lock().name {
            None => Ok(()),
            Some(name) => Err(SqlError::unsupported(format!(
                "a literal in a view that names an object (\"{name}\") is not supported"
            ))),
        }
    }
}

/// The session of a CREATE VIEW, which notes what is looked up.
struct NotingSession<'a> {
    session: StatementFacts<'a>,
    names: NotedNames,
    /// In a session that reads literals otherwise than stored texts are read.
    literals: Option<LiteralNotes>,
}

impl NotingSession<'_> {
    /// Refuses literals that do not mean the same in the text of the view.
    fn check_literals(&self) -> Result<(), SqlError> {
        let stored = InFormats::of_stored_texts(&self.session);
        let notes = self.literals.as_ref().map(LiteralNotes::to_vec).unwrap_or_default();
        match notes.iter().all(|note| note.is_value_of(&note.written, &stored)) {
            true => Ok(()),
            false => Err(reads_otherwise("a view")),
        }
    }
}

impl fmt::Debug for NotingSession<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotingSession").field("names", &self.names).finish_non_exhaustive()
    }
}

impl SessionFacts for NotingSession<'_> {
    fn zone(&self) -> TimeZone {
        self.session.zone()
    }

    fn zone_name(&self) -> String {
        self.session.zone_name()
    }

    fn formats(&self) -> Formats {
        self.session.formats()
    }

    fn literal_notes(&self) -> Option<&LiteralNotes> {
        self.literals.as_ref()
    }

    fn transaction_us(&self) -> i64 {
        self.session.transaction_us()
    }

    fn statement_us(&self) -> i64 {
        self.session.statement_us()
    }

    fn clock_us(&self) -> i64 {
        self.session.clock_us()
    }

    fn user(&self) -> String {
        self.session.user()
    }

    fn session_user(&self) -> String {
        self.session.session_user()
    }

    fn database(&self) -> String {
        self.session.database()
    }

    fn session_id(&self) -> i32 {
        self.session.session_id()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.session.setting(name)
    }

    fn objects(&self) -> Option<Arc<dyn ObjectNames>> {
        let objects = self.session.objects()?;
        Some(Arc::new(NotingNames { objects, names: self.names.clone() }))
    }

    fn random(&self) -> Option<&SessionRandom> {
        self.session.random()
    }

    fn notifications(&self) -> Option<Arc<dyn Notifications>> {
        self.session.notifications()
    }

    fn sequences(&self) -> Option<Arc<dyn Sequences>> {
        self.session.sequences()
    }

    fn backends(&self) -> Option<Arc<dyn Backends>> {
        self.session.backends()
    }

    fn advisory_locks(&self) -> Option<Arc<dyn AdvisoryLocks>> {
        self.session.advisory_locks()
    }

    fn setting_changes(&self) -> Option<Arc<dyn SettingChanges>> {
        self.session.setting_changes()
    }
}

/// The names of a database, of which it is noted which are looked up.
#[derive(Debug)]
struct NotingNames {
    objects: Arc<dyn ObjectNames>,
    names: NotedNames,
}

impl ObjectNames for NotingNames {
    fn relation_id(&self, schema: Option<&str>, name: &str) -> Option<u32> {
        self.names.note(name);
        self.objects.relation_id(schema, name)
    }

    fn relation(&self, id: u32) -> Option<(String, String)> {
        self.objects.relation(id)
    }

    fn schema_id(&self, name: &str) -> Option<u32> {
        self.names.note(name);
        self.objects.schema_id(name)
    }

    fn commit_number(&self) -> u64 {
        self.objects.commit_number()
    }

    fn schema(&self, id: u32) -> Option<String> {
        self.objects.schema(id)
    }

    fn role_id(&self, name: &str) -> Option<u32> {
        self.names.note(name);
        self.objects.role_id(name)
    }

    fn role(&self, id: u32) -> Option<String> {
        self.objects.role(id)
    }

    fn type_id(&self, schema: Option<&str>, name: &str) -> Option<TypeId> {
        let found = self.type_id_within_view(schema, name);
        self.names.0.lock().named_types.extend(found.filter(|id| is_own(*id)).map(TypeId::oid));
        found
    }

    fn type_id_within_view(&self, schema: Option<&str>, name: &str) -> Option<TypeId> {
        let found = self.objects.type_id(schema, name);
        self.names.0.lock().type_oids.extend(found.filter(|id| is_own(*id)).map(TypeId::oid));
        found
    }

    fn type_id_of_literal(&self, schema: Option<&str>, name: &str) -> Option<TypeId> {
        let found = self.objects.type_id(schema, name);
        if found.is_some() {
            self.names.note(name);
        }
        found
    }

    fn schema_of_type(&self, id: TypeId) -> Option<String> {
        self.objects.schema_of_type(id)
    }

    fn type_of_oid(&self, oid: u32) -> Option<TypeId> {
        self.objects.type_of_oid(oid)
    }

    fn domain(&self, domain: DomainTypeId) -> Arc<DomainType> {
        self.objects.domain(domain)
    }

    fn row_type(&self, oid: u32) -> Option<RowTypeName> {
        self.objects.row_type(oid)
    }

    fn sequence_of_column(&self, relation: u32, column: &str) -> Option<u32> {
        self.objects.sequence_of_column(relation, column)
    }

    fn has_column(&self, relation: u32, name: &str) -> bool {
        self.objects.has_column(relation, name)
    }

    fn held(&self, role: u32, object: PrivilegedObject<'_>) -> Option<HeldPrivileges> {
        self.objects.held(role, object)
    }

    fn has_role(&self, member: u32, role: u32, right: RoleRight) -> bool {
        self.objects.has_role(member, role, right)
    }

    fn relation_bytes(&self, id: u32) -> Option<u64> {
        self.objects.relation_bytes(id)
    }

    fn database_bytes(&self) -> u64 {
        self.objects.database_bytes()
    }
}
