//! The tables of the catalog, and look-ups in them.

use std::sync::LazyLock;

use super::aggregates::{self, AggregateEntry};
use super::catalog_map::CatalogMap;
use super::entries::{
    CastContext, CastEntry, CastMethod, FunctionEntry, FunctionId, FunctionKind, OperatorEntry, TypeCategory,
    TypeEntry, TypeKind, Volatility,
};
use super::orders::{self, OrderEntry};
use super::tsv::{flag, number, optional, rows};
use super::type_id::TypeId;
use super::user_entries::user_entry;

/// Types, casts, operators, functions, aggregates and orders.
#[derive(Debug)]
pub struct PgCatalog {
    types: CatalogMap<TypeId, TypeEntry>,
    types_by_name: CatalogMap<&'static str, TypeId>,
    casts: CatalogMap<(TypeId, TypeId), CastEntry>,
    operators: CatalogMap<&'static str, Vec<OperatorEntry>>,
    functions: CatalogMap<FunctionId, FunctionEntry>,
    functions_by_name: CatalogMap<&'static str, Vec<FunctionId>>,
    aggregates: CatalogMap<FunctionId, AggregateEntry>,
    orders: Vec<OrderEntry>,
}

static CATALOG: LazyLock<PgCatalog> = LazyLock::new(PgCatalog::read);

/// The catalog. The first call reads it.
pub fn pg_catalog() -> &'static PgCatalog {
    &CATALOG
}

impl PgCatalog {
    fn read() -> Self {
        let types_by_name = type_rows().map(|row| (row[1], TypeId(number(row[0])))).collect();
        let named = Names(&types_by_name);
        let types = type_rows().map(|row| read_type(row, &named)).map(|entry| (entry.id, entry)).collect();
        let casts =
            rows(include_str!("../../postgres/casts.tsv"), ["source", "target", "context", "method", "function"]);
        let casts = casts.map(|row| read_cast(row, &named)).map(|cast| ((cast.source, cast.target), cast)).collect();
        let mut operators: CatalogMap<&'static str, Vec<OperatorEntry>> = CatalogMap::default();
        let columns = ["oid", "name", "left", "right", "result", "function"];
        for row in rows(include_str!("../../postgres/operators.tsv"), columns) {
            let [id, name, left, right, result, function] = row;
            operators.entry(name).or_default().push(OperatorEntry {
                id: number(id),
                name,
                operands: optional(left).into_iter().chain([right]).map(|operand| named.id(operand)).collect(),
                result: named.id(result),
                function: FunctionId(number(function)),
            });
        }
        let functions: CatalogMap<FunctionId, FunctionEntry> =
            function_rows().map(|row| read_function(row, &named)).map(|entry| (entry.id, entry)).collect();
        let mut functions_by_name: CatalogMap<&'static str, Vec<FunctionId>> = CatalogMap::default();
        for row in function_rows() {
            functions_by_name.entry(row[1]).or_default().push(FunctionId(number(row[0])));
        }
        let aggregates = aggregates::read().map(|entry| (entry.function, entry)).collect();
        let orders = orders::read(&named);
        Self { types, types_by_name, casts, operators, functions, functions_by_name, aggregates, orders }
    }

    /// A type by its number.
    pub fn type_entry(&self, id: TypeId) -> &TypeEntry {
        self.find_type(id).unwrap_or_else(|| panic!("{id:?} is not in the catalog"))
    }

    /// A type by its number; `None` if there is no such type.
    pub fn find_type(&self, id: TypeId) -> Option<&TypeEntry> {
        self.types.get(&id).or_else(|| user_entry(id))
    }

    /// One of PostgreSQL's own types by the oid that a client names; `None` for all others.
    pub fn type_of_oid(&self, oid: u32) -> Option<TypeId> {
        self.types.get(&TypeId(oid)).map(|entry| entry.id)
    }

