//! D ⧑ T: the dependent join with the domain, pushed below each operator of T until T reads no column of D.
//!
//! Each rule gives a relation with columns that have the values of D's columns, their *representatives*. Below an operator that does not
//! read them, D ⧑ T is D × T. If conditions on the way equate each column of D with one of T, T alone will do: its
//! column is the representative. Then there are rows for further values, which are not joined in the end, and none for null.
//!
//! Each operator treats the rows of one value of D as if there were no others: it groups by the representatives, partitions by them, and
//! joins on them.

use std::collections::{BTreeMap, BTreeSet};

use braid_sql::relation::{
    Aggregation, ColumnId, CteId, Expansion, JoinKind, Recursion, Relation, Rows, SortKey, Windowing,
};
use braid_sql::{Expression, Value};

use super::Unnester;
use super::dependent_join::join;
use super::domain::Domain;
use crate::rewriting::expressions::{
    Substitution, all_of, as_column, as_equal_column, column, conjuncts, equated, filtered, has_volatile, is_not_null,
    mapped, null_safe_equality, replaced,
};
use crate::rewriting::failing::relation_may_fail;
use crate::rewriting::identity_types::{has_one_form, is_identity};
use crate::rewriting::renumbering::{each_relation, each_relation_of};
use crate::rewriting::static_rows::{is_static, value_without_rows};
use braid_sql::expression::Node;

/// Sets of columns that are equal wherever it matters.
pub(super) type Classes = [BTreeSet<ColumnId>];

/// For each column of D the column that has its value.
#[derive(Clone, Debug)]
pub(super) struct Representatives {
    columns: BTreeMap<ColumnId, ColumnId>,
    /// Whether rows with null in one of them are never wanted.
    pub are_never_null: bool,
}

impl Representatives {
    pub fn new(columns: BTreeMap<ColumnId, ColumnId>, are_never_null: bool) -> Self {
        Self { columns, are_never_null }
    }

    /// That of a column of D.
    pub fn of(&self, outer: ColumnId) -> ColumnId {
        self.columns[&outer]
    }

    /// All, in the order of D's columns.
    pub fn all(&self) -> impl Iterator<Item = ColumnId> {
        self.columns.values().copied()
    }

    fn substitution(&self, unnester: &Unnester<'_>) -> Substitution {
        self.columns.iter().map(|(outer, own)| (*outer, column(*own, unnester.columns))).collect()
    }

    /// An expression that reads them instead of D's columns.
    pub fn replaced(&self, expression: &Expression, unnester: &Unnester<'_>) -> Expression {
        replaced(expression.clone(), &self.substitution(unnester))
    }

    /// The same with copies of them, as other operators call them.
    fn renamed(&self, unnester: &mut Unnester<'_>) -> (Vec<ColumnId>, Self) {
        let copy = |(outer, own): (&ColumnId, &ColumnId)| (*outer, unnester.columns.add_like(*own));
        let columns: BTreeMap<_, _> = self.columns.iter().map(copy).collect();
        let renamed = Self { columns, are_never_null: self.are_never_null };
        (renamed.all().collect(), renamed)
    }
}

/// A dependent join's right side on its way.
#[derive(Debug)]
pub(super) struct Unnesting {
    /// D.
    pub domain: Domain,
    outer: BTreeSet<ColumnId>,
    /// Whether T alone may stand for D ⧑ T, with its values for D's.
    can_substitute: bool,
    /// Whether nothing that may fail may be computed without D.
    is_guarded: bool,
    /// Whether a volatile function is computed for each row of D.
    is_row_wise: bool,
    /// Common table expressions that have D's columns, the last ones of each scan.
    dependent_ctes: BTreeSet<CteId>,
}

/// Groups with their representatives, and what a static aggregation's columns are made of above an outer join.
pub(super) type Grouped = (Relation, Representatives, Vec<(ColumnId, Expression)>);

/// A relation with the representatives that it has.
pub(super) type Pushed = (Relation, Representatives);

