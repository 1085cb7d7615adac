//! The constants of a statement: those of its text, the values of its parameters, and what it asks about its session.

use datafusion::common::ScalarValue;

use crate::EngineError;
use crate::output::text_of;
use crate::query::clock::instant_text;
use crate::query::rewrite::SessionFacts;
use crate::statement::{Constant, HoleContent, ScannedText, SessionFact};

/// The constants of a statement with these parameters; `None` if there are fewer than the text names, or one is a list, whose
/// elements would be constants of their own.
///
/// # Errors
/// When a parameter has a type without a text.
pub(crate) fn constants_of(
    scanned: &ScannedText,
    parameters: &[ScalarValue],
) -> Result<Option<Vec<Constant>>, EngineError> {
    let mut constants = Vec::with_capacity(scanned.holes.len());
    for hole in &scanned.holes {
        constants.push(match &hole.content {
            HoleContent::Constant(constant) => constant.clone(),
            HoleContent::Parameter(at) => match parameters.get(*at) {
                None => return Ok(None),
                Some(value) if value.is_null() => Constant::Null,
                Some(value) if value.data_type().is_nested() => return Ok(None),
                Some(value) => Constant::Text(text_of(value)?),
            },
        });
    }
    Ok(Some(constants))
}

/// A fact about a session as a constant, written as the literal that stands for it; `None` if there is none.
pub(crate) fn constant_of(session: &dyn SessionFacts, fact: &SessionFact) -> Option<Constant> {
    Some(match fact {
        SessionFact::User => Constant::Text(session.user().to_owned()),
        SessionFact::SessionId => Constant::Number(session.session_id().to_string()),
        SessionFact::StatementTime => Constant::Text(instant_text(session.instants().statement_us)),
        SessionFact::TransactionTime => Constant::Text(instant_text(session.instants().transaction_us)),
        SessionFact::Setting(name) => Constant::Text(session.setting(name)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;

    #[test]
    fn parameters_are_constants_when_they_have_values() {
        let statement = Statement::parse("select $2, $1, 7").unwrap().remove(0);
        let scanned = statement.scanned().unwrap();
        let values = [ScalarValue::Int64(Some(5)), ScalarValue::Utf8(None)];
        let constants = constants_of(scanned, &values).unwrap().unwrap();
        assert_eq!(constants, [Constant::Null, Constant::Text("5".to_owned()), Constant::Number("7".to_owned())]);
        assert_eq!(constants_of(scanned, &values[..1]).unwrap(), None);
    }
}