    /// A type by `typname`.
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        self.types_by_name.get(name).copied()
    }

    /// All types.
    pub fn types(&self) -> impl Iterator<Item = &TypeEntry> {
        self.types.values()
    }

    /// The element type of an array type; `None` for all other types.
    pub fn element_of_array(&self, id: TypeId) -> Option<TypeId> {
        let entry = self.type_entry(id);
        // As `IsTrueArrayType`: `name` and the geometric types have elements, too, and a fixed length.
        entry.element.filter(|_| entry.length == -1)
    }

    /// The element type of an array type whose arrays, as elements of an array, are a further dimension of it.
    pub fn element_of_dimension(&self, id: TypeId) -> Option<TypeId> {
        self.element_of_array(id).filter(|_| !id.is_vector())
    }

    /// The cast from one type to another, if the catalog has one.
    pub fn cast(&self, source: TypeId, target: TypeId) -> Option<&CastEntry> {
        self.casts.get(&(source, target))
    }

    /// The operators of a name, in the order of their numbers.
    pub fn operators(&self, name: &str) -> &[OperatorEntry] {
        self.operators.get(name).map_or(&[], Vec::as_slice)
    }

    /// An operator by its number; `None` for a number that a client made up.
    pub fn find_operator(&self, id: u32) -> Option<&OperatorEntry> {
        self.operators.values().flatten().find(|operator| operator.id == id)
    }

    /// A function by its number; `None` for a number that a client made up.
    pub fn find_function(&self, id: FunctionId) -> Option<&FunctionEntry> {
        self.functions.get(&id)
    }

    /// A function by its number.
    pub fn function(&self, id: FunctionId) -> &FunctionEntry {
        self.functions.get(&id).unwrap_or_else(|| panic!("{id:?} is not in the catalog"))
    }

    /// The functions of a name, in the order of their numbers.
    pub fn functions_named(&self, name: &str) -> impl Iterator<Item = &FunctionEntry> {
        self.functions_by_name.get(name).into_iter().flatten().map(|id| self.function(*id))
    }

    /// All functions, in the order of their numbers.
    pub fn functions(&self) -> impl Iterator<Item = &FunctionEntry> {
        let mut ids: Vec<&FunctionId> = self.functions.keys().collect();
        ids.sort_unstable();
        ids.into_iter().map(|id| self.function(*id))
    }

    /// What an aggregate computes with; `None` for a function of another kind.
    pub fn aggregate(&self, id: FunctionId) -> Option<&AggregateEntry> {
        self.aggregates.get(&id)
    }

    /// All orders; those of a type begin with its default one.
    pub fn orders(&self) -> &[OrderEntry] {
        &self.orders
    }
}

/// Types by name.
pub(super) struct Names<'a>(&'a CatalogMap<&'static str, TypeId>);

impl Names<'_> {
    pub(super) fn id(&self, name: &str) -> TypeId {
        *self.0.get(name).unwrap_or_else(|| panic!("the catalog has no type {name:?}"))
    }

    fn list(&self, names: &str) -> Vec<TypeId> {
        names.split_ascii_whitespace().map(|name| self.id(name)).collect()
    }
}

fn type_rows() -> impl Iterator<Item = [&'static str; 10]> {
    let columns = ["oid", "name", "kind", "category", "preferred", "length", "element", "array", "input", "output"];
    rows(include_str!("../../postgres/types.tsv"), columns)
}