impl Unnesting {
    pub fn new(domain: Domain, can_substitute: bool, is_row_wise: bool) -> Self {
        let outer = domain.outer.iter().copied().collect();
        Self { domain, outer, can_substitute, is_guarded: false, is_row_wise, dependent_ctes: BTreeSet::new() }
    }

    /// The same for a right side whose failures are those for values of D.
    pub fn guarded(domain: Domain, is_row_wise: bool) -> Self {
        Self { is_guarded: true, ..Self::new(domain, false, is_row_wise) }
    }

    /// Whether a relation needs D.
    pub fn is_dependent(&self, relation: &Relation) -> bool {
        let mut scans = false;
        each_relation(relation, &mut |relation| scans |= self.is_dependent_scan(relation));
        scans
            || !relation.free_columns().is_disjoint(&self.outer)
            || self.is_guarded && relation_may_fail(relation)
            || self.is_row_wise && has_volatile(relation)
    }

    fn is_dependent_scan(&self, relation: &Relation) -> bool {
        matches!(relation, Relation::CteScan { cte, .. } if self.dependent_ctes.contains(cte))
    }

    /// D ⧑ T; `None` if an operator of T cannot be passed. `classes`: columns that are equal in all rows that are wanted.
    pub fn pushed(&mut self, relation: &Relation, classes: &Classes, unnester: &mut Unnester<'_>) -> Option<Pushed> {
        if !self.is_dependent(relation) {
            return self.independent(relation, classes, unnester);
        }
        // A subquery that stayed in an expression cannot read D's columns of a common table expression.
        let mut scans = false;
        for expression in relation.expressions() {
            each_relation_of(expression, &mut |relation| scans |= self.is_dependent_scan(relation));
        }
        if scans {
            let joined = unnester.without_scans_in_subqueries(relation, &self.dependent_ctes)?;
            return self.pushed(&joined, classes, unnester);
        }
        match relation {
            Relation::OneRow | Relation::Table(_) => None,
            Relation::Values { columns, rows } => self.values(columns, rows, unnester),
            Relation::Filter { input, condition } => self.filter(input, condition, classes, unnester),
            Relation::Map { input, expressions } => {
                let (input, representatives) = self.pushed(input, classes, unnester)?;
                let replace = |(made, expression): &(ColumnId, Expression)| {
                    (*made, representatives.replaced(expression, unnester))
                };
                let expressions = expressions.iter().map(replace).collect();
                Some((mapped(input, expressions), representatives))
            }
            Relation::Expand(expansion) => {
                let (input, representatives) = self.pushed(&expansion.input, classes, unnester)?;
                let mut expansion = Expansion { input, ..(**expansion).clone() };
                let functions = expansion.functions.iter_mut();
                for expression in functions.flat_map(braid_sql::relation::SetFunctionCall::expressions_mut) {
                    *expression = representatives.replaced(expression, unnester);
                }
                Some((Relation::Expand(Box::new(expansion)), representatives))
            }
            Relation::Join { kind, left, right, condition } => {
                self.join(*kind, (left, right), condition, classes, unnester)
            }
            Relation::Aggregate(aggregation) if !has_known_groups(aggregation) => {
                self.grouped_with_absent_rows(aggregation, unnester)
            }
            Relation::Aggregate(aggregation) => {
                let (relation, representatives, values) = self.grouped(aggregation, unnester)?;
                if !is_static(aggregation) {
                    return Some((relation, representatives));
                }
                // D ⟕ Γ: a group exists for each value of D, for aggregation without GROUP BY.
                let (domain, instance) = self.instance(unnester);
                let condition = equality(&instance, &representatives, unnester)?;
                let joined = join(JoinKind::Left, domain, relation, all_of(condition));
                Some((mapped(joined, values), instance))
            }
            Relation::Window(windowing) => {
                let (input, representatives) = self.pushed(&windowing.input, &[], unnester)?;
                let mut windowing = Windowing { input, ..(**windowing).clone() };
                let mut relation = Relation::Window(Box::new(windowing.clone()));
                for expression in relation.expressions_mut() {
                    *expression = representatives.replaced(expression, unnester);
                }
                if let Relation::Window(replaced) = relation {
                    windowing = *replaced;
                }
                windowing.partition_by.extend(self.columns_of(&representatives, unnester));
                Some((Relation::Window(Box::new(windowing)), representatives))
            }
            Relation::Sort { input, keys } => {
                let (input, representatives) = self.pushed(input, classes, unnester)?;
                let keys = replaced_keys(keys, &representatives, unnester);
                Some((Relation::Sort { input: Box::new(input), keys }, representatives))
            }
            Relation::Limit { input, offset, limit, ties } => {
                self.limit(input, (offset.as_ref(), limit.as_ref()), ties.as_deref(), unnester)
            }
            Relation::Distinct { input, columns } => {
                let (input, representatives) = self.pushed(input, &[], unnester)?;
                let mut columns: Vec<ColumnId> =
                    columns.iter().copied().filter(|column| !self.outer.contains(column)).collect();
                columns.extend(representatives.all().filter(|own| !columns.contains(own)).collect::<Vec<_>>());
                Some((Relation::Distinct { input: Box::new(input), columns }, representatives))
            }
            Relation::DistinctOn { input, keys } => {
                let (input, representatives) = self.pushed(input, &[], unnester)?;
                let mut keys: Vec<Expression> =
                    keys.iter().map(|key| representatives.replaced(key, unnester)).collect();
                keys.extend(self.columns_of(&representatives, unnester));
                Some((Relation::DistinctOn { input: Box::new(input), keys }, representatives))
            }
            Relation::Union { inputs, columns } => {
                let mut pushed = Vec::new();
                let mut are_never_null = true;
                let mut representatives = None;
                for input in inputs {
                    let (rows, of_input) = self.rows(input, unnester)?;
                    are_never_null &= of_input.are_never_null;
                    pushed.push(rows);
                    representatives = Some(of_input);
                }
                let (own, mut representatives) = representatives?.renamed(unnester);
                representatives.are_never_null = are_never_null;
                let columns = columns.iter().copied().chain(own).collect();
                Some((Relation::Union { inputs: pushed, columns }, representatives))
            }
            Relation::SetOperation { operator, is_all, left, right, columns } => {
                let (left, of_left) = self.rows(left, unnester)?;
                let (right, of_right) = self.rows(right, unnester)?;
                let (own, mut representatives) = of_left.renamed(unnester);
                representatives.are_never_null &= of_right.are_never_null;
                let columns = columns.iter().copied().chain(own).collect();
                let (left, right) = (Box::new(left), Box::new(right));
                let relation = Relation::SetOperation { operator: *operator, is_all: *is_all, left, right, columns };
                Some((relation, representatives))
            }
            Relation::With { cte, is_materialized, definition, body } => {
                let mut definition = (**definition).clone();
                if self.is_dependent(&definition.relation) {
                    (definition, _) = self.rows_with_domain(&definition, unnester)?;
                    self.dependent_ctes.insert(*cte);
                }
                let (body, representatives) = self.pushed(body, classes, unnester)?;
                let relation = Relation::With {
                    cte: *cte,
                    is_materialized: *is_materialized,
                    definition: Box::new(definition),
                    body: Box::new(body),
                };
                Some((relation, representatives))
            }
            Relation::Recursive(recursion) => self.recursion(recursion, classes, unnester),
            Relation::CteScan { cte, columns } => {
                let outer: Vec<ColumnId> = self.outer.iter().copied().collect();
                let own: Vec<ColumnId> = outer.iter().map(|column| unnester.columns.add_like(*column)).collect();
                let representatives = Representatives::new(outer.into_iter().zip(own.iter().copied()).collect(), false);
                let columns = columns.iter().copied().chain(own).collect();
                Some((Relation::CteScan { cte: *cte, columns }, representatives))
            }
        }
    }

