//! PostgreSQL's answers, stored in `tests/resolution`: a line is a question and the type of the result, or SQLSTATE and message.
//!
//! The kinds of questions: `operator` and `function` with the types of the arguments (`VARIADIC` last if the call has it, names as
//! `name=>type`), `common` for COALESCE of values of these types, `explicit` and `assignment` for casts.

use braid_base::{EnumType, EnumTypeId, SchemaId};

use super::*;
use crate::SqlError;
use crate::pg_catalog::{CastContext, TypeId, pg_catalog};
use crate::types::type_names::type_name;

fn id(name: &str) -> TypeId {
    pg_catalog().type_named(name).unwrap_or_else(|| panic!("no type {name}"))
}

fn answer_of(result: Result<TypeId, SqlError>) -> String {
    match result {
        // A column of unknown type is one of text.
        Ok(TypeId::UNKNOWN) => "text".to_owned(),
        Ok(id) => pg_catalog().type_entry(id).name.to_owned(),
        Err(error) => format!("{} {}", error.sqlstate(), error.message()),
    }
}

fn function(name: &str, words: &str) -> Result<TypeId, SqlError> {
    let variadic = words.ends_with(" VARIADIC");
    let words: Vec<&str> = words.split_ascii_whitespace().filter(|word| *word != "VARIADIC").collect();
    let (names, types): (Vec<Option<&str>>, Vec<TypeId>) = words
        .iter()
        .map(|word| match word.split_once("=>") {
            Some((name, word)) => (Some(name), id(word)),
            None => (None, id(word)),
        })
        .unzip();
    match resolve_function(name, &types, &names, variadic)? {
        FunctionResolution::Function(function) => {
            assert_eq!(function.argument_types.len(), types.len());
            Ok(function.result)
        }
        FunctionResolution::Coercion(target, _) => Ok(target),
    }
}

fn common(types: &[TypeId]) -> String {
    match common_type(types) {
        Err((one, other)) => {
            format!("42804 COALESCE types {} and {} cannot be matched", type_name(one), type_name(other))
        }
        Ok(common) => {
            let refused = types.iter().find(|id| !can_coerce(&[**id], &[common], CastContext::Implicit));
            refused.map_or_else(
                || answer_of(Ok(common)),
                |id| format!("42846 COALESCE could not convert type {} to {}", type_name(*id), type_name(common)),
            )
        }
    }
}

