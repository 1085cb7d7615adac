//! Smaller forms of a query, each with one part left out, and of tables, each with some rows left out.
//!
//! Many of these forms are invalid, because another part refers to the missing one. Both engines refuse them, which does not
//! count as a difference. With a limit, the order always has all columns.

use super::query::{Body, Condition, From, Query, Relation, Select, Source, Value};
use super::schema::Table;

impl Query {
    /// All forms with one part left out.
    pub fn smaller(&self) -> Vec<Self> {
        let mut forms = Vec::new();
        if self.offset.is_some() {
            forms.push(Self { offset: None, ..self.clone() });
        }
        if self.limit.is_some() {
            forms.push(Self { limit: None, ..self.clone() });
        }
        if !self.order_by.is_empty() && self.limit.is_none() && self.offset.is_none() {
            forms.push(Self { order_by: Vec::new(), ..self.clone() });
        }
        let names = self.body.names();
        for name in names.iter().filter(|_| names.len() > 1) {
            let order_by = self.order_by.iter().filter(|key| key.name != *name).cloned().collect();
            forms.push(Self { body: self.body.without(name), order_by, ..self.clone() });
        }
        forms.extend(self.body.smaller().into_iter().map(|body| Self { body, ..self.clone() }));
        forms
    }
}

impl Body {
    fn names(&self) -> Vec<String> {
        match self {
            Self::Select(select) => select.items.iter().map(|item| item.name.clone()).collect(),
            Self::Set { left, .. } => left.names(),
        }
    }

    fn without(&self, name: &str) -> Self {
        match self {
            Self::Select(select) => {
                let mut select = select.clone();
                select.items.retain(|item| item.name != name);
                Self::Select(select)
            }
            Self::Set { operation, left, right } => {
                Self::Set { operation, left: Box::new(left.without(name)), right: Box::new(right.without(name)) }
            }
        }
    }

    fn smaller(&self) -> Vec<Self> {
        match self {
            Self::Select(select) => select.smaller().into_iter().map(|select| Self::Select(Box::new(select))).collect(),
            Self::Set { operation, left, right } => {
                let mut forms = vec![(**left).clone(), (**right).clone()];
                for left in left.smaller() {
                    forms.push(Self::Set { operation, left: Box::new(left), right: right.clone() });
                }
                for right in right.smaller() {
                    forms.push(Self::Set { operation, left: left.clone(), right: Box::new(right) });
                }
                forms
            }
        }
    }
}

impl Select {
    fn smaller(&self) -> Vec<Self> {
        let mut forms: Vec<Self> = self.from.smaller().into_iter().map(|from| Self { from, ..self.clone() }).collect();
        if self.is_distinct {
            forms.push(Self { is_distinct: false, ..self.clone() });
        }
        let conditions = smaller_conditions(&self.conditions);
        forms.extend(conditions.into_iter().map(|conditions| Self { conditions, ..self.clone() }));
        let having = smaller_conditions(&self.having);
        forms.extend(having.into_iter().map(|having| Self { having, ..self.clone() }));
        for at in 0..self.group_by.len() {
            forms.push(Self { group_by: without(&self.group_by, at), ..self.clone() });
        }
        for (at, item) in self.items.iter().enumerate() {
            if let Value::Query(query) = &item.value {
                for smaller in query.smaller() {
                    let mut form = self.clone();
                    form.items[at].value = Value::Query(Box::new(smaller));
                    forms.push(form);
                }
            }
        }
        forms
    }
}

impl From {
    fn smaller(&self) -> Vec<Self> {
        let mut forms = Vec::new();
        if let [second, rest @ ..] = &self.joins[..] {
            forms.push(Self { first: second.relation.clone(), joins: rest.to_vec() });
        }
        for at in 0..self.joins.len() {
            forms.push(Self { joins: without(&self.joins, at), ..self.clone() });
            for on in smaller_conditions(&self.joins[at].on).into_iter().filter(|on| !on.is_empty()) {
                let mut form = self.clone();
                form.joins[at].on = on;
                forms.push(form);
            }
            if !matches!(self.joins[at].kind, "join" | "cross join") {
                let mut form = self.clone();
                form.joins[at].kind = "join";
                forms.push(form);
            }
            for relation in self.joins[at].relation.smaller() {
                let mut form = self.clone();
                form.joins[at].relation = relation;
                forms.push(form);
            }
        }
        forms.extend(self.first.smaller().into_iter().map(|first| Self { first, ..self.clone() }));
        forms
    }
}

