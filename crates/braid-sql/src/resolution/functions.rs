//! The function that a call means.
//!
//! Candidates are the functions of the name that can be called with so many arguments: positional or named, with defaults for the last
//! parameters, with further arguments for a variadic one. The exact match comes first, then a cast that is written as a call, then the
//! best of those that accept the arguments after implicit casts.

use super::candidates::{Choice, choose};
use super::coercion::{Pathway, coercion_pathway};
use super::polymorphic;
use crate::pg_catalog::{CastContext, FunctionEntry, FunctionId, TypeCategory, TypeId, pg_catalog};
use crate::types::type_names::type_name;
use crate::{SqlError, SqlState};

/// The most arguments of a call (`FUNC_MAX_ARGS`).
const ARGUMENTS_MAX: usize = 100;

/// A function, aggregate or window function with the types of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedFunction {
    /// The function.
    pub function: FunctionId,
    /// The type to which each given argument is coerced, in the order in which they are given: polymorphic types are replaced, and a
    /// variadic parameter's arguments have its element type. For VARIADIC "any" it is the argument's own type, `text` for `unknown`.
    pub argument_types: Vec<TypeId>,
    /// The type of the result, polymorphic types replaced.
    pub result: TypeId,
    /// For each parameter of the function in order, the index of the given argument, or `None` for its default. Arguments that a
    /// variadic parameter gathers have an entry each.
    pub argument_order: Vec<Option<usize>>,
    /// How many trailing arguments are gathered into an array: those of a variadic call that is not written with VARIADIC. `None` for all
    /// other calls, and for VARIADIC "any", whose functions take them one by one.
    pub gathered: Option<usize>,
}

/// What a call means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionResolution {
    /// A function.
    Function(ResolvedFunction),
    /// A cast of the only argument to this type, written as a call: `float8(x)`, `text(x)`.
    Coercion(TypeId, Pathway),
}

/// The function that a call means. `names[i]` is the name of argument i in named notation; `names` is empty or as long as `arguments`.
/// `variadic` says that the last argument was written with VARIADIC.
pub fn resolve_function(
    name: &str,
    arguments: &[TypeId],
    names: &[Option<&str>],
    variadic: bool,
) -> Result<FunctionResolution, SqlError> {
    if arguments.len() > ARGUMENTS_MAX {
        let message = format!("cannot pass more than {ARGUMENTS_MAX} arguments to a function");
        return Err(SqlError::new(SqlState::TooManyArguments, message));
    }
    let written = Written { name, arguments, names: trailing_names(names)?, variadic };
    let candidates = written.candidates();
    let given_types_only: Vec<&[TypeId]> = candidates.iter().map(|one| &one.wanted[..arguments.len()]).collect();
    let chosen = match given_types_only.iter().position(|wanted| *wanted == arguments) {
        Some(exact) => exact,
        None => match (written.as_coercion(), choose(arguments, &given_types_only)) {
            (Some(coercion), _) => return Ok(coercion),
            (None, Choice::One(index)) => index,
            (None, Choice::NoMatch) => return Err(written.no_function()),
            (None, Choice::Ambiguous) => return Err(written.ambiguous()),
        },
    };
    let candidate = &candidates[chosen];
    let function = candidate.function.ok_or_else(|| written.ambiguous())?;
    written.resolved(candidate, function).map(FunctionResolution::Function)
}

/// The names of named arguments, which are the last ones.
fn trailing_names<'a>(names: &[Option<&'a str>]) -> Result<Vec<&'a str>, SqlError> {
    let mut found: Vec<&str> = Vec::new();
    for name in names {
        match name {
            Some(name) if found.contains(name) => {
                let message = format!("argument name \"{name}\" used more than once");
                return Err(SqlError::new(SqlState::SyntaxError, message));
            }
            Some(name) => found.push(name),
            None if found.is_empty() => {}
            None => {
                return Err(SqlError::new(SqlState::SyntaxError, "positional argument cannot follow named argument"));
            }
        }
    }
    Ok(found)
}

/// A function that can be called with so many arguments.
struct Candidate {
    /// `None` if several functions can be called so, and nothing prefers one.
    function: Option<&'static FunctionEntry>,
    /// The types of the given arguments in their order, then those of the parameters that have their defaults.
    wanted: Vec<TypeId>,
    /// How many of the types belong to defaults.
    defaulted: usize,
    /// Whether a variadic parameter takes its arguments one by one.
    is_expanded: bool,
    /// For each parameter the index of the given argument.
    order: Vec<Option<usize>>,
}

/// A call as it is written.
struct Written<'a> {
    name: &'a str,
    arguments: &'a [TypeId],
    /// Names of the last arguments.
    names: Vec<&'a str>,
    variadic: bool,
}