    /// D ⧑ T = D × T, or T where its columns have D's values.
    fn independent(&mut self, relation: &Relation, classes: &Classes, unnester: &mut Unnester<'_>) -> Option<Pushed> {
        if self.can_substitute {
            let own: BTreeSet<ColumnId> = relation.columns().into_iter().collect();
            let representative = |outer: &ColumnId| {
                let class = classes.iter().find(|class| class.contains(outer))?;
                class.intersection(&own).next().map(|own| (*outer, *own))
            };
            let columns: Option<BTreeMap<_, _>> = self.outer.iter().map(representative).collect();
            if let Some(columns) = columns {
                return Some((relation.clone(), Representatives::new(columns, true)));
            }
        }
        let (domain, representatives) = self.instance(unnester);
        Some(match relation {
            Relation::OneRow => (domain, representatives),
            // A join has the order of its left side.
            relation if order_of(relation).is_empty() => {
                (join(JoinKind::Inner, domain, relation.clone(), all_of(Vec::new())), representatives)
            }
            sorted => (join(JoinKind::Inner, sorted.clone(), domain, all_of(Vec::new())), representatives),
        })
    }

    /// D itself.
    fn instance(&mut self, unnester: &mut Unnester<'_>) -> Pushed {
        let (relation, columns) = self.domain.instance(unnester);
        let columns = self.domain.outer.iter().copied().zip(columns).collect();
        (relation, Representatives::new(columns, false))
    }