fn answer(kind: &str, name: &str, words: &str) -> String {
    let types = || -> Vec<TypeId> { words.split_ascii_whitespace().map(id).collect() };
    match (kind, words) {
        ("function", words) => answer_of(function(name, words)),
        ("operator", _) => {
            let types = types();
            let (right, left) = types.split_last().expect("an operand");
            answer_of(resolve_operator(name, left.first().copied(), *right).map(|operator| operator.result))
        }
        ("common", _) => common(&types()),
        ("explicit", _) => match coercion_pathway(types()[0], types()[1], CastContext::Explicit) {
            Some(_) => answer_of(Ok(types()[1])),
            None => format!("42846 cannot cast type {} to {}", type_name(types()[0]), type_name(types()[1])),
        },
        ("assignment", _) => match coercion_pathway(types()[0], types()[1], CastContext::Assignment) {
            Some(_) => "ok".to_owned(),
            None => {
                let (source, target) = (type_name(types()[0]), type_name(types()[1]));
                let column = words.split_once(' ').expect("two types").1;
                format!("42804 column \"c_{column}\" is of type {target} but expression is of type {source}")
            }
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn choices_are_those_of_postgresql() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/resolution/choices");
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in std::fs::read_dir(folder).expect("the folder of choices") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a text");
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [kind, name, words, expected] = fields[..] else { panic!("not four fields: {line:?}") };
            let found = answer(kind, name, words);
            count += 1;
            if found != expected {
                wrong.push(format!("{kind} {name} ({words}): {found}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} are wrong:\n{}", wrong.len(), wrong[..wrong.len().min(100)].join("\n"));
}

#[test]
fn arguments_are_ordered_defaulted_and_gathered() {
    let resolve = |name: &str, types: &[&str], names: &[Option<&str>], variadic: bool| {
        let types: Vec<TypeId> = types.iter().map(|name| id(name)).collect();
        match resolve_function(name, &types, names, variadic) {
            Ok(FunctionResolution::Function(function)) => function,
            other => panic!("{name}: {other:?}"),
        }
    };
    let named = resolve("make_interval", &["int4", "unknown", "int4"], &[None, Some("secs"), Some("days")], false);
    assert_eq!(named.argument_order, [Some(0), None, None, Some(2), None, None, Some(1)]);
    assert_eq!(named.argument_types, [TypeId::INT4, TypeId::FLOAT8, TypeId::INT4]);

    let defaulted = resolve("jsonb_set", &["jsonb", "_text", "jsonb"], &[], false);
    assert_eq!(defaulted.argument_order, [Some(0), Some(1), Some(2), None]);

    let path = resolve("jsonb_extract_path", &["jsonb", "unknown", "text"], &[], false);
    assert_eq!((path.gathered, path.argument_types.len()), (Some(2), 3));
    assert_eq!(path.argument_types[1..], [TypeId::TEXT, TypeId::TEXT]);
    let array = resolve("jsonb_extract_path", &["jsonb", "unknown"], &[], true);
    assert_eq!((array.gathered, array.argument_types[1]), (None, TypeId::TEXT_ARRAY));

    let any = resolve("concat", &["int4", "unknown", "date"], &[], false);
    assert_eq!((any.gathered, any.argument_types), (None, vec![TypeId::INT4, TypeId::TEXT, TypeId::DATE]));
    let unexpanded = resolve("array_append", &["unknown", "int4"], &[], false);
    assert_eq!(
        (unexpanded.argument_types, unexpanded.result),
        (vec![TypeId::INT4_ARRAY, TypeId::INT4], TypeId::INT4_ARRAY)
    );
}

#[test]
fn errors_have_hints() {
    let hint = |error: SqlError| error.hint().unwrap_or_default().to_owned();
    let error = resolve_operator("+", Some(TypeId::BOOL), TypeId::BOOL).expect_err("no operator");
    assert!(hint(error).starts_with("No operator matches the given name and argument types."));
    let error = resolve_operator("-", None, TypeId::BOOL).expect_err("no operator");
    assert!(hint(error).starts_with("No operator matches the given name and argument type. You"));
    let error = resolve_operator("+", Some(TypeId::UNKNOWN), TypeId::UNKNOWN).expect_err("several operators");
    assert!(hint(error).starts_with("Could not choose a best candidate operator."));
    let error = resolve_function("lower", &[TypeId::INT4], &[], false).expect_err("no function");
    assert!(hint(error).starts_with("No function matches the given name and argument types."));
    let error = resolve_function("abs", &[TypeId::UNKNOWN, TypeId::INT4], &[], false).expect_err("no function");
    assert_eq!(error.message(), "function abs(unknown, integer) does not exist");
    let error = resolve_function("f", &[TypeId::INT4; 101], &[], false).expect_err("too many arguments");
    assert_eq!((error.sqlstate(), error.message()), ("54023", "cannot pass more than 100 arguments to a function"));
    let names = [Some("years"), Some("years")];
    let error = resolve_function("make_interval", &[TypeId::INT4; 2], &names, false).expect_err("a name twice");
    assert_eq!((error.sqlstate(), error.message()), ("42601", "argument name \"years\" used more than once"));
    let names = [Some("years"), None];
    let error =
        resolve_function("make_interval", &[TypeId::INT4; 2], &names, false).expect_err("a position after a name");
    assert_eq!((error.sqlstate(), error.message()), ("42601", "positional argument cannot follow named argument"));
}

#[test]
fn pathways_are_those_of_the_catalog() {
    use CastContext::{Assignment, Explicit, Implicit};
    let check = |source: &str, target: &str, context: CastContext| coercion_pathway(id(source), id(target), context);
    assert_eq!(check("text", "varchar", Implicit), Some(Pathway::Relabel));
    assert!(matches!(check("int4", "int8", Implicit), Some(Pathway::Function(_))));
    assert_eq!((check("int8", "int4", Implicit), check("int4", "text", Implicit)), (None, None));
    assert!(matches!(check("int8", "int4", Assignment), Some(Pathway::Function(_))));
    assert_eq!(check("int4", "text", Assignment), Some(Pathway::InputOutput));
    assert_eq!(
        (check("text", "int4", Assignment), check("text", "int4", Explicit)),
        (None, Some(Pathway::InputOutput))
    );
    let elements = check("_int4", "_text", Assignment);
    assert_eq!(elements, Some(Pathway::ArrayElements(Box::new(Pathway::InputOutput), TypeId::INT4, TypeId::TEXT)));
    assert_eq!(check("_int4", "text", Explicit), Some(Pathway::InputOutput));
    let length = length_coercion(id("_numeric")).map(|function| pg_catalog().function(function).signature());
    assert_eq!((length.as_deref(), length_coercion(TypeId::TEXT)), (Some("numeric(numeric int4)"), None));
}

/// PostgreSQL's answers for two types, `mood` and `temper`.
#[test]
fn enumerated_types_stand_where_anyenum_is_declared() {
    let registered = |name: &str| {
        let (name, array_name) = (name.to_owned(), format!("_{name}"));
        let definition = EnumType {
            oid: 1 << 30,
            array_oid: (1 << 30) + 1,
            schema: SchemaId::PUBLIC,
            name,
            array_name,
            labels: Vec::new(),
        };
        TypeId::of_enum(EnumTypeId::register(definition.into()))
    };
    let (mood, temper) = (registered("mood"), registered("temper"));
    let array = pg_catalog().type_entry(mood).array.expect("it has arrays");
    let operator = |left, right| {
        let resolved = resolve_operator("<", Some(left), right);
        resolved.map(|resolved| resolved.argument_types).map_err(|error| error.message().to_owned())
    };
    assert_eq!(operator(mood, mood), Ok(vec![mood; 2]));
    assert_eq!(operator(TypeId::UNKNOWN, mood), Ok(vec![mood; 2]));
    assert_eq!(operator(mood, temper), Err("operator does not exist: mood < temper".to_owned()));
    assert_eq!(operator(mood, TypeId::TEXT), Err("operator does not exist: mood < text".to_owned()));
    let result = |name: &str, types: &[TypeId]| match resolve_function(name, types, &vec![None; types.len()], false) {
        Ok(FunctionResolution::Function(function)) => Ok(function.result),
        Ok(FunctionResolution::Coercion(target, _)) => Ok(target),
        Err(error) => Err(error.message().to_owned()),
    };
    assert_eq!((result("enum_last", &[mood]), result("max", &[mood])), (Ok(mood), Ok(mood)));
    assert_eq!(result("enum_range", &[TypeId::UNKNOWN, mood]), Ok(array));
    assert_eq!(result("enum_first", &[TypeId::UNKNOWN]), Err("function enum_first(unknown) does not exist".to_owned()));
    assert_eq!(result("enum_first", &[TypeId::INT4]), Err("function enum_first(integer) does not exist".to_owned()));
    use CastContext::{Assignment, Explicit, Implicit};
    let casts = |source, target| {
        [Implicit, Assignment, Explicit].map(|context| coercion_pathway(source, target, context).is_some())
    };
    assert_eq!(casts(mood, TypeId::TEXT), [false, true, true]);
    assert_eq!(casts(TypeId::TEXT, mood), [false, false, true]);
    assert_eq!(casts(array, TypeId::TEXT_ARRAY), [false, true, true]);
    assert_eq!((casts(mood, temper), casts(mood, TypeId::INT4)), ([false; 3], [false; 3]));
    assert_eq!(common_type(&[TypeId::UNKNOWN, mood, TypeId::UNKNOWN]), Ok(mood));
}
