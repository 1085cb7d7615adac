//! Expressions with their types: what the binder makes of syntax, and what is evaluated. Parts of an expression are its operands.
//!
//! Every operator and cast is a call of a function of the catalog, with its implementation beside it. Arguments have exactly the types
//! that the function declares, because the binder adds casts.

use std::cell::Cell;
use std::sync::Arc;

use braid_base::DomainTypeId;
use smallvec::SmallVec;
use sqlparser::tokenizer::Location;

use crate::SqlType;
use crate::functions::Function;
use crate::functions::sets::SetFunction;
use crate::pg_catalog::{FunctionEntry, TypeId, Volatility, pg_catalog};
use crate::relation::{ColumnId, Subquery, SubqueryKind};
use crate::values::{RecordType, Value};

/// How the names of functions begin that may take much longer than their arguments are long: powers and roots of many digits, regular
/// expressions, containment of arrays in arrays, paths.
const LONG_FUNCTIONS: &[&str] = &[
    "exp",
    "factorial",
    "jsonb_contain",
    "jsonb_path",
    "ln",
    "log",
    "numeric_",
    "pow",
    "sqrt",
    "regexp",
    "similar",
    "substring",
    "textregex",
    "texticregex",
    "nameregex",
    "nameicregex",
    "bpcharregex",
    "bpcharicregex",
];

/// Whether a function of such a name takes few steps with arguments of these types: floats have few digits, and `substring(text, integer)`
/// is no search.
fn is_of_few_steps(name: &str, argument_types: &[SqlType]) -> bool {
    match name {
        "factorial" => false,
        "substring" => argument_types.get(1).is_some_and(|second| second.id == TypeId::INT4),
        _ => argument_types.iter().all(|argument| [TypeId::FLOAT4, TypeId::FLOAT8].contains(&argument.id)),
    }
}

/// The parts of an expression or an operator: seldom more than four, which need no allocation.
pub type Few<T> = SmallVec<[T; 4]>;

/// So many parts.
pub(crate) fn few<T, const COUNT: usize>(parts: [T; COUNT]) -> Few<T> {
    parts.into_iter().collect()
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// What it computes.
    pub node: Node,
    /// The type of its value.
    pub sql_type: SqlType,
}

/// What an expression computes.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A value. A literal whose type is not known yet is a text of type `unknown`.
    Constant(Value),
    /// The value of `$1` is parameter 0.
    Parameter(usize),
    /// A column, and where it is written.
    Column(ColumnId, Origin),
    /// A query.
    Subquery(Box<Subquery>),
    /// A call.
    Call(Box<FunctionCall>),
    /// A cast that PostgreSQL does not compute, because the values are the same bytes.
    Relabel(Box<Expression>),
    /// A cast through the text: output of one type, input of the other.
    ThroughText(Box<ThroughText>),
    /// Each element cast: `element` has the element as parameter 0.
    EachElement {
        /// The array.
        array: Box<Expression>,
        /// The cast of an element, a function of one argument.
        cast: ElementCast,
    },
    /// `CASE WHEN … THEN … ELSE … END`; the conditions are boolean.
    Case {
        /// Conditions and results.
        branches: Vec<(Expression, Expression)>,
        /// ELSE, null if it is missing.
        otherwise: Box<Expression>,
    },
    /// Evaluates its operand once, for `body`, in which it is [`Node::Operand`]: `CASE x WHEN …`, `BETWEEN SYMMETRIC`, `NULLIF`.
    Let {
        /// Evaluated first.
        operand: Box<Expression>,
        /// The expression that uses it.
        body: Box<Expression>,
    },
    /// Evaluates `first`, then each step with the value so far as its [`Node::Operand`]: a long chain of operators, from left to right.
    Chain {
        /// Evaluated first.
        first: Box<Expression>,
        /// What is made of the value before. The last one's value is that of the chain.
        steps: Vec<Expression>,
    },
    /// The operand of the innermost [`Node::Let`] or step of a [`Node::Chain`] around it.
    Operand,
    /// The first value that is not null.
    Coalesce(Vec<Expression>),
    /// The greatest or the least value; nulls are ignored.
    Extreme {
        /// The values.
        values: Vec<Expression>,
        /// Whether an argument is beyond another: `<` for LEAST, `>` for GREATEST.
        is_beyond: Function,
    },
    /// All are true.
    And(Vec<Expression>),
    /// One is true.
    Or(Vec<Expression>),
    /// The contrary.
    Not(Box<Expression>),
    /// `IS NULL`
    IsNull(Box<Expression>),
    /// `IS TRUE`, `IS FALSE`
    Is(bool, Box<Expression>),
    /// `IS DISTINCT FROM`, with what says that two values are equal.
    Distinct(Box<Expression>, Box<Expression>, Function),
    /// `ARRAY[…]` of this element type. Arrays as elements make further dimensions.
    Array(TypeId, Vec<Expression>),
    /// `(array)[1]`, `(array)[1:2]`: null if a subscript is null.
    Subscript(Box<Expression>, Subscripts),
    /// What is made of values, or asked of a record.
    OnRecord(RecordOperation, Vec<Expression>),
    /// `operand <op> ANY (array)`, or ALL: each element against the operand.
    Quantified(Box<Quantified>),
    /// A cast to a domain: the operand, which has the domain's base type, if the domain's constraints allow it.
    Domain(Box<DomainCast>),
}