    /// D ⧑ σ_p(T) = σ_p(D ⧑ T).
    fn filter(
        &mut self,
        input: &Relation,
        condition: &Expression,
        classes: &Classes,
        unnester: &mut Unnester<'_>,
    ) -> Option<Pushed> {
        let classes = with_equalities(classes, condition, unnester);
        let (input, representatives) = self.pushed(input, &classes, unnester)?;
        let conditions = self.replaced_condition(condition, &representatives, unnester);
        Some((filtered(input, conditions), representatives))
    }

    /// A condition on the representatives; `x = x` says that x is not null.
    pub fn replaced_condition(
        &self,
        condition: &Expression,
        representatives: &Representatives,
        unnester: &Unnester<'_>,
    ) -> Vec<Expression> {
        let conditions = conjuncts(representatives.replaced(condition, unnester)).into_iter();
        let simplified = conditions.map(|condition| match equated(&condition) {
            Some((left, right)) if left == right && plain(left).is_some() => is_not_null(left.clone()),
            _ => condition,
        });
        simplified.collect()
    }

    /// Γ_{A ∪ A(D)}(D ⧑ T), and for a static aggregation what its columns are made of if there is no group.
    pub fn grouped(&mut self, aggregation: &Aggregation, unnester: &mut Unnester<'_>) -> Option<Grouped> {
        let is_static = is_static(aggregation);
        let (input, below) = self.pushed(&aggregation.input, &[], unnester)?;
        let mut grouped = grouped_by(&below, Aggregation { input, ..aggregation.clone() }, unnester)?;
        let (own, representatives) = below.renamed(unnester);
        add_keys(&mut grouped, &own, self.columns_of(&below, unnester));
        let mut values = Vec::new();
        if is_static {
            for (made, call) in &mut grouped.aggregates {
                let value = value_without_rows(call)?;
                if value != Value::Null {
                    let counted = unnester.columns.add_like(*made);
                    let default = Expression::constant(value, call.sql_type);
                    let choices = vec![column(counted, unnester.columns), default];
                    values.push((*made, Expression { node: Node::Coalesce(choices), sql_type: call.sql_type }));
                    *made = counted;
                }
            }
        }
        Some((Relation::Aggregate(Box::new(grouped)), representatives, values))
    }

