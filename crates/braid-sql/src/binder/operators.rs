//! Operators, and what is defined by operators: comparisons, BETWEEN, IN, ANY and ALL, IS DISTINCT FROM; AND, OR and NOT.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value as Syntax};

use super::casts::call;
use super::places::Place;
use super::repeated_operand::RepeatedOperand;
use super::{Binder, Placed, computed, negation, truth, unnested, unsupported};
use crate::expression::{Expression, Node, Quantified};
use crate::pg_catalog::{CastContext, TypeId, pg_catalog};
use crate::resolution::{ResolvedOperator, common_type, is_reached_by_all, resolve_operator};
use crate::{SqlError, SqlState, SqlType};

impl Binder<'_> {
    /// An operator before its operand.
    pub(super) fn prefix(&self, syntax: &Expr, op: &UnaryOperator, operand: &Expr) -> Result<Expression, SqlError> {
        let name = match op {
            UnaryOperator::Not => return Ok(negation(self.boolean(operand, "argument of NOT")?)),
            UnaryOperator::Minus => match self.negative_literal(operand)? {
                Some(literal) => return Ok(literal),
                None => "-",
            },
            UnaryOperator::Plus => "+",
            UnaryOperator::BitwiseNot => "~",
            UnaryOperator::PGSquareRoot => "|/",
            UnaryOperator::PGCubeRoot => "||/",
            UnaryOperator::PGAbs => "@",
            _ => return Err(unsupported(syntax)),
        };
        let (operand, place) = (self.placed(operand)?, Place::Before(name, operand));
        let resolved =
            resolve_operator(name, None, operand.0.sql_type.id).map_err(|error| self.placed_error(error, place))?;
        self.operator_call(&resolved, vec![operand])
    }

    /// An operator between its operands.
    pub(super) fn binary(
        &self,
        syntax: &Expr,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
    ) -> Result<Expression, SqlError> {
        match op {
            BinaryOperator::And => return self.connected(syntax, &BinaryOperator::And),
            BinaryOperator::Or => return self.connected(syntax, &BinaryOperator::Or),
            BinaryOperator::Overlaps => return self.overlaps(left, right),
            _ => {}
        }
        let name = operator_name(op).ok_or_else(|| unsupported(syntax))?;
        if is_comparison(op) && matches!(left, Expr::BinaryOp { op, .. } if is_comparison(op)) {
            let message = format!("syntax error at or near \"{op}\"");
            return Err(self.places.mark(SqlError::new(SqlState::SyntaxError, message), Place::After(left)));
        }
        self.infix(left, name, right)
    }

    /// `left name right`
    pub(super) fn infix(&self, left: &Expr, name: &str, right: &Expr) -> Result<Expression, SqlError> {
        let place = Place::Between(left, name, right);
        match (unnested(left), unnested(right)) {
            (Expr::Tuple(left), Expr::Tuple(right)) => {
                return self.compare_rows(name, place, self.row_members(left)?, self.row_members(right)?);
            }
            (Expr::Tuple(_), Expr::Subquery(_)) => {
                return Err(SqlError::unsupported("comparisons of rows with queries are not supported"));
            }
            _ => {}
        }
        self.operator(name, place, self.placed(left)?, self.placed(right)?)
    }

    /// An operator on operands that are bound, each with its place.
    pub(super) fn operator(
        &self,
        name: &str,
        place: Place<'_>,
        left: Placed<'_>,
        right: Placed<'_>,
    ) -> Result<Expression, SqlError> {
        let resolved = resolve_operator(name, Some(left.0.sql_type.id), right.0.sql_type.id);
        let resolved = resolved.map_err(|error| self.placed_error(error, place))?;
        self.operator_call(&resolved, vec![left, right])
    }

    fn operator_call(&self, resolved: &ResolvedOperator, operands: Vec<Placed<'_>>) -> Result<Expression, SqlError> {
        if let ("numeric_div", [_, (divisor, _)]) =
            (pg_catalog().function(resolved.function).symbol.unwrap_or(""), &operands[..])
            && let Node::Parameter(number) = divisor.node
        {
            // The divisor tells how many digits quotients have.
            self.look_at_parameter(number)?;
        }
        let operands = operands.into_iter().zip(&resolved.argument_types);
        let operands =
            operands.map(|((operand, place), id)| self.coerce(operand, place, SqlType::of(*id), CastContext::Implicit));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        call(resolved.function, operands, SqlType::of(resolved.result))
    }

    /// A chain of AND or OR, however long, as one node.
    fn connected(&self, syntax: &Expr, connective: &BinaryOperator) -> Result<Expression, SqlError> {
        let what = if *connective == BinaryOperator::And { "argument of AND" } else { "argument of OR" };
        let (mut operands, mut rest) = (Vec::new(), vec![syntax]);
        while let Some(next) = rest.pop() {
            match next {
                Expr::BinaryOp { left, op, right } if op == connective => rest.extend([&**right, &**left]),
                operand => operands.push(self.boolean(operand, what)?),
            }
        }
        Ok(truth(if *connective == BinaryOperator::And { Node::And(operands) } else { Node::Or(operands) }))
    }

    pub(super) fn is_truth(&self, operand: &Expr, expected: bool, what: &str) -> Result<Expression, SqlError> {
        Ok(truth(Node::Is(expected, Box::new(self.boolean(operand, &format!("argument of {what}"))?))))
    }

    pub(super) fn is_unknown(&self, operand: &Expr, what: &str) -> Result<Expression, SqlError> {
        Ok(truth(Node::IsNull(Box::new(self.boolean(operand, &format!("argument of {what}"))?))))
    }

    /// `left IS DISTINCT FROM right`
    pub(super) fn distinct(&self, left: &Expr, right: &Expr) -> Result<Expression, SqlError> {
        if let (Expr::Tuple(left_members), Expr::Tuple(right_members)) = (unnested(left), unnested(right)) {
            if left_members.len() != right_members.len() {
                let message = "unequal number of entries in row expressions";
                return Err(self.places.mark(SqlError::new(SqlState::SyntaxError, message), Place::After(left)));
            }
            let pairs = left_members.iter().zip(right_members);
            return Ok(truth(Node::Or(
                pairs.map(|(left, right)| self.distinct(left, right)).collect::<Result<_, _>>()?,
            )));
        }
        // With NULL it is another way to write IS NOT NULL, for all types.
        for (tested, other) in [(left, right), (right, left)] {
            let is_null = matches!(unnested(other), Expr::Value(value) if value.value == Syntax::Null);
            if is_null {
                return Ok(negation(truth(Node::IsNull(Box::new(self.expression(tested)?)))));
            }
        }
        let equal = self.infix(left, "=", right)?;
        let Node::Call(call) = equal.node else {
            return Err(SqlError::unsupported("this comparison is not supported"));
        };
        let equals = call.function;
        let [left, right]: [Expression; 2] = call.arguments.try_into().expect("a comparison has two operands");
        Ok(truth(Node::Distinct(Box::new(left), Box::new(right), equals)))
    }

    /// `x BETWEEN low AND high`
    pub(super) fn between(
        &self,
        operand: &Expr,
        low: &Expr,
        high: &Expr,
        negated: bool,
    ) -> Result<Expression, SqlError> {
        if [operand, low, high].iter().any(|syntax| matches!(unnested(syntax), Expr::Tuple(_))) {
            return Err(SqlError::unsupported("comparisons of rows are not supported"));
        }
        let (below, above) = if negated { ("<", ">") } else { (">=", "<=") };
        // BETWEEN does not associate.
        if let Expr::Between { high, .. } = operand {
            let error = SqlError::new(SqlState::SyntaxError, "syntax error at or near \"between\"");
            return Err(self.places.mark(error, Place::After(high)));
        }
        let mut repeated = RepeatedOperand::new(self.placed(operand)?, 2)?;
        let mut compare = |name, bound| {
            let operand_again = self.bound_again(repeated.next());
            self.operator(name, Place::Between(operand, name, bound), operand_again, self.placed(bound)?)
        };
        let comparisons = vec![compare(below, low)?, compare(above, high)?];
        Ok(repeated.around(if negated { Node::Or(comparisons) } else { Node::And(comparisons) }))
    }

    /// `x BETWEEN SYMMETRIC a AND b`: between the lesser and the greater of both.
    pub(super) fn between_symmetric(
        &self,
        operand: &Expr,
        low: &Expr,
        high: &Expr,
        negated: bool,
    ) -> Result<Expression, SqlError> {
        let (below, above) = if negated { ("<", ">") } else { (">=", "<=") };
        let mut repeated = RepeatedOperand::new(self.placed(operand)?, 4)?;
        let (mut lows, mut highs) =
            (RepeatedOperand::copied(self.placed(low)?)?, RepeatedOperand::copied(self.placed(high)?)?);
        let mut compare = |name, bound| {
            let operand_again = self.bound_again(repeated.next());
            self.operator(name, Place::After(operand), operand_again, self.bound_again(bound))
        };
        let mut ordered = |low, high| {
            let both = vec![compare(below, low)?, compare(above, high)?];
            Ok::<_, SqlError>(truth(if negated { Node::Or(both) } else { Node::And(both) }))
        };
        let both = vec![ordered(lows.next(), highs.next())?, ordered(highs.next(), lows.next())?];
        Ok(repeated.around(if negated { Node::And(both) } else { Node::Or(both) }))
    }

    /// `x IN (a, b)`: the members that read no column of this query are an array if they have a common type with the operand; each other
    /// one is compared by itself.
    pub(super) fn in_list(&self, operand: &Expr, list: &[Expr], negated: bool) -> Result<Expression, SqlError> {
        let name = if negated { "<>" } else { "=" };
        if let Expr::Tuple(members) = unnested(operand) {
            return self.row_in_list(members, list, negated, Place::After(operand));
        }
        if list.iter().any(|syntax| matches!(unnested(syntax), Expr::Tuple(_))) {
            return Err(SqlError::unsupported("comparisons of rows with values are not supported"));
        }
        let bound = self.expression(operand)?;
        let members = list.iter().map(|syntax| Ok((self.expression(syntax)?, syntax)));
        let members = members.collect::<Result<Vec<_>, SqlError>>()?;
        let is_fixed = |(member, _): &(Expression, &Expr)| !self.reads_own_columns(member);
        let fixed = members.iter().filter(|member| is_fixed(member)).map(|(member, _)| member);
        let ids: Vec<TypeId> = std::iter::once(&bound).chain(fixed).map(|of| of.sql_type.id).collect();
        let common = common_type(&ids).ok().filter(|common| ids.len() > 2 && is_reached_by_all(*common, &ids));
        let Some((common, array_type)) =
            common.and_then(|common| Some((common, pg_catalog().type_entry(common).array?)))
        else {
            let mut repeated = RepeatedOperand::new((bound, Place::Start(operand)), list.len())?;
            let compared = members.into_iter().map(|member| self.in_member(operand, name, repeated.next(), member));
            let compared = compared.collect::<Result<Vec<_>, _>>()?;
            return Ok(repeated.around(if negated { Node::And(compared) } else { Node::Or(compared) }));
        };
        let (fixed, single): (Vec<_>, Vec<_>) = members.into_iter().partition(is_fixed);
        let fixed = fixed.into_iter().map(|(member, syntax)| {
            self.coerce(member, Place::Start(syntax), SqlType::of(common), CastContext::Implicit)
        });
        let fixed = fixed.collect::<Result<Vec<_>, _>>()?;
        let array = Expression { node: Node::Array(common, fixed), sql_type: SqlType::of(array_type) };
        let array = (array, Place::Nowhere);
        if single.is_empty() {
            return self.any_or_all((operand, bound), name, array, negated);
        }
        let mut repeated = RepeatedOperand::new((bound, Place::Start(operand)), single.len() + 1)?;
        let mut compared = vec![self.any_or_all((operand, repeated.next().0), name, array, negated)?];
        for member in single {
            let operand_again = self.bound_again(repeated.next());
            compared.push(self.in_member(operand, name, operand_again, member)?);
        }
        Ok(repeated.around(if negated { Node::And(compared) } else { Node::Or(compared) }))
    }

    /// A member of IN that is compared by itself.
    fn in_member(
        &self,
        operand: &Expr,
        name: &str,
        bound: Placed<'_>,
        (member, syntax): (Expression, &Expr),
    ) -> Result<Expression, SqlError> {
        self.operator(name, Place::Between(operand, name, syntax), bound, (member, Place::Start(syntax)))
    }

    /// Whether an expression reads columns of the query in which it stands.
    fn reads_own_columns(&self, expression: &Expression) -> bool {
        self.scope.is_some_and(|scope| {
            let is_call = |column| scope.is_aggregate(column) || scope.is_window(column) || scope.is_set(column);
            expression.free_columns().into_iter().any(|column| scope.owns(column) || is_call(column))
        })
    }

    /// `x op ANY (array)`
    pub(super) fn quantified(
        &self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        is_all: bool,
    ) -> Result<Expression, SqlError> {
        let name = operator_name(op).ok_or_else(|| unsupported(right))?;
        if let Expr::Subquery(query) = unnested(right) {
            return self.quantified_operator(left, op, query, is_all);
        }
        let (operand, array) = (self.expression(left)?, self.expression(right)?);
        self.any_or_all((left, operand), name, (array, Place::Start(right)), is_all)
    }

    fn any_or_all(
        &self,
        (left, operand): (&Expr, Expression),
        name: &str,
        (array, array_place): Placed<'_>,
        is_all: bool,
    ) -> Result<Expression, SqlError> {
        let place = Place::After(left);
        // The operator tells what an array of unknown type has as elements.
        let is_unknown = array.sql_type.id == TypeId::UNKNOWN;
        let element = if is_unknown { Some(TypeId::UNKNOWN) } else { pg_catalog().element_of_array(array.sql_type.id) };
        let Some(element) = element else {
            let message = "op ANY/ALL (array) requires array on right side";
            return Err(self.places.mark(SqlError::new(SqlState::WrongObjectType, message), place));
        };
        let resolved = resolve_operator(name, Some(operand.sql_type.id), element)
            .map_err(|error| self.placed_error(error, place))?;
        if resolved.result != TypeId::BOOL {
            let message = "op ANY/ALL (array) requires operator to yield boolean";
            return Err(self.places.mark(SqlError::new(SqlState::WrongObjectType, message), place));
        }
        let entry = pg_catalog().function(resolved.function);
        let [operand_type, element_type] = resolved.argument_types[..] else {
            return Err(SqlError::unsupported("this quantified comparison is not supported"));
        };
        let Some(array_type) = pg_catalog().type_entry(element_type).array.filter(|_| entry.is_strict) else {
            return Err(SqlError::unsupported("this quantified comparison is not supported"));
        };
        let operand_place = Place::Start(left);
        let operand = self.coerce(operand, operand_place, SqlType::of(operand_type), CastContext::Implicit)?;
        let array_place = if is_unknown { array_place } else { place };
        let array = self.coerce(array, array_place, SqlType::of(array_type), CastContext::Implicit)?;
        let compare = computed(entry)?;
        Ok(truth(Node::Quantified(Box::new(Quantified { operand, array, compare, is_all }))))
    }
}

