//! Writes shapes as SVG. All text is escaped here, and all numbers have one decimal.

use std::fmt::{self, Write as _};

/// Anchor of a text at its position.
#[derive(Clone, Copy, Debug)]
pub(in crate::show) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// Picture under construction.
#[derive(Debug)]
pub(in crate::show) struct Canvas {
    out: String,
}

impl Canvas {
    /// Creates a picture with a name and a description as text alternatives.
    pub(in crate::show) fn new(width: f64, height: f64, name: &str, description: &str) -> Self {
        let mut canvas = Self { out: String::new() };
        let style = include_str!("style.css").trim_end();
        let (name, description) = (Escaped(name), Escaped(description));
        canvas.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-labelledby=\"name description\">\n\
             <title id=\"name\">{name}</title>\n<desc id=\"description\">{description}</desc>\n\
             <style>\n{style}\n</style>\n\
             <rect class=\"page\" width=\"{width}\" height=\"{height}\"/>"
        ));
        canvas
    }

    /// Returns the picture as text.
    pub(in crate::show) fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    /// Appends one line. Writing to a string does not fail.
    fn put(&mut self, line: fmt::Arguments<'_>) {
        _ = writeln!(self.out, "{line}");
    }

    pub(in crate::show) fn text(
        &mut self,
        x: f64,
        y: f64,
        class: &str,
        anchor: Anchor,
        text: &str,
    ) {
        let (anchor, text) = (anchor.name(), Escaped(text));
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    pub(in crate::show) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    /// Draws a line through the points; a single point gives none.
    pub(in crate::show) fn curve(&mut self, class: &str, points: &[(f64, f64)]) {
        if points.len() > 1 {
            let path = path(points);
            self.put(format_args!("<path class=\"{class}\" d=\"{path}\"/>"));
        }
    }

    /// Draws the area between the points and the ground.
    pub(in crate::show) fn area(&mut self, class: &str, points: &[(f64, f64)], ground: f64) {
        if let [(first, _), _, ..] = points {
            let path = path(points);
            self.put(format_args!(
                "<path class=\"{class}\" d=\"{path}V{ground:.1}H{first:.1}Z\"/>"
            ));
        }
    }

    /// Draws a bar around `x`; nothing if it has no height.
    pub(in crate::show) fn bar(&mut self, class: &str, x: f64, width: f64, top: f64, bottom: f64) {
        let height = bottom - top;
        if height >= 0.05 {
            let left = x - width / 2.0;
            self.put(format_args!(
                "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
            ));
        }
    }

    pub(in crate::show) fn dot(&mut self, class: &str, x: f64, y: f64, radius: f64) {
        self.put(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>"
        ));
    }

    /// Draws a flag with a short text on it and a tooltip.
    pub(in crate::show) fn flag(
        &mut self,
        at: (f64, f64),
        size: (f64, f64),
        text: &str,
        hint: &str,
    ) {
        let ((x, y), (width, height)) = (at, size);
        let hint = Escaped(hint);
        self.put(format_args!("<g class=\"flag\"><title>{hint}</title>"));
        self.put(format_args!(
            "<path d=\"M{x:.1} {y:.1}h{width:.1}l-4 {half:.1}l4 {half:.1}h-{width:.1}Z\"/>",
            half = height / 2.0
        ));
        let (middle, base) = (x + (width - 3.0) / 2.0, y + height - 4.0);
        self.text(middle, base, "on-flag", Anchor::Middle, text);
        self.put(format_args!("</g>"));
    }

    /// Opens a group with a tooltip.
    pub(in crate::show) fn open_point(&mut self, hint: &str) {
        let hint = Escaped(hint);
        self.put(format_args!("<g class=\"point\"><title>{hint}</title>"));
    }

    /// Closes the group of [`Canvas::open_point`].
    pub(in crate::show) fn close_point(&mut self) {
        self.put(format_args!("</g>"));
    }

    /// Draws the column of a point from top to bottom, visible only under the pointer.
    pub(in crate::show) fn column(&mut self, x: f64, width: f64, top: f64, bottom: f64) {
        self.bar("column", x, width, top, bottom);
    }
}

fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let step = if index == 0 { 'M' } else { 'L' };
        // Writing to a string does not fail.
        _ = write!(path, "{step}{x:.1} {y:.1}");
    }
    path
}

/// Text that is escaped for XML.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            _ => f.write_char(char),
        })
    }
}