    /// The same with a row for each value of D that no aggregate counts, where groups exist without rows: D ⟕ T.
    fn grouped_with_absent_rows(&mut self, aggregation: &Aggregation, unnester: &mut Unnester<'_>) -> Option<Pushed> {
        let (input, below) = self.pushed(&aggregation.input, &[], unnester)?;
        let (domain, instance) = self.instance(unnester);
        let mut grouped = grouped_by(&below, Aggregation { input: Relation::OneRow, ..aggregation.clone() }, unnester)?;
        let condition = equality(&instance, &below, unnester)?;
        let conditions = unnester.count_present_rows(&mut grouped, domain, input, all_of(condition))?;
        let (own, representatives) = instance.renamed(unnester);
        add_keys(&mut grouped, &own, self.columns_of(&instance, unnester));
        Some((filtered(Relation::Aggregate(Box::new(grouped)), conditions), representatives))
    }

    /// LIMIT within each value of D, by the numbers of its rows.
    fn limit(
        &mut self,
        input: &Relation,
        (offset, limit): (Option<&Expression>, Option<&Expression>),
        ties: Option<&[SortKey]>,
        unnester: &mut Unnester<'_>,
    ) -> Option<Pushed> {
        let order = order_of(input).to_vec();
        let (input, representatives) = self.pushed(input, &[], unnester)?;
        let count = |count: Option<&Expression>| count.map(|count| representatives.replaced(count, unnester));
        let counts = (count(offset), count(limit));
        let partition_by = self.columns_of(&representatives, unnester);
        let order = replaced_keys(&order, &representatives, unnester);
        let limited = unnester.limited_by_numbers(input, counts, ties.is_some(), (partition_by, order))?;
        Some((limited, representatives))
    }

    /// A row of VALUES is an expression of a union's input.
    fn values(
        &mut self,
        columns: &[ColumnId],
        rows: &[Vec<Expression>],
        unnester: &mut Unnester<'_>,
    ) -> Option<Pushed> {
        let inputs = rows.iter().map(|row| {
            let made: Vec<ColumnId> = columns.iter().map(|like| unnester.columns.add_like(*like)).collect();
            let expressions = made.iter().copied().zip(row.iter().cloned()).collect();
            Rows { relation: Relation::Map { input: Box::new(Relation::OneRow), expressions }, columns: made }
        });
        let inputs = inputs.collect();
        self.pushed(&Relation::Union { inputs, columns: columns.to_vec() }, &[], unnester)
    }

    /// An input with an order of columns: the representatives are the last ones.
    fn rows(&mut self, rows: &Rows, unnester: &mut Unnester<'_>) -> Option<(Rows, Representatives)> {
        let (relation, representatives) = self.pushed(&rows.relation, &[], unnester)?;
        let columns = rows.columns.iter().copied().chain(representatives.all()).collect();
        Some((Rows { relation, columns }, representatives))
    }

    /// The same for what is read several times: its rows are those of D's values only.
    fn rows_with_domain(&mut self, rows: &Rows, unnester: &mut Unnester<'_>) -> Option<(Rows, Representatives)> {
        let before = std::mem::replace(&mut self.can_substitute, false);
        let pushed = self.rows(rows, unnester);
        self.can_substitute = before;
        pushed
    }

    /// Each value of D has its own recursion.
    fn recursion(&mut self, recursion: &Recursion, classes: &Classes, unnester: &mut Unnester<'_>) -> Option<Pushed> {
        let Recursion { cte, is_distinct, start, step, body } = recursion;
        let (mut start, mut step) = (start.clone(), step.clone());
        // A recursion may have no end.
        if self.is_guarded || self.is_dependent(&start.relation) || self.is_dependent(&step.relation) {
            (start, _) = self.rows_with_domain(&start, unnester)?;
            self.dependent_ctes.insert(*cte);
            (step, _) = self.rows_with_domain(&step, unnester)?;
        }
        let (body, representatives) = self.pushed(body, classes, unnester)?;
        let recursion = Recursion { cte: *cte, is_distinct: *is_distinct, start, step, body };
        Some((Relation::Recursive(Box::new(recursion)), representatives))
    }

