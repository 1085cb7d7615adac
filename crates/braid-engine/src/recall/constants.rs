//! The constants of a statement: those of its text, and the values of its parameters.

use braid_sql::Evaluation;
use braid_sql::functions::SessionFacts;
use braid_sql::functions::in_formats::InFormats;

use crate::EngineError;
use crate::bound_parameters::BoundParameters;
use crate::statement::{Constant, HoleContent, ScannedText};

/// The constants of a statement with these parameters; `None` if there are fewer than the text names.
///
/// # Errors
/// When a parameter's value has no text.
pub(crate) fn constants_of(
    scanned: &ScannedText,
    parameters: &BoundParameters,
    session: &dyn SessionFacts,
) -> Result<Option<Vec<Constant>>, EngineError> {
    // Such a text is read again as a literal.
    let session = &InFormats::of_stored_texts(session);
    let evaluation = Evaluation::new(session, &[]);
    let mut constants = Vec::with_capacity(scanned.holes.len());
    for hole in &scanned.holes {
        constants.push(match &hole.content {
            HoleContent::Constant(constant) => constant.clone(),
            HoleContent::Parameter(at) => match (parameters.values().get(*at), parameters.types().get(*at)) {
                (Some(value), Some(sql_type)) => {
                    evaluation.text(value, *sql_type)?.map_or(Constant::Null, Constant::Text)
                }
                _ => return Ok(None),
            },
        });
    }
    Ok(Some(constants))
}