/// A cast to a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainCast {
    /// The value, of the domain's base type.
    pub operand: Expression,
    /// The domain.
    pub domain: DomainTypeId,
    /// What a value must satisfy, in this order.
    pub constraints: Vec<DomainConstraint>,
}

/// What a value of a domain must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainConstraint {
    /// NOT NULL.
    NotNull,
    /// CHECK.
    Check {
        /// The constraint's name.
        name: String,
        /// The condition, in which the value is parameter 0. It has no columns and no other parameters, and is no operand of the expression.
        condition: Expression,
    },
}

impl DomainCast {
    /// The conditions of its constraints.
    pub fn conditions(&self) -> impl Iterator<Item = &Expression> {
        self.constraints.iter().filter_map(|constraint| match constraint {
            DomainConstraint::NotNull => None,
            DomainConstraint::Check { condition, .. } => Some(condition),
        })
    }
}

/// What [`Node::OnRecord`] computes of its operands.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordOperation {
    /// A record of all of them.
    Make(Arc<RecordType>),
    /// The field at this position of the only one; null for null.
    Field(usize),
    /// `IS NULL`: whether it is null, or all its fields are.
    IsNull,
    /// `IS NOT NULL`: whether it is not null, and none of its fields is.
    IsNotNull,
}

/// Where something is written in the statement's text, if it is. Equal to any other: it is for messages only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin(pub Option<Location>);

impl PartialEq for Origin {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// Which one.
    pub function: Function,
    /// Whether a null argument makes the result null.
    pub is_strict: bool,
    /// When it gives the same.
    pub volatility: Volatility,
    /// The arguments.
    pub arguments: Vec<Expression>,
    /// Their types.
    pub argument_types: Vec<SqlType>,
}

/// A call of a function that returns rows.
#[derive(Clone, Debug, PartialEq)]
pub struct SetCall {
    /// Which one.
    pub function: SetFunction,
    /// Whether a null argument leaves no rows.
    pub is_strict: bool,
    /// When it gives the same.
    pub volatility: Volatility,
    /// The arguments.
    pub arguments: Vec<Expression>,
    /// Their types.
    pub argument_types: Vec<SqlType>,
    /// The type of a row: that of its column, or `record`.
    pub row_type: SqlType,
    /// Names and types of the columns. One that has no name in the catalog is called like the function.
    pub columns: Vec<(&'static str, SqlType)>,
}

impl SetCall {
    /// A call with arguments of the function's types.
    pub fn new(entry: &FunctionEntry, function: SetFunction, arguments: Vec<Expression>, row_type: SqlType) -> Self {
        let columns = match entry.columns[..] {
            [] => vec![(entry.name, row_type)],
            ref columns => columns.iter().map(|(name, id)| (*name, SqlType::of(*id))).collect(),
        };
        Self {
            function,
            is_strict: entry.is_strict,
            volatility: entry.volatility,
            argument_types: arguments.iter().map(|argument| argument.sql_type).collect(),
            arguments,
            row_type,
            columns,
        }
    }
}

impl SetCall {
    /// The same call, whose rows have columns of these types.
    #[must_use]
    pub fn with_columns(self, columns: &[(String, SqlType)]) -> Self {
        let name = pg_catalog().function(self.function.id).name;
        Self { columns: columns.iter().map(|(_, sql_type)| (name, *sql_type)).collect(), ..self }
    }
}

/// A cast through the text.
#[derive(Clone, Debug, PartialEq)]
pub struct ThroughText {
    /// What is cast.
    pub argument: Expression,
    /// From its type.
    pub output: Function,
    /// To the type of the expression.
    pub input: Function,
}

/// A cast of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ElementCast {
    /// The values are the same.
    Relabel,
    /// A function of the element, with the modifier of the target type and whether the cast is written if it takes them.
    Function {
        /// The function.
        function: Function,
        /// How many of the three it takes.
        argument_count: usize,
        /// Whether the cast is written.
        is_explicit: bool,
    },
    /// Through the text.
    ThroughText(Function, Function),
}