    fn columns_of(&self, representatives: &Representatives, unnester: &Unnester<'_>) -> Vec<Expression> {
        representatives.all().map(|own| column(own, unnester.columns)).collect()
    }
}

/// An aggregation that reads the representatives instead of D's columns.
fn grouped_by(below: &Representatives, aggregation: Aggregation, unnester: &Unnester<'_>) -> Option<Aggregation> {
    let mut relation = Relation::Aggregate(Box::new(aggregation));
    for expression in relation.expressions_mut() {
        *expression = below.replaced(expression, unnester);
    }
    match relation {
        Relation::Aggregate(grouped) => Some(*grouped),
        _ => None,
    }
}

/// Further keys, of all sets.
fn add_keys(aggregation: &mut Aggregation, made: &[ColumnId], keys: Vec<Expression>) {
    let first = aggregation.keys.len();
    aggregation.keys.extend(made.iter().copied().zip(keys));
    for set in &mut aggregation.sets {
        set.extend(first..first + made.len());
    }
}

/// Whether no group exists without rows, or it is one whose aggregates then have known values.
fn has_known_groups(aggregation: &Aggregation) -> bool {
    match is_static(aggregation) {
        true => aggregation.aggregates.iter().all(|(_, call)| value_without_rows(call).is_some()),
        false => !aggregation.sets.iter().any(Vec::is_empty),
    }
}

/// `D1 = D2`, of nulls, too.
pub(super) fn equality(
    left: &Representatives,
    right: &Representatives,
    unnester: &Unnester<'_>,
) -> Option<Vec<Expression>> {
    let pairs = left.all().zip(right.all());
    pairs
        .map(|(left, right)| null_safe_equality(column(left, unnester.columns), column(right, unnester.columns)))
        .collect()
}

fn replaced_keys(keys: &[SortKey], representatives: &Representatives, unnester: &Unnester<'_>) -> Vec<SortKey> {
    let replace = |key: &SortKey| SortKey { expression: representatives.replaced(&key.expression, unnester), ..*key };
    keys.iter().map(replace).collect()
}

/// The order of a relation's rows, which what stands above keeps.
pub(super) fn order_of(relation: &Relation) -> &[SortKey] {
    match relation {
        Relation::Sort { keys, .. } => keys,
        Relation::Map { input, .. }
        | Relation::Filter { input, .. }
        | Relation::Limit { input, .. }
        | Relation::DistinctOn { input, .. } => order_of(input),
        _ => &[],
    }
}

/// The classes with the columns that a condition equates: they are equal in rows for which it is true.
pub(super) fn with_equalities(
    classes: &Classes,
    condition: &Expression,
    unnester: &Unnester<'_>,
) -> Vec<BTreeSet<ColumnId>> {
    let mut classes = classes.to_vec();
    for condition in conjuncts(condition.clone()) {
        let Some((left, right)) = equated(&condition) else { continue };
        let sides = (as_equal_column(left, unnester.columns), as_equal_column(right, unnester.columns));
        let (Some(left), Some(right)) = sides else { continue };
        let (of_left, of_right) = (unnester.columns.sql_type(left), unnester.columns.sql_type(right));
        let are_same = match of_left == of_right {
            true => has_one_form(left, unnester.columns),
            false => of_left.id == of_right.id && is_identity(left, unnester.columns),
        };
        if !are_same {
            continue;
        }
        let (met, mut others): (Vec<_>, Vec<_>) =
            classes.into_iter().partition(|class| class.contains(&left) || class.contains(&right));
        others.push(met.into_iter().flatten().chain([left, right]).collect());
        classes = others;
    }
    classes
}

/// The column that an expression is, under another name of its type.
fn plain(expression: &Expression) -> Option<ColumnId> {
    match &expression.node {
        Node::Relabel(inner) => plain(inner),
        _ => as_column(expression),
    }
}
