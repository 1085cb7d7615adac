//! Statement forms by hand, with places for constants.
//!
//! A place is a letter in braces. The constants of a letter come from few values, so that queries of a pass often have the same ones.
//! `{t}` is a table, the same one in all places.

use super::super::random_sql::draw::Draw;

/// The forms. One with an order sorts completely.
pub const FORMS: [&str; 30] = [
    "select count(*) as c, sum(v) as v, min(n) as n, max(d) as d from {t} where v < {i}",
    "select g, count(*) as c, sum(n) as n, avg(v) as a from {t} where k between {k} and {k} group by g",
    "select s, count(*) as c from {t} where v >= {i} and b group by s having count(*) > {g} order by s",
    "select distinct g, b from {t} where v = {i}",
    "select id, v, n, k, s, d from {t} where s = {s} and v < {i} order by n desc nulls last, id, v, k, s, d limit {l}",
    "select id, k, s, d from {t} where id > {j} order by id, k, s, d",
    "select id, n, d from {t} where d >= {d} and g = {g}",
    "select f.g, s.label, count(*) as c, sum(f.v) as v from {t} as f join small as s on f.k = s.k where s.w < {i} \
     group by f.g, s.label",
    "select count(*) as c from {t} as f left join small as s on f.k = s.k and s.w < {i} where s.k is null",
    "select f.id, s.label from {t} as f join small as s on f.k = s.k where f.v < {i} and s.w > {i}",
    // Two tables that change: both of the same snapshot.
    "select count(*) as c, sum(a.v) as v from changing_0 as a join changing_1 as b on a.id = b.id \
     where a.v < {i} and b.g = {g}",
    "select (select count(*) from changing_0 where v < {i}) as a, (select count(*) from changing_1 where v < {i}) as b, \
     count(*) as c from fixed where v < {i}",
    "select a.g, count(*) as c from changing_0 as a where a.v < {i} \
     and exists (select 1 from changing_1 as b where b.id = a.id and b.v > {i}) group by a.g",
    "select count(*) as c from {t} as f where exists (select 1 from small as s where s.k = f.k and s.w > {i})",
    "select g, count(*) as c from {t} where v in ({i}, {i}, {i}) group by g",
    "select count(*) as c, min(s) as a, max(s) as b from {t} where s like {p}",
    "select sum(case when v < {i} then n when v < {i} then 1 end) as a, count(case when b then v end) as c \
     from {t} where g <> {g}",
    // These fail for some constants, or for some of the rows.
    "select g, sum(1000 / (v - {i})) as q from {t} where id < {j} group by g",
    "select id, 1000 / (v - {i}) as q from {t} where k < {k}",
    "select sum(1000 / nullif(v - {i}, 0)) as q from {t}",
    "select sum(v * {o}) as v from {t} where g = {g}",
    "select count(cast(s as integer)) as c from {t} where id = {j}",
    "select id, v from {t} where n = (select max(n) from {t} where v < {i}) order by id, v",
    "select count(*) as c from {t} where not (v < {i} or s like {p}) and d < {d}",
    "select g as a from {t} where v < {i} union all select w from small where w < {i}",
    "select count(distinct s) as a, count(distinct v) as b from {t} where d between {d} and {d}",
    "select id, s from {t} where v < {i} and s not in (select label from small where w < {i}) order by id, s limit {l}",
    "select count(*) as c, sum(v) as v from {t} where {i} < {i} or v = {i}",
    "select k % 10 as m, sum(n) as n from {t} where k > {k} group by k % 10 order by m desc",
    "select b, max(k) as k from {t} where n > {n} group by b having max(k) < {k} order by b nulls first",
];

/// A constant: its literal, and its text and type as a parameter.
pub struct Constant {
    /// As a statement's text has it.
    pub literal: String,
    /// As a parameter's text.
    pub text: String,
    /// The parameter's type.
    pub sql_type: &'static str,
}

/// A constant for the place with this letter. Panics if no place has it.
pub fn constant(letter: char, draw: &mut Draw) -> Constant {
    let integer = |value: i64| Constant { literal: value.to_string(), text: value.to_string(), sql_type: "integer" };
    let quoted = |text: String, sql_type| Constant { literal: format!("'{text}'"), text, sql_type };
    match letter {
        'i' => integer(draw.between(0, 20) * 10),
        'j' => integer(draw.between(0, 15) * 600),
        'g' => integer(draw.between(0, 6)),
        'k' => integer(draw.between(0, 10) * 100),
        'o' => integer(*draw.choose(&[1, 3, 1000, 20_000_000])),
        'l' => {
            let limit = draw.choose(&[0, 1, 5, 100]).to_string();
            Constant { literal: limit.clone(), text: limit, sql_type: "bigint" }
        }
        'n' => {
            let number = format!("{}.25", draw.between(0, 12) * 100);
            Constant { literal: number.clone(), text: number, sql_type: "numeric(10,2)" }
        }
        's' => quoted(format!("name {}", draw.between(0, 10) * 7), "text"),
        'p' => quoted((*draw.choose(&["name 1%", "%5", "%e _", "name 33", "%", "x%"])).to_owned(), "text"),
        'd' => {
            let date = format!("{}-{:02}-15", draw.between(2020, 2021), draw.between(1, 12));
            Constant { literal: format!("date '{date}'"), text: date, sql_type: "date" }
        }
        other => panic!("no place has the letter {other}"),
    }
}