impl Relation {
    fn smaller(&self) -> Vec<Self> {
        let Source::Query(query) = &self.source else { return Vec::new() };
        let of = |query| Self { source: Source::Query(Box::new(query)), alias: self.alias.clone() };
        query.smaller().into_iter().map(of).collect()
    }
}

impl Condition {
    fn smaller(&self) -> Vec<Self> {
        match self {
            Self::Plain(_) => Vec::new(),
            Self::Not(condition) => {
                let negated = condition.smaller().into_iter().map(|condition| Self::Not(Box::new(condition)));
                std::iter::once((**condition).clone()).chain(negated).collect()
            }
            Self::All(parts) => parts.iter().cloned().chain(nonempty(parts).map(Self::All)).collect(),
            Self::Any(parts) => parts.iter().cloned().chain(nonempty(parts).map(Self::Any)).collect(),
            Self::Exists(query) => query.smaller().into_iter().map(|query| Self::Exists(Box::new(query))).collect(),
            Self::Compared { value, operator, query } => {
                let of = |query| Self::Compared { value: value.clone(), operator, query: Box::new(query) };
                query.smaller().into_iter().map(of).collect()
            }
        }
    }
}

fn nonempty(parts: &[Condition]) -> impl Iterator<Item = Vec<Condition>> {
    smaller_conditions(parts).into_iter().filter(|parts| !parts.is_empty())
}

/// The list without each one, and with each one smaller.
fn smaller_conditions(conditions: &[Condition]) -> Vec<Vec<Condition>> {
    let mut forms: Vec<Vec<Condition>> = (0..conditions.len()).map(|at| without(conditions, at)).collect();
    for (at, condition) in conditions.iter().enumerate() {
        for smaller in condition.smaller() {
            let mut form = conditions.to_vec();
            form[at] = smaller;
            forms.push(form);
        }
    }
    forms
}

fn without<T: Clone>(parts: &[T], at: usize) -> Vec<T> {
    parts.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, part)| part.clone()).collect()
}

impl Table {
    /// The forms of the table without one of `parts` pieces of its rows.
    pub fn smaller(&self, parts: usize) -> Vec<Self> {
        let piece = self.rows.len().div_ceil(parts).max(1);
        let forms = (0..self.rows.len()).step_by(piece).map(|from| {
            let to = (from + piece).min(self.rows.len());
            let rows = [&self.rows[..from], &self.rows[to..]].concat();
            Self { rows, ..self.clone() }
        });
        forms.collect()
    }
}

#[cfg(test)]
mod tests {
    use braid_testing::cases;

    use super::super::generator::Generator;
    use super::super::schema::tables;

    #[test]
    fn every_smaller_form_is_another_query_and_shrinking_ends() {
        let tables = tables(1);
        for case in cases!(0..200) {
            let mut query = Generator::new(case.seed, &tables).case();
            let mut length = query.to_string().len();
            let mut steps = 0;
            while let Some(smaller) = query.smaller().pop() {
                let text = smaller.to_string();
                assert_ne!(text, query.to_string());
                // `left join` becomes `join`, a join becomes what it joined: nothing grows.
                assert!(text.len() <= length, "{text}");
                (query, length, steps) = (smaller, text.len(), steps + 1);
                assert!(steps < 200);
            }
        }
    }

    #[test]
    fn parts_of_the_rows_are_left_out_once_each() {
        let table = tables(3).into_iter().find(|table| table.rows.len() > 40).unwrap();
        let forms = table.smaller(4);
        assert_eq!(forms.len(), 4);
        let left: usize = forms.iter().map(|form| form.rows.len()).sum();
        assert_eq!(left, table.rows.len() * 3);
    }
}