/// The subscripts of an array, which are integers.
#[derive(Clone, Debug, PartialEq)]
pub enum Subscripts {
    /// Of one element.
    Element(Vec<Expression>),
    /// Of a part: the first and the last subscript of each dimension, those of the array where they are not written.
    Slice(Vec<(Option<Expression>, Option<Expression>)>),
}

impl Subscripts {
    /// All that are written.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            Self::Element(indexes) => indexes.iter().collect(),
            Self::Slice(slices) => slices.iter().flat_map(|(first, last)| [first, last]).flatten().collect(),
        }
    }

    /// The same, to be changed.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expression> {
        match self {
            Self::Element(indexes) => indexes.iter_mut().collect(),
            Self::Slice(slices) => slices.iter_mut().flat_map(|(first, last)| [first, last]).flatten().collect(),
        }
    }
}

/// `operand <op> ANY (array)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantified {
    /// The left side.
    pub operand: Expression,
    /// The right side.
    pub array: Expression,
    /// The operator, which is strict.
    pub compare: Function,
    /// ALL instead of ANY.
    pub is_all: bool,
}

impl Expression {
    /// A constant.
    pub fn constant(value: Value, sql_type: SqlType) -> Self {
        Self { node: Node::Constant(value), sql_type }
    }

    /// A constant of a type without modifier.
    pub fn of(value: Value, id: TypeId) -> Self {
        Self::constant(value, SqlType::of(id))
    }

    /// Whether it may differ from one evaluation to the next.
    pub fn is_volatile(&self) -> bool {
        self.has_call(&|call| call.volatility == Volatility::Volatile)
    }

    /// Whether it calls a function that may take much longer than its arguments are long.
    pub fn may_take_long(&self) -> bool {
        self.has_call(&|call| {
            let name = pg_catalog().function(call.function.id).name;
            LONG_FUNCTIONS.iter().any(|prefix| name.starts_with(prefix)) && !is_of_few_steps(name, &call.argument_types)
        })
    }

    /// How many calls of functions it has.
    pub fn call_count(&self) -> usize {
        let count = Cell::new(0);
        self.has_call(&|_| {
            count.set(count.get() + 1);
            false
        });
        count.get()
    }

    /// Whether one of its calls is such a call, outside of its subqueries.
    fn has_call(&self, is_such: &dyn Fn(&FunctionCall) -> bool) -> bool {
        let is_such_itself = match &self.node {
            Node::Call(call) => is_such(call),
            Node::Domain(cast) => cast.conditions().any(|condition| condition.has_call(is_such)),
            _ => false,
        };
        is_such_itself || self.any_operand(&mut |operand| operand.has_call(is_such))
    }

    /// The expressions of which it is made directly, in the order in which they are written. Those within a subquery's relation are none
    /// of them.
    pub fn operands(&self) -> Few<&Self> {
        let mut operands = Few::new();
        self.any_operand(&mut |operand| {
            operands.push(operand);
            false
        });
        operands
    }

