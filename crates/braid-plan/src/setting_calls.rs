//! Queries that change settings and read them.
//!
//! A plan asks a stable function once, and rows are shown in the zone and the formats of their query. PostgreSQL asks for each row, and so sees what
//! `set_config` has done for the rows before. A query of rows with both is refused when it runs; it may be described, as rows of VALUES are
//! stored without a plan.

use braid_sql::expression::{FunctionCall, Node};
use braid_sql::pg_catalog::{TypeId, Volatility, pg_catalog};
use braid_sql::relation::{Query, Relation};
use braid_sql::{Expression, SqlError, Value};

/// Types whose values are shown and read in the session's zone, and those that may have such values in them.
const OF_ZONE: &[TypeId] = &[TypeId::TIMESTAMPTZ, TypeId::TIMETZ, TypeId::RECORD];

/// Types whose values are shown and read in the session's formats, and those that may have such values in them.
const OF_FORMATS: &[TypeId] = &[
    TypeId::DATE,
    TypeId::TIMESTAMP,
    TypeId::TIMESTAMPTZ,
    TypeId::INTERVAL,
    TypeId::BYTEA,
    TypeId::FLOAT4,
    TypeId::FLOAT8,
    TypeId::RECORD,
];

/// The settings of the formats.
const FORMATS: &[&str] = &["datestyle", "intervalstyle", "bytea_output", "extra_float_digits"];

/// Types whose values are names, which are looked for along the search path.
const OF_PATH: &[TypeId] =
    &[TypeId::REGCLASS, TypeId::REGTYPE, TypeId::REGPROC, TypeId::REGPROCEDURE, TypeId::REGOPER, TypeId::REGOPERATOR];

/// Types of what a clock in the session's zone shows, as stable functions give it.
const SHOWN_BY_CLOCKS: &[TypeId] = &[TypeId::DATE, TypeId::TIME, TypeId::TIMESTAMP];

/// How the functions are called that look for names, or ask what is found.
const PATH_FUNCTIONS: &[&str] = &[
    "current_schema",
    "to_reg",
    "format_type",
    "pg_get_",
    "has_",
    "row_security_active",
    "nextval",
    "currval",
    "setval",
];

/// How the functions are called that ask who the session is.
const ROLE_FUNCTIONS: &[&str] =
    &["current_user", "current_role", "session_user", "user", "has_", "pg_has_role", "row_security_active"];

/// What settings are asked for, or changed.
#[derive(Clone, Copy, Debug, Default)]
struct Settings {
    /// Any, by `current_setting`.
    any: bool,
    zone: bool,
    /// Those of the formats of values.
    formats: bool,
    path: bool,
    role: bool,
}

/// What a query does with settings.
#[derive(Clone, Copy, Debug, Default)]
struct SettingUses {
    /// Calls of `set_config`.
    changes: usize,
    changed: Settings,
    read: Settings,
}

/// Refuses a query that does both, by itself or with the rows that RETURNING makes of its own.
///
/// # Errors
/// 0A000
pub fn check_settings(query: &Query, returned: Option<&Query>) -> Result<(), SqlError> {
    let mut uses = Uses::default();
    uses.add_relation(&query.relation);
    if let Some(returned) = returned {
        uses.add_relation(&returned.relation);
    }
    let mut all = uses.own.and(uses.inner);
    if all.changes == 0 || returned.is_none() && is_one_row(&query.relation) && !uses.inner.is_any() {
        return Ok(());
    }
    if all.changes > 1 || returned.is_some() {
        // What computes the new value of the only change is asked before it.
        all = all.and(uses.arguments);
    }
    all.read.note_outputs(query);
    if let Some(returned) = returned {
        all.read.note_outputs(returned);
    }
    match all.changed.meets(all.read) {
        Some(what) => {
            let message = format!("set_config and {what} in one query of rows are not supported");
            Err(SqlError::unsupported(message))
        }
        None => Ok(()),
    }
}

/// Whether it has one row: a query without FROM. Its expressions are computed in turn, but not its subqueries.
fn is_one_row(relation: &Relation) -> bool {
    match relation {
        Relation::OneRow => true,
        Relation::Map { input, .. } => is_one_row(input),
        _ => false,
    }
}

fn is_of(id: TypeId, types: &[TypeId]) -> bool {
    types.contains(&pg_catalog().element_of_array(id).unwrap_or(id))
}

/// What is used outside of subqueries, within them, and to compute the new values of settings.
#[derive(Default)]
struct Uses {
    own: SettingUses,
    inner: SettingUses,
    arguments: SettingUses,
    depth: usize,
    in_argument: bool,
}

