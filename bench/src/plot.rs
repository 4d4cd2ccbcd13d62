//! Plots of rows as SVG, drawn by hand: bars with a logarithmic axis and whiskers, and lines over sizes.

use std::fmt::Write as _;

use crate::measure::Figure;

/// A bar: its name, the figure, and the position of its goal.
pub(crate) struct Bar<'a> {
    pub(crate) name: &'a str,
    pub(crate) figure: Figure,
    pub(crate) goal: Option<f64>,
}

/// A line: its name, and our figure at each size.
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    pub(crate) points: Vec<(usize, Figure)>,
}

const WIDTH: f64 = 760.0;
const NAMES: f64 = 330.0;
const ROW: f64 = 26.0;
const COLOURS: [&str; 7] = [
    "#1b6ca8", "#c44e2b", "#3f8f4f", "#7a5195", "#b58900", "#008080", "#8c564b",
];
const STYLE: &str = "<style>text{font:12px sans-serif;fill:#333}.t{font-weight:600;font-size:14px}.a{fill:#666;font-size:11px}\
    .g{stroke:#d5d5d5;stroke-width:1}.w{stroke:#333;stroke-width:1.5}.goal{stroke:#c0392b;stroke-width:2}\
    @media (prefers-color-scheme:dark){text{fill:#ddd}.a{fill:#aaa}.g{stroke:#444}.w{stroke:#ddd}}</style>\n";

/// A logarithmic axis over powers of ten.
struct Axis {
    from: f64,
    to: f64,
    start: f64,
    length: f64,
}

impl Axis {
    /// Creates the axis that includes all of these values.
    fn over(values: impl Iterator<Item = f64>, start: f64, length: f64) -> Self {
        let logs: Vec<f64> = values
            .filter(|value| *value > 0.0 && value.is_finite())
            .map(f64::log10)
            .collect();
        let least = logs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (from, to) = match least.is_finite() {
            true => (least.floor(), most.ceil().max(least.floor() + 1.0)),
            false => (0.0, 1.0),
        };
        Self {
            from,
            to,
            start,
            length,
        }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE).log10() - self.from) / (self.to - self.from);
        self.start + share.clamp(0.0, 1.0) * self.length
    }

    /// Returns the powers of ten.
    fn ticks(&self) -> impl Iterator<Item = f64> {
        let mut exponent = self.from;
        let to = self.to;
        std::iter::from_fn(move || {
            let tick = 10_f64.powf(exponent);
            exponent += 1.0;
            (exponent <= to + 1.0).then_some(tick)
        })
    }
}

/// Draws bars; `unit` names the axis. A red line is a goal.
pub(crate) fn bars(title: &str, unit: &str, bars: &[Bar<'_>]) -> String {
    let goals = bars.iter().filter_map(|bar| bar.goal);
    let values = bars
        .iter()
        .flat_map(|bar| [bar.figure.low, bar.figure.high]);
    // The bars begin at the left end, so that end is a power of ten below all of them.
    let axis = Axis::over(values.chain(goals), NAMES, WIDTH - NAMES - 70.0);
    let bottom = count(bars.len()) * ROW + 50.0;
    let mut svg = begin(title, bottom + 40.0);
    grid(&mut svg, &axis, bottom);
    for (number, bar) in bars.iter().enumerate() {
        let top = 44.0 + count(number) * ROW;
        let middle = top + 8.0;
        let (end, low, high) = (
            axis.at(bar.figure.median),
            axis.at(bar.figure.low),
            axis.at(bar.figure.high),
        );
        let colour = COLOURS.first().copied().unwrap_or_default();
        writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{NAMES:.0}\" y=\"{top:.0}\" width=\"{:.1}\" height=\"16\" fill=\"{colour}\" opacity=\"0.75\"/>\
             <line class=\"w\" x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{middle:.0}\" y2=\"{middle:.0}\"/>\
             <text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            NAMES - 8.0,
            top + 12.0,
            escaped(bar.name),
            (end - NAMES).max(1.0),
            end.max(high) + 6.0,
            top + 12.0,
            short(bar.figure.median),
        )
        .ok();
        if let Some(goal) = bar.goal {
            let at = axis.at(goal);
            writeln!(
                svg,
                "<line class=\"goal\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.0}\" y2=\"{:.0}\"/>",
                top - 3.0,
                top + 19.0
            )
            .ok();
        }
    }
    end(svg, unit, bottom + 34.0)
}

