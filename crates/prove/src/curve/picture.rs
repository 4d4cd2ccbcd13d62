//! The curve as a picture: solve rates above, costs per solve below, one point per run, with intervals. It is
//! self-contained.

use std::fmt::Write as _;

use super::{Curve, Night};
use crate::page::escaped;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 880.0;
/// Top and bottom of the two plots.
const RATE: (f64, f64) = (50.0, 190.0);
const COST: (f64, f64) = (240.0, 360.0);
const HEIGHT: f64 = 400.0;
const STYLE: &str = ".solves{font:12px system-ui,sans-serif}.solves .axis{stroke:#888}.solves .bound{stroke:#4a7fb5;stroke-width:2}\
.solves .line{fill:none;stroke:#1f5f9e;stroke-width:2}.solves .point{fill:#1f5f9e;stroke:#1f5f9e;stroke-width:2}\
.solves .cut{stroke:#b5544a;stroke-dasharray:4 4}.solves text{fill:#555}\
@media(prefers-color-scheme:dark){.solves text{fill:#bbb}.solves .line{stroke:#7db3e8}.solves .point{fill:#7db3e8;stroke:#7db3e8}}\
.solves .hollow{fill:none}";

/// Draws a curve. A point whose cost is a lower bound is hollow; a dashed line separates runs that are not comparable.
#[must_use]
pub fn svg(curve: &Curve) -> String {
    let nights: Vec<&Night> = curve.segments.iter().flat_map(|one| &one.nights).collect();
    let highest = nights
        .iter()
        .filter_map(|night| {
            let bound = night.cost_interval.and_then(|(_, high)| high);
            bound.or(night.cost_per_solve)
        })
        .fold(0.01_f64, f64::max);
    let mut out = String::new();
    let name = escaped(&format!("{} on {}", curve.agent, curve.suite));
    let words = escaped(&curve.text());
    put(
        &mut out,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"solves\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{name}\">\
             <desc>{words}</desc><style>{STYLE}</style>\
             <text x=\"{LEFT}\" y=\"24\">solve rate with its 95 % interval</text>\
             <text x=\"{LEFT}\" y=\"224\">dollars per solve; hollow where a cost is not known</text>"
        ),
    );
    for ((top, bottom), most) in [(RATE, "100 %".to_owned()), (COST, format!("${highest:.2}"))] {
        put(
            &mut out,
            format_args!(
                "<path class=\"axis\" d=\"M{LEFT} {top}V{bottom}H{RIGHT}\" fill=\"none\"/>\
                 <text x=\"{x}\" y=\"{y:.0}\" text-anchor=\"end\">{most}</text><text x=\"{x}\" y=\"{bottom}\" text-anchor=\"end\">0</text>",
                x = LEFT - 8.0,
                y = top + 10.0
            ),
        );
    }
    let mut at = 0;
    for (number, segment) in curve.segments.iter().enumerate() {
        let places: Vec<f64> = (at..at + segment.nights.len())
            .map(|place| across(place, nights.len()))
            .collect();
        if let Some(first) = places.first().filter(|_| number > 0) {
            let x = first - 12.0;
            let why = escaped(&segment.because.join("; "));
            put(
                &mut out,
                format_args!(
                    "<path class=\"cut\" d=\"M{x:.1} {}V{}\"><title>{why}</title></path>",
                    RATE.0, COST.1
                ),
            );
        }
        draw(&mut out, &places, &segment.nights, highest);
        at += segment.nights.len();
    }
    out.push_str("</svg>");
    out
}

fn draw(out: &mut String, places: &[f64], nights: &[Night], highest: f64) {
    let pairs = || places.iter().zip(nights);
    let line = |points: Vec<(f64, f64)>| {
        let points = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
        points.collect::<Vec<_>>().join(" ")
    };
    let rates = pairs().map(|(x, night)| (*x, up(RATE, night.solve_rate[0])));
    let costs =
        pairs().filter_map(|(x, night)| Some((*x, up(COST, night.cost_per_solve? / highest))));
    for points in [rates.collect::<Vec<_>>(), costs.collect()] {
        put(
            out,
            format_args!("<polyline class=\"line\" points=\"{}\"/>", line(points)),
        );
    }
    for (x, night) in pairs() {
        let [value, low, high] = night.solve_rate;
        point(out, *x, RATE, (value, low, high), "", night);
        let Some(cost) = night.cost_per_solve else {
            continue;
        };
        let cost = cost / highest;
        let (low, high) = night.cost_interval.map_or((cost, cost), |(low, high)| {
            (low / highest, high.map_or(1.0, |high| high / highest))
        });
        let class = if night.without_cost > 0 {
            " hollow"
        } else {
            ""
        };
        point(out, *x, COST, (cost, low, high), class, night);
    }
}

/// Draws a point with its interval and its label.
fn point(
    out: &mut String,
    x: f64,
    plot: (f64, f64),
    (value, low, high): (f64, f64, f64),
    class: &str,
    night: &Night,
) {
    put(
        out,
        format_args!(
            "<g><title>{}</title><path class=\"bound\" d=\"M{x:.1} {:.1}V{:.1}\"/><circle class=\"point{class}\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4\"/></g>",
            escaped(night.text().trim()),
            up(plot, low),
            up(plot, high),
            up(plot, value)
        ),
    );
}

fn up((top, bottom): (f64, f64), share: f64) -> f64 {
    bottom - share.clamp(0.0, 1.0) * (bottom - top)
}

fn across(at: usize, of: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "places in a picture")]
    let share = (at as f64 + 0.5) / of.max(1) as f64;
    LEFT + share * (RIGHT - LEFT)
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    _ = out.write_fmt(text);
}
