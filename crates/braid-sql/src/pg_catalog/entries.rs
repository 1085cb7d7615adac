//! The rows of the catalog's tables.

use super::TypeId;

/// `pg_proc.oid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// `pg_type.typtype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// Values of their own.
    Base,
    /// A pseudo type: arguments of functions only.
    Pseudo,
    /// A range or a multirange.
    Range,
    /// An enumerated type of a database.
    Enum,
    /// A domain of a database.
    Domain,
}

/// `pg_type.typcategory`: the letter of PostgreSQL's documentation, table "typcategory Codes".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeCategory(pub char);

impl TypeCategory {
    /// Arrays.
    pub const ARRAY: Self = Self('A');
    /// Enumerated types.
    pub const ENUM: Self = Self('E');
    /// Strings.
    pub const STRING: Self = Self('S');
    /// The type of literals whose type is not known yet.
    pub const UNKNOWN: Self = Self('X');
}

/// A type.
#[derive(Debug)]
pub struct TypeEntry {
    /// Its number.
    pub id: TypeId,
    /// `typname`, such as `int4`. [`type_names`](crate::types::type_names) has the names of the standard.
    pub name: &'static str,
    /// What kind of type it is.
    pub kind: TypeKind,
    /// The category, which chooses among candidates.
    pub category: TypeCategory,
    /// Whether it is preferred within its category.
    pub is_preferred: bool,
    /// Bytes of a value; -1 if they vary.
    pub length: i16,
    /// What a subscript of it gives: arrays have elements, and `name`, `point` and the like have.
    pub element: Option<TypeId>,
    /// Arrays of it.
    pub array: Option<TypeId>,
    /// Text to value. Its arguments are the text, the element type (an `oid`) and the modifier, or only the text.
    pub input: FunctionId,
    /// Value to text.
    pub output: FunctionId,
}

/// Where a cast is applied without being asked for; each context includes those above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// Anywhere in an expression.
    Implicit,
    /// Where a value is stored in a column.
    Assignment,
    /// Only where it is written.
    Explicit,
}

/// How a cast computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastMethod {
    /// By this function.
    Function(FunctionId),
    /// Not at all: the values are the same.
    Binary,
    /// Through its text: output of one type, input of the other.
    InputOutput,
}

/// A cast.
#[derive(Debug)]
pub struct CastEntry {
    /// From this type.
    pub source: TypeId,
    /// To this type. A cast from a type to itself applies its modifier.
    pub target: TypeId,
    /// Where it is applied.
    pub context: CastContext,
    /// How.
    pub method: CastMethod,
}

/// An operator.
#[derive(Debug)]
pub struct OperatorEntry {
    /// `pg_operator.oid`.
    pub id: u32,
    /// `+`
    pub name: &'static str,
    /// The types of its operands: the right one alone for a prefix operator.
    pub operands: Vec<TypeId>,
    /// Its result.
    pub result: TypeId,
    /// What computes it.
    pub function: FunctionId,
}

impl OperatorEntry {
    /// The type of the left operand; `None` for a prefix operator.
    pub fn left(&self) -> Option<TypeId> {
        (self.operands.len() > 1).then(|| self.operands[0])
    }

    /// The type of the right operand.
    pub fn right(&self) -> TypeId {
        self.operands[self.operands.len() - 1]
    }
}

/// `pg_proc.prokind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// An ordinary function.
    Function,
    /// An aggregate.
    Aggregate,
    /// A window function.
    Window,
}

/// `pg_proc.provolatile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// The same for the same arguments, for ever.
    Immutable,
    /// The same within a statement: it may read settings and the time.
    Stable,
    /// Another with each call.
    Volatile,
}

/// A function, aggregate or window function.
#[derive(Debug)]
pub struct FunctionEntry {
    /// Its number.
    pub id: FunctionId,
    /// Its name. Several functions have it.
    pub name: &'static str,
    /// What kind it is.
    pub kind: FunctionKind,
    /// When it gives the same.
    pub volatility: Volatility,
    /// Whether an argument that is null makes the result null, without a call.
    pub is_strict: bool,
    /// Whether it returns rows.
    pub returns_set: bool,
    /// The type of its result.
    pub result: TypeId,
    /// The types of its arguments; of a variadic function the last is an array.
    pub arguments: Vec<TypeId>,
    /// For a variadic function, the type of each further argument (`any` for VARIADIC "any").
    pub variadic: Option<TypeId>,
    /// Names of the arguments, `-` for none; empty if no argument has a name.
    pub argument_names: Vec<&'static str>,
    /// SQL of the last arguments' defaults.
    pub defaults: Vec<&'static str>,
    /// Names and types of the columns that it returns, if these are several or named.
    pub columns: Vec<(&'static str, TypeId)>,
    /// The name of the C function behind it; several may have one. `None` for those that are written in SQL.
    pub symbol: Option<&'static str>,
}

impl FunctionEntry {
    /// `name(type type)`: no two functions have the same.
    pub fn signature(&self) -> String {
        let types: Vec<&str> = self.arguments.iter().map(|id| super::pg_catalog().type_entry(*id).name).collect();
        format!("{}({})", self.name, types.join(" "))
    }

    /// Whether it is an ordered-set aggregate, which is called with WITHIN GROUP.
    pub fn is_ordered_set(&self) -> bool {
        const ORDERED_SETS: &[&str] = &["percentile_cont", "percentile_disc", "mode"];
        const HYPOTHETICAL_SETS: &[&str] = &["rank", "dense_rank", "percent_rank", "cume_dist"];
        self.kind == FunctionKind::Aggregate
            && (ORDERED_SETS.contains(&self.name) || HYPOTHETICAL_SETS.contains(&self.name))
    }

    /// The fewest arguments of a call.
    pub fn arguments_min(&self) -> usize {
        self.arguments.len() - self.defaults.len()
    }
}