impl Written<'_> {
    fn candidates(&self) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = Vec::new();
        for entry in pg_catalog().functions_named(self.name) {
            let candidate = if self.names.is_empty() { self.by_position(entry) } else { self.by_name(entry) };
            if let Some(candidate) = candidate {
                add(&mut candidates, candidate);
            }
        }
        candidates
    }

    fn by_position(&self, entry: &'static FunctionEntry) -> Option<Candidate> {
        let (given, parameters) = (self.arguments.len(), entry.arguments.len());
        let expanded = entry.variadic.filter(|_| !self.variadic && parameters <= given);
        let is_callable =
            given == parameters || expanded.is_some() || (entry.arguments_min()..parameters).contains(&given);
        if !is_callable {
            return None;
        }
        let mut wanted = entry.arguments.clone();
        if let Some(element) = expanded {
            wanted.truncate(parameters - 1);
            wanted.resize(given, element);
        }
        let order = (0..wanted.len()).map(|index| (index < given).then_some(index)).collect();
        let defaulted = parameters.saturating_sub(given);
        Some(Candidate { function: Some(entry), wanted, defaulted, is_expanded: expanded.is_some(), order })
    }

    /// Named arguments match a variadic function only if it is called with VARIADIC.
    fn by_name(&self, entry: &'static FunctionEntry) -> Option<Candidate> {
        let (given, parameters) = (self.arguments.len(), entry.arguments.len());
        if given > parameters || (entry.variadic.is_some() && !self.variadic) {
            return None;
        }
        let positional = given - self.names.len();
        let mut order: Vec<Option<usize>> =
            (0..parameters).map(|index| (index < positional).then_some(index)).collect();
        for (index, name) in self.names.iter().enumerate() {
            let parameter = entry.argument_names.iter().position(|candidate| candidate == name)?;
            if order[parameter].replace(positional + index).is_some() {
                return None;
            }
        }
        if order[..entry.arguments_min()].contains(&None) {
            return None;
        }
        let mut wanted = vec![TypeId::ANY; given];
        for (parameter, argument) in order.iter().enumerate() {
            match argument {
                Some(argument) => wanted[*argument] = entry.arguments[parameter],
                None => wanted.push(entry.arguments[parameter]),
            }
        }
        Some(Candidate { function: Some(entry), wanted, defaulted: parameters - given, is_expanded: false, order })
    }

    /// A cast written as a call: the function has a type's name (`typname`), and the type can be had without a function.
    fn as_coercion(&self) -> Option<FunctionResolution> {
        let [source] = *self.arguments else { return None };
        if !self.names.is_empty() {
            return None;
        }
        let catalog = pg_catalog();
        let target = catalog.type_named(self.name)?;
        if source == TypeId::UNKNOWN {
            return Some(FunctionResolution::Coercion(target, Pathway::InputOutput));
        }
        let pathway = coercion_pathway(source, target, CastContext::Explicit)?;
        let is_coercion = match pathway {
            Pathway::Relabel => true,
            // PostgreSQL does not take text(row) for a cast.
            Pathway::InputOutput => {
                source != TypeId::RECORD || catalog.type_entry(target).category != TypeCategory::STRING
            }
            Pathway::Function(_) | Pathway::ArrayElements(..) => false,
        };
        is_coercion.then_some(FunctionResolution::Coercion(target, pathway))
    }

    fn resolved(&self, candidate: &Candidate, function: &FunctionEntry) -> Result<ResolvedFunction, SqlError> {
        let given = self.arguments.len();
        let (mut argument_types, result) =
            polymorphic::resolve(self.arguments, &candidate.wanted[..given], function.result)?;
        let takes_any = function.variadic == Some(TypeId::ANY);
        if takes_any && self.variadic {
            let last = self.arguments.last().copied().unwrap_or(TypeId::UNKNOWN);
            if pg_catalog().element_of_array(last).is_none() {
                return Err(SqlError::new(SqlState::DatatypeMismatch, "VARIADIC argument must be an array"));
            }
        }
        if takes_any {
            let further = argument_types.iter_mut().skip(function.arguments.len() - 1);
            further.filter(|id| **id == TypeId::UNKNOWN).for_each(|id| *id = TypeId::TEXT);
        }
        let gathered = (candidate.is_expanded && !takes_any).then(|| given + 1 - function.arguments.len());
        let argument_order = candidate.order.clone();
        Ok(ResolvedFunction { function: function.id, argument_types, result, argument_order, gathered })
    }

    /// `round(numeric, places => integer)`, as messages name a call.
    fn signature(&self) -> String {
        let positional = self.arguments.len() - self.names.len();
        let one = |(index, id): (usize, &TypeId)| match index.checked_sub(positional) {
            Some(named) => format!("{} => {}", self.names[named], type_name(*id)),
            None => type_name(*id),
        };
        let arguments: Vec<String> = self.arguments.iter().enumerate().map(one).collect();
        format!("{}({})", self.name, arguments.join(", "))
    }

    fn no_function(&self) -> SqlError {
        no_function(&self.signature())
    }

    fn ambiguous(&self) -> SqlError {
        SqlError::new(SqlState::AmbiguousFunction, format!("function {} is not unique", self.signature()))
            .with_hint("Could not choose a best candidate function. You might need to add explicit type casts.")
    }
}

/// The error of a call that no function answers.
pub fn no_function(signature: &str) -> SqlError {
    SqlError::new(SqlState::UndefinedFunction, format!("function {signature} does not exist"))
        .with_hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

/// Adds a candidate. Of two that want the same of the given arguments, the one that is not variadic wins; between others nothing decides.
fn add(candidates: &mut Vec<Candidate>, candidate: Candidate) {
    fn given(one: &Candidate) -> &[TypeId] {
        &one.wanted[..one.wanted.len() - one.defaulted]
    }
    match candidates.iter_mut().find(|other| given(other) == given(&candidate)) {
        None => candidates.push(candidate),
        Some(other) if candidate.is_expanded && !other.is_expanded => {}
        Some(other) if !candidate.is_expanded && other.is_expanded => *other = candidate,
        Some(other) => other.function = None,
    }
}
