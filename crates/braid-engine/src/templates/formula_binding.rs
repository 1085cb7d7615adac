//! Parameters of a plan that DataFusion's planner has made.

use arrow::datatypes::DataType;
use braid_df::operators::{Formula, TemplateParameter};
use datafusion::common::ScalarValue;

use super::hole_value::{HoleType, Reading, literal_of};
use super::plan_template::ParameterRow;
use crate::statement::{Constant, SessionFact};

/// How a statement computes the parameters of its plan.
#[derive(Debug)]
pub(crate) struct FormulaBinding {
    /// Hidden parameters: what the plan's statements ask about their sessions, with the types of the answers.
    pub facts: Vec<(SessionFact, HoleType)>,
    /// What the parameters are computed from.
    pub values: Vec<PlanValue>,
    /// Values that are computed from these, in the order of their positions after them.
    pub derived: Vec<Formula>,
    /// The parameters, by their numbers in the plan.
    pub parameters: Vec<TemplateParameter>,
}

/// A value that the plan's parameters are computed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanValue {
    /// The hole whose constant it is. The hidden parameters are behind the holes of the text.
    pub hole: usize,
    /// How it is read.
    pub reading: Reading,
    /// Its type in the plan.
    pub data_type: DataType,
}

impl FormulaBinding {
    /// The parameters of a statement that the plan includes; `None` if one cannot be computed. The statement is then planned with
    /// its constants, which decides whether it fails. `told` is what its session knows.
    pub fn bind(
        &self,
        constants: &[Constant],
        told: impl Fn(&SessionFact) -> Option<Constant>,
    ) -> Option<ParameterRow> {
        let hidden = |(fact, hole_type): &(SessionFact, HoleType)| {
            told(fact).filter(|constant| HoleType::of(constant).is_some_and(|own| hole_type.includes(own)))
        };
        let hidden: Vec<Constant> = self.facts.iter().map(hidden).collect::<Option<_>>()?;
        let constant = |hole: usize| constants.get(hole).unwrap_or_else(|| &hidden[hole - constants.len()]);
        let value = |of: &PlanValue| literal_of(constant(of.hole), &of.reading, &of.data_type);
        let mut values: Vec<ScalarValue> = self.values.iter().map(value).collect::<Option<_>>()?;
        let derived: Vec<ScalarValue> =
            self.derived.iter().map(|formula| formula.value(&values).ok()).collect::<Option<_>>()?;
        values.extend(derived);
        let parameter = |parameter: &TemplateParameter| parameter.value(&values).ok();
        self.parameters.iter().map(parameter).collect()
    }
}