/// Draws lines over sizes, both axes logarithmic.
pub(crate) fn lines(title: &str, unit: &str, lines: &[Line<'_>]) -> String {
    let (top, height, left) = (44.0, 300.0, 70.0);
    let points = || lines.iter().flat_map(|line| &line.points);
    let across = Axis::over(points().map(|(size, _)| count(*size)), left, 380.0);
    let up = Axis::over(points().map(|(_, figure)| figure.median), 0.0, height);
    let down = |value: f64| top + height - up.at(value);
    let mut svg = begin(title, top + height + 60.0);
    for tick in up.ticks() {
        let y = down(tick);
        writeln!(
            svg,
            "<line class=\"g\" x1=\"{left:.0}\" x2=\"{:.0}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"a\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left + 380.0,
            left - 6.0,
            y + 4.0,
            short(tick)
        )
        .ok();
    }
    for tick in across.ticks() {
        let x = across.at(tick);
        writeln!(
            svg,
            "<text class=\"a\" x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            top + height + 18.0,
            short(tick)
        )
        .ok();
    }
    for ((number, line), colour) in lines.iter().enumerate().zip(COLOURS.iter().cycle()) {
        let mut path = String::new();
        for (at, (size, figure)) in line.points.iter().enumerate() {
            let verb = if at == 0 { 'M' } else { 'L' };
            let (x, y) = (across.at(count(*size)), down(figure.median));
            write!(path, "{verb}{x:.1} {y:.1} ").ok();
            writeln!(
                svg,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>\
                 <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>",
                down(figure.low),
                down(figure.high)
            )
            .ok();
        }
        let y = top + 12.0 + count(number) * 20.0;
        writeln!(
            svg,
            "<path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <rect x=\"{:.0}\" y=\"{:.0}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"{:.0}\" y=\"{y:.0}\">{}</text>",
            path.trim_end(),
            left + 400.0,
            y - 10.0,
            left + 418.0,
            escaped(line.name)
        )
        .ok();
    }
    end(svg, unit, top + height + 40.0)
}

fn begin(title: &str, height: f64) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\" aria-label=\"{title}\">\n\
         <title>{title}</title>\n{STYLE}<text class=\"t\" x=\"8\" y=\"22\">{title}</text>\n"
    )
}

fn grid(svg: &mut String, axis: &Axis, bottom: f64) {
    for tick in axis.ticks() {
        let x = axis.at(tick);
        writeln!(
            svg,
            "<line class=\"g\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"36\" y2=\"{bottom:.0}\"/>\
             <text class=\"a\" x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            bottom + 14.0,
            short(tick)
        )
        .ok();
    }
}

fn end(mut svg: String, unit: &str, bottom: f64) -> String {
    writeln!(
        svg,
        "<text class=\"a\" x=\"{:.0}\" y=\"{bottom:.0}\" text-anchor=\"end\">{}</text>\n</svg>",
        WIDTH - 8.0,
        escaped(unit)
    )
    .ok();
    svg
}

/// Formats a number with about three digits.
pub(crate) fn short(value: f64) -> String {
    let (value, suffix) = match value.abs() {
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match value.abs() {
        size if size >= 100.0 || (size - size.round()).abs() < 1e-9 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 => 2,
        _ => 4,
    };
    format!("{value:.digits$}{suffix}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

#[expect(clippy::cast_precision_loss, reason = "a number of rows or items")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_ends_where_its_value_lies_and_names_are_escaped() {
        let figure = Figure::of(vec![9.0, 10.0, 11.0]);
        let svg = bars(
            "a < b",
            "times",
            &[Bar {
                name: "ours & theirs",
                figure,
                goal: Some(1.0),
            }],
        );
        assert!(svg.contains("a &lt; b") && svg.contains("ours &amp; theirs"));
        assert!(svg.contains("class=\"goal\""));
        let axis = Axis::over([1.0, 100.0].into_iter(), 0.0, 200.0);
        assert_eq!(
            (axis.at(1.0), axis.at(10.0), axis.at(100.0)),
            (0.0, 100.0, 200.0)
        );
        assert_eq!(axis.ticks().collect::<Vec<_>>(), [1.0, 10.0, 100.0]);
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.5, "0.50"),
            (3.0, "3"),
            (12.34, "12.3"),
            (123.4, "123"),
            (45_678.0, "45.7k"),
            (2_500_000.0, "2.50M"),
            (0.001, "0.0010"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