/// Comparisons, which do not associate: `a < b < c` is an error of syntax.
fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq)
}

/// The name of an operator in the catalog; `None` for those that PostgreSQL has not.
pub(super) fn operator_name(op: &BinaryOperator) -> Option<&str> {
    use BinaryOperator as B;
    Some(match op {
        B::Plus => "+",
        B::Minus => "-",
        B::Multiply => "*",
        B::Divide => "/",
        B::Modulo => "%",
        B::StringConcat => "||",
        B::Gt => ">",
        B::Lt => "<",
        B::GtEq => ">=",
        B::LtEq => "<=",
        B::Eq => "=",
        B::NotEq => "<>",
        B::BitwiseOr => "|",
        B::BitwiseAnd => "&",
        B::PGBitwiseXor => "#",
        B::PGBitwiseShiftLeft => "<<",
        B::PGBitwiseShiftRight => ">>",
        B::PGExp => "^",
        B::PGOverlap => "&&",
        B::PGRegexMatch => "~",
        B::PGRegexIMatch => "~*",
        B::PGRegexNotMatch => "!~",
        B::PGRegexNotIMatch => "!~*",
        B::PGLikeMatch => "~~",
        B::PGILikeMatch => "~~*",
        B::PGNotLikeMatch => "!~~",
        B::PGNotILikeMatch => "!~~*",
        B::PGStartsWith => "^@",
        B::Arrow => "->",
        B::LongArrow => "->>",
        B::HashArrow => "#>",
        B::HashLongArrow => "#>>",
        B::AtAt => "@@",
        B::AtArrow => "@>",
        B::ArrowAt => "<@",
        B::HashMinus => "#-",
        B::AtQuestion => "@?",
        B::Question => "?",
        B::QuestionAnd => "?&",
        B::QuestionPipe => "?|",
        B::Custom(name) => name,
        B::PGCustomBinaryOperator(path) => match &path[..] {
            [name] => name,
            [schema, name] if schema.eq_ignore_ascii_case("pg_catalog") => name,
            _ => return None,
        },
        _ => return None,
    })
}
