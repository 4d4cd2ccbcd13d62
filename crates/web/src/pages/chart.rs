//! Columns over time, each of two parts on one another, with their values under the pointer. The pages have the same
//! figures as a table.

use std::fmt::Write as _;

use present::show::curve_svg::scale::Axis;

/// Where the plot begins and ends. The values of its lines stand behind the newest column, which a narrow screen shows.
const LEFT: f64 = 12.0;
const RIGHT: f64 = 736.0;
/// Widest place of a column.
const BAND: f64 = 60.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 150.0;
/// Most names along the bottom.
const NAMES: usize = 8;

/// One column: what is written below it, its parts from the bottom up, and its values in words.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) parts: [u64; 2],
    pub(super) words: String,
}

/// Draws the columns; `classes` colour the parts. No text of others may be in it.
#[expect(
    clippy::cast_precision_loss,
    reason = "a picture has at most a few dozen columns"
)]
pub(super) fn columns(
    about: &str,
    bars: &[Bar],
    classes: [&str; 2],
    tick: impl Fn(u64) -> String,
) -> String {
    let highest = bars
        .iter()
        .map(|bar| bar.parts[0].saturating_add(bar.parts[1]));
    let up = Axis::new(TOP, BOTTOM, highest.max().unwrap_or(0).max(1), 4);
    let band = ((RIGHT - LEFT) / bars.len().max(1) as f64).min(BAND);
    let start = RIGHT - band * bars.len() as f64;
    let width = (band * 0.7).min(40.0);
    let mut svg =
        format!(r#"<svg class="chart" viewBox="0 0 800 180" role="img" aria-label="{about}">"#);
    // Writing to a string cannot fail.
    for value in up.ticks() {
        let y = up.place(value);
        let _ = write!(
            svg,
            r#"<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1}" y2="{y:.1}"/><text x="{}" y="{:.1}">{}</text>"#,
            RIGHT + 6.0,
            y + 4.0,
            tick(value)
        );
    }
    let step = bars.len().div_ceil(NAMES).max(1);
    for (index, bar) in bars.iter().enumerate() {
        let middle = start + band * (index as f64 + 0.5);
        let _ = write!(
            svg,
            r#"<g><title>{}</title><rect class="around" x="{:.1}" y="{TOP}" width="{band:.1}" height="{:.1}"/>"#,
            bar.words,
            middle - band / 2.0,
            BOTTOM - TOP
        );
        let mut below = 0_u64;
        for (part, class) in bar.parts.iter().zip(classes) {
            let (bottom, top) = (up.place(below), up.place(below.saturating_add(*part)));
            let _ = write!(
                svg,
                r#"<rect class="{class}" x="{:.1}" y="{top:.1}" width="{width:.1}" height="{:.1}"/>"#,
                middle - width / 2.0,
                bottom - top
            );
            below = below.saturating_add(*part);
        }
        svg.push_str("</g>");
        // The newest column always has its name.
        if (bars.len() - 1 - index).is_multiple_of(step) {
            let _ = write!(
                svg,
                r#"<text x="{middle:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                BOTTOM + 20.0,
                bar.name
            );
        }
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_on_one_another_and_say_their_values() {
        let bar = |name: &str, parts| Bar {
            name: name.to_owned(),
            parts,
            words: format!("on {name}"),
        };
        let bars = [bar("a", [1, 3]), bar("b", [0, 0])];
        let svg = columns("Refusals", &bars, ["deny", "ask"], |value| {
            value.to_string()
        });
        // 4 of 4 reach from the bottom to the top: one quarter, and three above it.
        assert!(
            svg.contains(r#"<rect class="deny" x="626.0" y="115.5" width="40.0" height="34.5"/>"#),
            "{svg}"
        );
        assert!(
            svg.contains(r#"<rect class="ask" x="626.0" y="12.0" width="40.0" height="103.5"/>"#),
            "{svg}"
        );
        assert!(
            svg.contains("<title>on b</title>") && svg.contains(">4</text>"),
            "{svg}"
        );
        assert!(!columns("x", &[], ["a", "b"], |_| String::new()).contains("<g>"));
    }
}
