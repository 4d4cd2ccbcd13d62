//! Probes of an adapter as a picture: agreement with the general model over the newest ones.

use std::fmt::Write as _;

use super::super::frame::share_lines;
use index::rows::Event;

/// One probe, with the agreement up to it.
pub(super) struct Probe {
    pub(super) number: usize,
    pub(super) agreed: bool,
    pub(super) share: f64,
}

/// Returns the share of agreement among the last `window` probes up to each one, oldest first.
#[expect(
    clippy::cast_precision_loss,
    reason = "a page has at most a few hundred probes"
)]
pub(super) fn shares(newest_first: &[Event], window: usize) -> Vec<Probe> {
    let agreed: Vec<bool> = newest_first
        .iter()
        .rev()
        .map(|event| event.agreed.unwrap_or(false))
        .collect();
    let probes = agreed.iter().enumerate().map(|(index, yes)| {
        let start = (index + 1).saturating_sub(window.max(1));
        let last = agreed.get(start..=index).unwrap_or_default();
        let hits = last.iter().filter(|agreed| **agreed).count();
        Probe {
            number: index + 1,
            agreed: *yes,
            share: hits as f64 / last.len().max(1) as f64,
        }
    });
    probes.collect()
}

/// Draws the agreement over the probes, with the required rate.
#[expect(
    clippy::cast_precision_loss,
    reason = "a page has at most a few hundred probes"
)]
pub(super) fn chart(probes: &[Probe], required: f64, window: usize) -> String {
    let (left, right, top, bottom) = (48.0, 788.0, 14.0, 180.0);
    let x =
        |number: usize| left + (right - left) * (number as f64 - 0.5) / probes.len().max(1) as f64;
    let y = |share: f64| bottom - (bottom - top) * share;
    let mut svg = format!(
        r#"<svg class="chart" viewBox="0 0 800 230" role="img" aria-label="Share of agreement among the last {window} probes">"#,
    );
    share_lines(&mut svg, (left, right), y);
    // Writing to a string cannot fail.
    let line: Vec<String> = probes
        .iter()
        .map(|probe| format!("{:.1},{:.1}", x(probe.number), y(probe.share)))
        .collect();
    let _ = write!(
        svg,
        r#"<polyline class="line" points="{}"/>"#,
        line.join(" ")
    );
    let _ = write!(
        svg,
        r#"<line class="halt" x1="{left}" x2="{right}" y1="{0:.1}" y2="{0:.1}"/><text x="{left}" y="{1:.1}">required: {2:.1} %</text>"#,
        y(required),
        y(required) - 6.0,
        required * 100.0
    );
    for probe in probes {
        let class = if probe.agreed { "yes" } else { "no" };
        let _ = write!(
            svg,
            r#"<circle class="{class}" cx="{:.1}" cy="{:.1}" r="3.5"><title>probe {}: {}, {:.1} % of the last {window}</title></circle>"#,
            x(probe.number),
            y(probe.share),
            probe.number,
            if probe.agreed { "agreed" } else { "disagreed" },
            probe.share * 100.0
        );
    }
    let step = (probes.len() / 8).max(1);
    for probe in probes.iter().step_by(step) {
        let _ = write!(
            svg,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
            x(probe.number),
            bottom + 18.0,
            probe.number
        );
    }
    let _ = write!(
        svg,
        r#"<text x="{right}" y="{:.1}" text-anchor="end">probe, oldest first; red: the two answers differed</text></svg>"#,
        bottom + 40.0
    );
    svg
}
