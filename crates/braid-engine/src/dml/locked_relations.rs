//! The items of FROM whose rows a query locks, by its locking clauses.

use std::sync::Arc;

use braid_sql::syntax::walk::{Tree, Walk};
use braid_sql::syntax::{LockStrength, LockWait, LockingClause};
use braid_sql::tables::{locked_table_schema, row_ids_name};
use braid_storage::{Catalog, Privileges, TableDef};
use sqlparser::ast::{Expr, Ident, JoinOperator, ObjectName, TableAlias, TableFactor, TableWithJoins};

use crate::access::AccessCheck;
use crate::names::fold;
use crate::session_locks::LockMode;
use crate::statement_context::StatementContext;
use crate::table_names::{Named, named_table};
use crate::{EngineError, SqlState};

/// A table whose rows are locked.
#[derive(Clone, Debug)]
pub(super) struct LockedTable {
    pub def: Arc<TableDef>,
    pub strength: LockStrength,
    pub wait: LockWait,
    /// The identities of its rows.
    pub ids: Expr,
}

/// What the names in FROM mean.
pub(super) struct Names<'a> {
    pub context: &'a StatementContext,
    pub snapshot: &'a Catalog,
    /// Whether a name is that of a query of WITH.
    pub is_common_table: &'a dyn Fn(&str) -> bool,
}

/// An item of FROM.
struct Item {
    name: Option<String>,
    kind: ItemKind,
    /// Whether an outer join puts nulls in the places of its rows.
    is_nullable: bool,
}

/// What an item is.
enum ItemKind {
    Table(Arc<TableDef>),
    /// A table of the system, or a view of one: no statement changes its rows.
    System,
    View(String),
    MaterializedView(String),
    Sequence(String),
    /// A query of WITH.
    CommonTable,
    /// A subquery, and whether it reads no tables.
    Subquery(bool),
    Function,
    Join,
    /// Nothing of this name, for the binder to refuse.
    Unknown,
}

impl Names<'_> {
    /// The tables whose rows are locked. They are called in `from` so that the binder knows the identities of their rows.
    ///
    /// # Errors
    /// For names that are not there (42P01), and for what has no rows to lock (0A000, 42809).
    pub fn locked_tables(
        &self,
        from: &mut [TableWithJoins],
        clauses: &[LockingClause<'_>],
    ) -> Result<Vec<LockedTable>, EngineError> {
        let mut items = Vec::new();
        for table in &mut *from {
            self.add_joined(table, &mut items)?;
        }
        let mut wanted: Vec<Option<(LockStrength, LockWait)>> = vec![None; items.len()];
        for LockingClause { strength, of, wait } in clauses {
            let mut want = |at: usize| {
                let (before, waited) = wanted[at].unwrap_or((*strength, *wait));
                wanted[at] = Some((before.max(*strength), waited.max(*wait)));
            };
            if of.is_empty() {
                for (at, item) in items.iter().enumerate() {
                    if item.check_unnamed(*strength)? {
                        want(at);
                    }
                }
            }
            for name in of {
                let name = fold(name);
                let at = items.iter().position(|item| item.name.as_deref() == Some(&name)).ok_or_else(|| {
                    let message = format!("relation \"{name}\" in {strength} clause not found in FROM clause");
                    EngineError::new(SqlState::UndefinedTable, message)
                })?;
                if items[at].check_named(*strength)? {
                    want(at);
                }
            }
        }
        let mut numbers = Numbers(0);
        let locked_at = |(at, wanted): (usize, Option<(LockStrength, LockWait)>)| match (wanted, &items[at].kind) {
            (Some((strength, wait)), ItemKind::Table(def)) => {
                let ids = row_ids_name(&locked_table_schema(def.schema.0, at));
                let ids = Expr::CompoundIdentifier(vec![Ident::with_quote('"', ids); 2]);
                Some(LockedTable { def: def.clone(), strength, wait, ids })
            }
            _ => None,
        };
        let wanted: Vec<Option<LockedTable>> = wanted.into_iter().enumerate().map(locked_at).collect();
        for locked in wanted.iter().flatten() {
            self.context.use_table(locked.def.id, LockMode::RowShare)?;
        }
        if let Some(access) = AccessCheck::now(self.context) {
            let mut locked = wanted.iter().flatten();
            locked.try_for_each(|locked| access.check_columns(&locked.def, &[], Privileges::UPDATE))?;
        }
        for table in from {
            numbers.rename(table, &wanted);
        }
        Ok(wanted.into_iter().flatten().collect())
    }

    fn add_joined(&self, table: &TableWithJoins, items: &mut Vec<Item>) -> Result<(), EngineError> {
        let first = items.len();
        self.add(&table.relation, items)?;
        for join in &table.joins {
            let joined = items.len();
            self.add(&join.relation, items)?;
            let (left, right) = match join.join_operator {
                JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => (false, true),
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) => (true, false),
                JoinOperator::FullOuter(_) => (true, true),
                _ => (false, false),
            };
            items[first..joined].iter_mut().for_each(|item| item.is_nullable |= left);
            items[joined..].iter_mut().for_each(|item| item.is_nullable |= right);
        }
        Ok(())
    }

    fn add(&self, factor: &TableFactor, items: &mut Vec<Item>) -> Result<(), EngineError> {
        let called = |alias: &Option<TableAlias>| alias.as_ref().map(|alias| fold(&alias.name));
        let (name, kind) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let own = name.0.last().and_then(|part| part.as_ident()).map(fold);
                (called(alias).or(own), self.kind_of(name)?)
            }
            TableFactor::Derived { subquery, alias, .. } => {
                let mut read = ReadsTables(false);
                subquery.walk(&mut read);
                (called(alias), ItemKind::Subquery(!read.0))
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                self.add_joined(table_with_joins, items)?;
                if alias.is_none() {
                    return Ok(());
                }
                (called(alias), ItemKind::Join)
            }
            TableFactor::Table { name, alias, .. } | TableFactor::Function { name, alias, .. } => {
                let own = name.0.last().and_then(|part| part.as_ident()).map(fold);
                (called(alias).or(own), ItemKind::Function)
            }
            TableFactor::TableFunction { alias, .. } | TableFactor::UNNEST { alias, .. } => {
                (called(alias), ItemKind::Function)
            }
            _ => (None, ItemKind::Function),
        };
        items.push(Item { name, kind, is_nullable: false });
        Ok(())
    }

    fn kind_of(&self, name: &ObjectName) -> Result<ItemKind, EngineError> {
        if let [part] = &name.0[..]
            && let Some(name) = part.as_ident().map(fold)
            && (self.is_common_table)(&name)
        {
            return Ok(ItemKind::CommonTable);
        }
        Ok(match named_table(self.context, self.snapshot, name)? {
            Named::Table(def) => ItemKind::Table(def),
            Named::View(view) if view.is_materialized() => ItemKind::MaterializedView(view.name.clone()),
            Named::View(view) => ItemKind::View(view.name.clone()),
            Named::Sequence(known) => ItemKind::Sequence(known.definition.name.clone()),
            Named::System(..) => ItemKind::System,
            Named::Index(_) | Named::Nothing(..) | Named::NoSchema(..) => ItemKind::Unknown,
        })
    }
}