impl Uses {
    fn add_relation(&mut self, relation: &Relation) {
        relation.expressions().into_iter().for_each(|expression| self.add(expression));
        relation.inputs().into_iter().for_each(|input| self.add_relation(input));
    }

    fn add(&mut self, expression: &Expression) {
        let was_in_argument = self.in_argument;
        let uses = match (self.in_argument, self.depth) {
            (true, _) => &mut self.arguments,
            (false, 0) => &mut self.own,
            (false, _) => &mut self.inner,
        };
        match &expression.node {
            Node::Call(call) if uses.add_call(call, expression) => self.in_argument = true,
            Node::ThroughText(cast) => uses.read.note_types(&[cast.argument.sql_type.id, expression.sql_type.id]),
            Node::EachElement { array, .. } => uses.read.note_types(&[array.sql_type.id, expression.sql_type.id]),
            Node::Subquery(subquery) => {
                self.depth += 1;
                self.add_relation(&subquery.relation);
                self.depth -= 1;
            }
            _ => {}
        }
        expression.operands().into_iter().for_each(|operand| self.add(operand));
        self.in_argument = was_in_argument;
    }
}

impl SettingUses {
    /// Whether it is a call of `set_config`.
    fn add_call(&mut self, call: &FunctionCall, expression: &Expression) -> bool {
        let name = pg_catalog().function(call.function.id).name;
        match name {
            "set_config" => {
                self.changes += 1;
                self.changed = self.changed.and(changed_by(&call.arguments[0]));
                return true;
            }
            "current_setting" => self.read.any = true,
            _ => {}
        }
        self.read.path |= PATH_FUNCTIONS.iter().any(|prefix| name.starts_with(prefix));
        self.read.role |= ROLE_FUNCTIONS.iter().any(|prefix| name.starts_with(prefix));
        if call.volatility == Volatility::Stable && !is_of_statement(name) {
            self.read.note_types(&call.argument_types.iter().map(|known| known.id).collect::<Vec<_>>());
            self.read.note_types(&[expression.sql_type.id]);
            self.read.zone |= is_of(expression.sql_type.id, SHOWN_BY_CLOCKS);
        }
        false
    }

    fn and(self, other: Self) -> Self {
        Self {
            changes: self.changes + other.changes,
            changed: self.changed.and(other.changed),
            read: self.read.and(other.read),
        }
    }

    fn is_any(self) -> bool {
        let Settings { any, zone, formats, path, role } = self.read;
        self.changes > 0 || any || zone || formats || path || role
    }
}

/// Whether a function gives moments that are the same in all zones.
fn is_of_statement(name: &str) -> bool {
    ["now", "transaction_timestamp", "statement_timestamp"].contains(&name)
}

/// What a change of the setting of this name changes.
fn changed_by(name: &Expression) -> Settings {
    let all = Settings { any: true, zone: true, formats: true, path: true, role: true };
    let Node::Constant(name) = &name.node else { return all };
    let name = match name {
        Value::Null => String::new(),
        name => name.as_text().to_ascii_lowercase(),
    };
    Settings {
        any: true,
        zone: name == "timezone",
        formats: FORMATS.contains(&name.as_str()),
        path: name == "search_path",
        role: ["role", "session_authorization"].contains(&name.as_str()),
    }
}

impl Settings {
    fn note_types(&mut self, types: &[TypeId]) {
        self.zone |= types.iter().any(|id| is_of(*id, OF_ZONE));
        self.formats |= types.iter().any(|id| is_of(*id, OF_FORMATS));
        self.path |= types.iter().any(|id| is_of(*id, OF_PATH));
    }

    fn note_outputs(&mut self, query: &Query) {
        query.outputs.iter().for_each(|output| self.note_types(&[output.sql_type.id]));
    }

    fn and(self, other: Self) -> Self {
        Self {
            any: self.any || other.any,
            zone: self.zone || other.zone,
            formats: self.formats || other.formats,
            path: self.path || other.path,
            role: self.role || other.role,
        }
    }

    /// What is changed and read.
    fn meets(self, read: Self) -> Option<&'static str> {
        match () {
            () if self.any && read.any => Some("current_setting"),
            () if self.zone && read.zone => Some("times with a zone"),
            () if self.formats && read.formats => Some("values of which it changes the format"),
            () if self.path && read.path => Some("names that are looked for"),
            () if self.role && read.role => Some("the session's role"),
            () => None,
        }
    }
}