    /// Whether one of its operands is such an expression; those after it are not looked at.
    pub fn any_operand<'e>(&'e self, is_such: &mut dyn FnMut(&'e Self) -> bool) -> bool {
        match &self.node {
            Node::Constant(_) | Node::Parameter(_) | Node::Operand | Node::Column(..) => false,
            Node::Subquery(subquery) => match &subquery.kind {
                SubqueryKind::Quantified { comparison, .. } => is_such(comparison),
                SubqueryKind::Exists | SubqueryKind::Scalar | SubqueryKind::Array => false,
            },
            Node::Call(call) => call.arguments.iter().any(is_such),
            Node::ThroughText(cast) => is_such(&cast.argument),
            Node::EachElement { array: operand, .. }
            | Node::Not(operand)
            | Node::IsNull(operand)
            | Node::Is(_, operand)
            | Node::Relabel(operand) => is_such(operand),
            Node::Case { branches, otherwise } => {
                branches.iter().any(|(condition, result)| is_such(condition) || is_such(result)) || is_such(otherwise)
            }
            Node::Let { operand: left, body: right } | Node::Distinct(left, right, _) => {
                is_such(left) || is_such(right)
            }
            Node::Chain { first, steps } => is_such(first) || steps.iter().any(is_such),
            Node::Coalesce(values)
            | Node::Extreme { values, .. }
            | Node::And(values)
            | Node::Or(values)
            | Node::OnRecord(_, values)
            | Node::Array(_, values) => values.iter().any(is_such),
            Node::Subscript(container, subscripts) => {
                is_such(container) || subscripts.expressions().into_iter().any(is_such)
            }
            Node::Quantified(quantified) => is_such(&quantified.operand) || is_such(&quantified.array),
            Node::Domain(cast) => is_such(&cast.operand),
        }
    }

    /// The same, to be changed.
    pub fn operands_mut(&mut self) -> Few<&mut Self> {
        match &mut self.node {
            Node::Constant(_) | Node::Parameter(_) | Node::Operand | Node::Column(..) => Few::new(),
            Node::Subquery(subquery) => match &mut subquery.kind {
                SubqueryKind::Quantified { comparison, .. } => few([comparison]),
                SubqueryKind::Exists | SubqueryKind::Scalar | SubqueryKind::Array => Few::new(),
            },
            Node::Call(call) => call.arguments.iter_mut().collect(),
            Node::ThroughText(cast) => few([&mut cast.argument]),
            Node::EachElement { array, .. } => few([array]),
            Node::Case { branches, otherwise } => {
                let branches = branches.iter_mut().flat_map(|(condition, result)| [condition, result]);
                branches.chain([&mut **otherwise]).collect()
            }
            Node::Let { operand, body } => few([operand, body]),
            Node::Chain { first, steps } => std::iter::once(&mut **first).chain(steps).collect(),
            Node::Coalesce(values)
            | Node::Extreme { values, .. }
            | Node::And(values)
            | Node::Or(values)
            | Node::OnRecord(_, values)
            | Node::Array(_, values) => values.iter_mut().collect(),
            Node::Not(operand) | Node::IsNull(operand) | Node::Is(_, operand) | Node::Relabel(operand) => {
                few([operand])
            }
            Node::Subscript(container, subscripts) => {
                std::iter::once(&mut **container).chain(subscripts.expressions_mut()).collect()
            }
            Node::Distinct(left, right, _) => few([left, right]),
            Node::Quantified(quantified) => few([&mut quantified.operand, &mut quantified.array]),
            Node::Domain(cast) => few([&mut cast.operand]),
        }
    }

    /// Puts an expression in the places of the operand of a LET, of whose body this is a part, or of a chain, of whose steps it is one.
    pub fn put_operand(&mut self, value: &Self) {
        match &mut self.node {
            Node::Operand => self.node = value.node.clone(),
            // The body of a LET within has its own operand, and so have the steps of a chain.
            Node::Let { operand: inner, .. } | Node::Chain { first: inner, .. } => inner.put_operand(value),
            _ => self.operands_mut().into_iter().for_each(|operand| operand.put_operand(value)),
        }
    }

    /// The text of a literal whose type is not known yet.
    pub fn unknown_literal(&self) -> Option<&Value> {
        match &self.node {
            Node::Constant(value) if self.sql_type.id == TypeId::UNKNOWN => Some(value),
            _ => None,
        }
    }
}
