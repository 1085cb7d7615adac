//! Curves on logarithmic axes, as an SVG file for documents. A straight line of slope one represents proportional growth.
//!
//! `plotters` lays out the axes and the key. Only its SVG backend is built, without fonts and images. The file names a font
//! family, and the viewer renders the text.

use std::fmt::Display;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::combinators::{BindKeyPoints, IntoLogRange};
use plotters::prelude::{
    ChartBuilder, Circle, DashedLineSeries, DrawingArea, IntoDrawingArea, LineSeries, PathElement, RGBColor,
    SVGBackend, SeriesLabelPosition, ShapeStyle, WHITE,
};

use crate::BenchError;

/// Width and height in pixels.
const SIZE: (u32, u32) = (860, 520);

/// Room left and right, below and above the outermost points: a share of the value.
const MARGIN: f64 = 1.25;

/// Colours that can be told apart on white, the next one for each curve (Okabe and Ito, and two more).
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(148, 132, 20),
    RGBColor(102, 51, 153),
    RGBColor(0, 0, 0),
    RGBColor(128, 128, 128),
];

/// The stroke of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stroke {
    /// For the main curve.
    Thick,
    /// For the parts of the main curve.
    Thin,
    /// For a comparison.
    Dashed,
}

impl Stroke {
    fn width(self) -> u32 {
        if self == Self::Thin { 1 } else { 3 }
    }
}

/// A curve through measured points.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// Its name in the key.
    pub(crate) name: String,
    /// Positive coordinates.
    pub(crate) points: Vec<(f64, f64)>,
    /// Its stroke.
    pub(crate) stroke: Stroke,
}

/// Curves in one pair of axes.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    /// The title, above the plot.
    pub(crate) title: String,
    /// The label of the horizontal axis, which has a mark at each point.
    pub(crate) x_label: String,
    /// The label of the vertical axis.
    pub(crate) y_label: String,
    /// The curves; at least one, each with at least one point.
    pub(crate) curves: Vec<Curve>,
}

impl Plot {
    /// Writes the plot.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn write_svg(&self, path: &Path) -> Result<(), BenchError> {
        let svg = self.svg().map_err(|error| BenchError::other("drawing a plot", error))?;
        std::fs::write(path, svg).map_err(|source| BenchError::File { path: path.to_owned(), source })
    }

    fn svg(&self) -> Result<String, String> {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        self.draw(&area).map_err(|error| error.to_string())?;
        drop(area);
        // Removes an empty line, so that the file ends with one line feed.
        Ok(svg.trim_end().to_owned() + "\n")
    }

    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), impl Display + use<>> {
        let xs = distinct(self.curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)));
        let ys = distinct(self.curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.1)));
        let decades = decades(ys[0] / MARGIN, ys[ys.len() - 1] * MARGIN);
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(
                (xs[0] / MARGIN..xs[xs.len() - 1] * MARGIN).log_scale().with_key_points(xs.clone()),
                (ys[0] / MARGIN..ys[ys.len() - 1] * MARGIN).log_scale().with_key_points(decades),
            )?;
        chart
            .configure_mesh()
            .x_desc(&self.x_label)
            .y_desc(&self.y_label)
            .label_style(("sans-serif", 14))
            .axis_desc_style(("sans-serif", 15))
            .x_label_formatter(&f64::to_string)
            .y_label_formatter(&f64::to_string)
            .light_line_style(RGBColor(255, 255, 255))
            .draw()?;
        for (curve, colour) in self.curves.iter().zip(COLOURS.iter().cycle()) {
            let style = ShapeStyle::from(colour).stroke_width(curve.stroke.width());
            let points = curve.points.iter().copied();
            let drawn = match curve.stroke {
                Stroke::Dashed => chart.draw_series(DashedLineSeries::new(points.clone(), 8, 5, style))?,
                Stroke::Thick | Stroke::Thin => chart.draw_series(LineSeries::new(points.clone(), style))?,
            };
            drawn.label(&curve.name).legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            chart.draw_series(points.map(|point| Circle::new(point, 3, style.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE)
            .border_style(RGBColor(200, 200, 200))
            .label_font(("sans-serif", 14))
            .draw()?;
        area.present()
    }
}

/// Values in order, each once.
fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    assert!(values.iter().all(|value| *value > 0.0), "no logarithm: {values:?}");
    values.sort_by(f64::total_cmp);
    values.dedup();
    assert!(!values.is_empty(), "a plot of nothing");
    values
}

/// The powers of ten within a range.
fn decades(from: f64, to: f64) -> Vec<f64> {
    let (first, last) = (from.log10().ceil() as i32, to.log10().floor() as i32);
    // Parsed, because a power that is computed may miss the number that is printed.
    (first..=last).map(|exponent| format!("1e{exponent}").parse().expect("a float's syntax")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &str, stroke: Stroke, seconds: [f64; 3]) -> Curve {
        Curve { name: name.to_owned(), points: [1.0, 32.0, 1024.0].into_iter().zip(seconds).collect(), stroke }
    }

    #[test]
    fn names_marks_and_points_are_in_the_file() {
        let plot = Plot {
            title: "Passes & queries".to_owned(),
            x_label: "queries".to_owned(),
            y_label: "seconds".to_owned(),
            curves: vec![
                curve("one pass", Stroke::Thick, [0.02, 0.05, 0.11]),
                curve("one after the other", Stroke::Dashed, [0.02, 0.64, 20.48]),
            ],
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plot.svg");
        plot.write_svg(&path).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{svg}");
        for text in ["Passes &amp; queries", "seconds", "one after the other", "\n1024\n", "\n0.1\n", "\n10\n"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 6, "{svg}");
        let nowhere = plot.write_svg(&path.join("below a file")).unwrap_err();
        assert!(matches!(nowhere, BenchError::File { .. }), "{nowhere}");
    }

    #[test]
    fn decades_are_those_within() {
        assert_eq!(decades(0.0005, 2.0), [0.001, 0.01, 0.1, 1.0]);
        assert_eq!(decades(2.0, 9.0), [0.0; 0]);
    }
}
