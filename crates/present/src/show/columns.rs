//! Text in a fixed number of columns: cut, padded or wrapped. Widths are those of a terminal, tabs included.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Number of columns of a terminal replay. A pager shows the same on every screen.
pub const WIDTH: usize = 100;

/// Number of columns from one tab stop to the next.
const TAB: usize = 8;

/// Alignment of a text in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// At the left, for words.
    Left,
    /// At the right, for numbers.
    Right,
}

/// Returns the text in exactly `columns`, [`cut`] if it is too long.
#[must_use]
pub fn fit(text: &str, columns: usize, side: Side) -> String {
    let text = cut(text, columns);
    let gap = " ".repeat(columns.saturating_sub(text.width()));
    match side {
        Side::Left => format!("{text}{gap}"),
        Side::Right => format!("{gap}{text}"),
    }
}

/// Returns the text in at most `columns`; a text that is too long is cut and ends with `…`.
#[must_use]
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    let mut room = columns.saturating_sub(1);
    let mut kept: String = text
        .chars()
        .map_while(|char| {
            room = room.checked_sub(char.width().unwrap_or(0))?;
            Some(char)
        })
        .collect();
    kept.push('…');
    Cow::Owned(kept)
}

/// Splits a line into pieces that fit between column `from` and [`WIDTH`], at spaces where that wastes little.
///
/// There is always at least one piece, and no character is lost.
pub fn wrap(line: &str, from: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        match break_at(line, from).and_then(|at| line.split_at_checked(at)) {
            Some((piece, tail)) => {
                rest = Some(tail);
                Some(piece)
            }
            None => rest.take(),
        }
    })
}

/// Returns the byte offset of a line break; `None` if the line fits.
fn break_at(line: &str, from: usize) -> Option<usize> {
    let mut column = from;
    let mut after_space = None;
    for (at, char) in line.char_indices() {
        column = match char {
            '\t' => (column / TAB + 1) * TAB,
            _ => column + char.width().unwrap_or(0),
        };
        // The first character stays, even without room: a piece without one would repeat forever.
        if column > WIDTH && at > 0 {
            return after_space.or(Some(at));
        }
        if char == ' ' && column > from + (WIDTH - from.min(WIDTH)) / 2 {
            after_space = Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_its_width() {
        assert_eq!(fit("abc", 5, Side::Left), "abc  ");
        assert_eq!(fit("abc", 5, Side::Right), "  abc");
        assert_eq!(fit("abcdef", 5, Side::Left), "abcd…");
        assert_eq!(fit("世界世界", 5, Side::Left), "世界…");
        assert_eq!(fit("世界世界", 4, Side::Right), " 世…");
    }

    fn check(line: &str, from: usize, widths: &[usize]) {
        let pieces: Vec<&str> = wrap(line, from).collect();
        assert_eq!(pieces.concat(), line);
        assert_eq!(
            pieces.iter().map(|piece| piece.width()).collect::<Vec<_>>(),
            widths
        );
    }

    #[test]
    fn long_lines_break() {
        check("", 2, &[0]);
        check(&"x".repeat(98), 2, &[98]);
        check(&"x".repeat(99), 2, &[98, 1]);
        check(&"世".repeat(60), 2, &[98, 22]);
        check(
            &format!("{} {}", "a".repeat(80), "b".repeat(30)),
            2,
            &[81, 30],
        );
        check(
            &format!("{} {}", "a".repeat(9), "b".repeat(120)),
            2,
            &[98, 32],
        );
    }

    #[test]
    fn tabs_count_up_to_the_next_stop() {
        let line = "\t".repeat(13);
        assert_eq!(wrap(&line, 2).map(str::len).collect::<Vec<_>>(), [12, 1]);
    }

    #[test]
    fn no_room_still_ends() {
        assert_eq!(wrap("abc", WIDTH + 5).collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
