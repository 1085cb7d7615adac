//! Expressions with their types: what the binder makes of syntax, and what is evaluated.
//!
//! Every operator and cast is a call of a function of the catalog, with its implementation beside it. Arguments have exactly the types
//! that the function declares, because the binder adds casts.

use crate::SqlType;
use crate::functions::Implementation;
use crate::pg_catalog::{FunctionId, TypeId, Volatility, pg_catalog};
use crate::values::Value;

/// How the names of functions begin that may take much longer than their arguments are long: powers and roots of many digits, regular
/// expressions.
const LONG_FUNCTIONS: &[&str] = &[
    "exp",
    "factorial",
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

/// Functions whose result may be much longer than their arguments.
const GROWING_FUNCTIONS: &[&str] = &["array_fill", "lpad", "regexp_replace", "repeat", "replace", "rpad"];

/// An expression without columns.
#[derive(Clone, Debug)]
pub struct Expression {
    /// What it computes.
    pub node: Node,
    /// The type of its value.
    pub sql_type: SqlType,
}

/// What an expression computes.
#[derive(Clone, Debug)]
pub enum Node {
    /// A value. A literal whose type is not known yet is a text of type `unknown`.
    Constant(Value),
    /// The value of `$1` is parameter 0.
    Parameter(usize),
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
    /// The operand of the innermost [`Node::Let`] around it.
    Operand,
    /// The first value that is not null.
    Coalesce(Vec<Expression>),
    /// The greatest or the least value; nulls are ignored.
    Extreme {
        /// The values.
        values: Vec<Expression>,
        /// Whether an argument is beyond another: `<` for LEAST, `>` for GREATEST.
        is_beyond: Implementation,
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
    Distinct(Box<Expression>, Box<Expression>, Implementation),
    /// `ARRAY[…]` of this element type. Arrays as elements make further dimensions.
    Array(TypeId, Vec<Expression>),
    /// `operand <op> ANY (array)`, or ALL: each element against the operand.
    Quantified(Box<Quantified>),
}

/// A call of a function.
#[derive(Clone, Debug)]
pub struct FunctionCall {
    /// Which one.
    pub function: FunctionId,
    /// What computes it.
    pub implementation: Implementation,
    /// Whether a null argument makes the result null.
    pub is_strict: bool,
    /// When it gives the same.
    pub volatility: Volatility,
    /// The arguments.
    pub arguments: Vec<Expression>,
    /// Their types.
    pub argument_types: Vec<SqlType>,
}

/// A cast through the text.
#[derive(Clone, Debug)]
pub struct ThroughText {
    /// What is cast.
    pub argument: Expression,
    /// From its type.
    pub output: Implementation,
    /// To the type of the expression.
    pub input: Implementation,
}

/// A cast of an element.
#[derive(Clone, Copy, Debug)]
pub enum ElementCast {
    /// The values are the same.
    Relabel,
    /// A function of the element, with the modifier of the target type and whether the cast is written if it takes them.
    Function(Implementation, usize),
    /// Through the text.
    ThroughText(Implementation, Implementation),
}

/// `operand <op> ANY (array)`.
#[derive(Clone, Debug)]
pub struct Quantified {
    /// The left side.
    pub operand: Expression,
    /// The right side.
    pub array: Expression,
    /// The operator, which is strict.
    pub compare: Implementation,
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
            let name = pg_catalog().function(call.function).name;
            LONG_FUNCTIONS.iter().any(|prefix| name.starts_with(prefix))
        })
    }

    /// Whether it calls a function whose result may be much longer than its arguments.
    pub fn may_grow(&self) -> bool {
        self.has_call(&|call| GROWING_FUNCTIONS.contains(&pg_catalog().function(call.function).name))
    }

    /// Whether one of its calls is such a call.
    fn has_call(&self, is_such: &dyn Fn(&FunctionCall) -> bool) -> bool {
        let any = |expressions: &[Self]| expressions.iter().any(|expression| expression.has_call(is_such));
        match &self.node {
            Node::Constant(_) | Node::Parameter(_) | Node::Operand => false,
            Node::Call(call) => is_such(call) || any(&call.arguments),
            Node::ThroughText(cast) => cast.argument.has_call(is_such),
            Node::EachElement { array, .. } => array.has_call(is_such),
            Node::Case { branches, otherwise } => {
                let of_branch =
                    |(condition, result): &(Self, Self)| condition.has_call(is_such) || result.has_call(is_such);
                branches.iter().any(of_branch) || otherwise.has_call(is_such)
            }
            Node::Let { operand, body } => operand.has_call(is_such) || body.has_call(is_such),
            Node::Coalesce(values) | Node::Extreme { values, .. } | Node::And(values) | Node::Or(values) => any(values),
            Node::Array(_, values) => any(values),
            Node::Not(operand) | Node::IsNull(operand) | Node::Is(_, operand) | Node::Relabel(operand) => {
                operand.has_call(is_such)
            }
            Node::Distinct(left, right, _) => left.has_call(is_such) || right.has_call(is_such),
            Node::Quantified(quantified) => quantified.operand.has_call(is_such) || quantified.array.has_call(is_such),
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