fn read_type(row: [&'static str; 10], named: &Names<'_>) -> TypeEntry {
    let [id, name, kind, category, preferred, length, element, array, input, output] = row;
    TypeEntry {
        id: TypeId(number(id)),
        name,
        kind: match kind {
            "b" => TypeKind::Base,
            "p" => TypeKind::Pseudo,
            "r" | "m" => TypeKind::Range,
            other => panic!("a type of kind {other:?}"),
        },
        category: TypeCategory(category.chars().next().expect("a type has a category")),
        is_preferred: flag(preferred),
        length: length.parse().expect("a type has a length"),
        element: optional(element).map(|element| named.id(element)),
        array: optional(array).map(|array| named.id(array)),
        input: FunctionId(number(input)),
        output: FunctionId(number(output)),
    }
}

fn read_cast(row: [&'static str; 5], named: &Names<'_>) -> CastEntry {
    let [source, target, context, method, function] = row;
    CastEntry {
        source: named.id(source),
        target: named.id(target),
        context: match context {
            "i" => CastContext::Implicit,
            "a" => CastContext::Assignment,
            "e" => CastContext::Explicit,
            other => panic!("a cast of context {other:?}"),
        },
        method: match method {
            "f" => CastMethod::Function(FunctionId(number(function))),
            "b" => CastMethod::Binary,
            "i" => CastMethod::InputOutput,
            other => panic!("a cast of method {other:?}"),
        },
    }
}

fn function_rows() -> impl Iterator<Item = [&'static str; 13]> {
    let columns = [
        "oid",
        "name",
        "kind",
        "volatility",
        "strict",
        "returns_set",
        "result",
        "arguments",
        "variadic",
        "argument_names",
        "defaults",
        "columns",
        "symbol",
    ];
    rows(include_str!("../../postgres/functions.tsv"), columns)
}

fn read_function(row: [&'static str; 13], named: &Names<'_>) -> FunctionEntry {
    let [
        id,
        name,
        kind,
        volatility,
        strict,
        returns_set,
        result,
        arguments,
        variadic,
        names,
        defaults,
        columns,
        symbol,
    ] = row;
    FunctionEntry {
        id: FunctionId(number(id)),
        name,
        kind: match kind {
            "f" => FunctionKind::Function,
            "a" => FunctionKind::Aggregate,
            "w" => FunctionKind::Window,
            other => panic!("a function of kind {other:?}"),
        },
        volatility: match volatility {
            "i" => Volatility::Immutable,
            "s" => Volatility::Stable,
            "v" => Volatility::Volatile,
            other => panic!("a function of volatility {other:?}"),
        },
        is_strict: flag(strict),
        returns_set: flag(returns_set),
        result: named.id(result),
        arguments: named.list(arguments),
        variadic: optional(variadic).map(|variadic| named.id(variadic)),
        argument_names: names.split_ascii_whitespace().collect(),
        defaults: optional(defaults).map_or(Vec::new(), |defaults| defaults.split(", ").collect()),
        columns: optional(columns).map_or(Vec::new(), |columns| {
            let pair = |column: &'static str| column.rsplit_once(' ').expect("a column has a name and a type");
            columns.split(',').map(pair).map(|(name, id)| (name, named.id(id))).collect()
        }),
        symbol: optional(symbol),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        let catalog = pg_catalog();
        assert_eq!((catalog.types.len(), catalog.casts.len(), catalog.functions.len()), (185, 229, 3234));
        assert_eq!(catalog.operators.values().map(Vec::len).sum::<usize>(), 799);
        assert_eq!((catalog.aggregates.len(), catalog.orders.len()), (148, 47));
        for entry in catalog.functions() {
            assert_eq!(entry.kind == FunctionKind::Aggregate, catalog.aggregate(entry.id).is_some(), "{entry:?}");
            assert!(entry.defaults.len() <= entry.arguments.len(), "{entry:?}");
            assert!(
                entry.argument_names.is_empty() || entry.argument_names.len() == entry.arguments.len(),
                "{entry:?}"
            );
        }
        for operator in catalog.operators.values().flatten() {
            let function = catalog.function(operator.function);
            assert_eq!(function.arguments.len(), operator.operands.len(), "{operator:?}");
        }
    }

    #[test]
    fn arrays_and_their_elements_find_each_other() {
        let catalog = pg_catalog();
        assert_eq!(catalog.type_entry(TypeId::INT4).array, Some(TypeId::INT4_ARRAY));
        assert_eq!(catalog.element_of_array(TypeId::INT4_ARRAY), Some(TypeId::INT4));
        // A name has characters, and is no array.
        assert_eq!((catalog.element_of_array(TypeId::NAME), catalog.element_of_array(TypeId::TEXT)), (None, None));
        for name in ["make_interval", "jsonb_set", "json_each"] {
            assert!(catalog.functions_named(name).next().is_some(), "{name}");
        }
    }
}