impl Item {
    /// Whether a clause without names locks rows of it.
    fn check_unnamed(&self, strength: LockStrength) -> Result<bool, EngineError> {
        match self.kind {
            ItemKind::CommonTable | ItemKind::Function | ItemKind::Join => Ok(false),
            _ => self.check_named(strength),
        }
    }

    /// Whether a clause with its name locks rows of it.
    fn check_named(&self, strength: LockStrength) -> Result<bool, EngineError> {
        let not_applied = |what: &str| Err(EngineError::unsupported(format!("{strength} cannot be applied to {what}")));
        let no_rows = |what: &str, name: &str| {
            let message = format!("cannot lock rows in {what} \"{name}\"");
            Err(EngineError::new(SqlState::WrongObjectType, message))
        };
        match &self.kind {
            ItemKind::Table(_) | ItemKind::View(_) | ItemKind::Subquery(false) if self.is_nullable => {
                not_applied("the nullable side of an outer join")
            }
            ItemKind::Table(_) => Ok(true),
            ItemKind::System | ItemKind::Unknown | ItemKind::Subquery(true) => Ok(false),
            ItemKind::View(name) => {
                Err(EngineError::unsupported(format!("{strength} of the view \"{name}\" is not supported"))
                    .with_hint("Lock the rows of its tables."))
            }
            ItemKind::Subquery(false) => {
                Err(EngineError::unsupported(format!("{strength} of a subquery in FROM is not supported"))
                    .with_hint("Put the clause into the subquery, or name the other tables behind OF."))
            }
            ItemKind::MaterializedView(name) => no_rows("materialized view", name),
            ItemKind::Sequence(name) => no_rows("sequence", name),
            ItemKind::CommonTable => not_applied("a WITH query"),
            ItemKind::Function => not_applied("a function"),
            ItemKind::Join => not_applied("a join"),
        }
    }
}

/// The number of the next item, in the order of [`Names::add_joined`].
struct Numbers(usize);

impl Numbers {
    /// Calls the locked tables by names with which the binder knows the identities of their rows.
    fn rename(&mut self, table: &mut TableWithJoins, locked: &[Option<LockedTable>]) {
        let joined = table.joins.iter_mut().map(|join| &mut join.relation);
        for factor in std::iter::once(&mut table.relation).chain(joined) {
            match factor {
                TableFactor::NestedJoin { table_with_joins, alias } => {
                    self.rename(table_with_joins, locked);
                    self.0 += usize::from(alias.is_some());
                }
                TableFactor::Table { name, .. } => {
                    self.rename_table(name, locked);
                    self.0 += 1;
                }
                _ => self.0 += 1,
            }
        }
    }

    fn rename_table(&self, name: &mut ObjectName, locked: &[Option<LockedTable>]) {
        let own = name.0.last().and_then(|part| part.as_ident());
        if let (Some(LockedTable { def, .. }), Some(own)) = (&locked[self.0], own) {
            let schema = Ident::with_quote('"', locked_table_schema(def.schema.0, self.0));
            let own = Ident { span: own.span, ..Ident::with_quote('"', &def.name) };
            *name = ObjectName::from(vec![schema, own]);
        }
    }
}

/// Whether a query reads tables.
struct ReadsTables(bool);

impl Walk for ReadsTables {
    fn enter_relation(&mut self, _: &ObjectName) {
        self.0 = true;
    }
}
