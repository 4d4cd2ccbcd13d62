//! What `awk` prints when all it does is print: columns, lines by their number or a pattern, and texts.

use super::regular::compile;
use super::words::Given;

/// The output of `awk`; None where the program does more.
pub(super) fn printed(arguments: &[String], text: &str) -> Option<String> {
    let given = Given::read(arguments, "F:", &[])?;
    let program = given.operands.first()?.trim();
    // `FS=:` among the files is an assignment.
    if given.operands.iter().skip(1).any(|word| word.contains('=')) {
        return None;
    }
    let (condition, deed) = match program.split_once('{') {
        Some((condition, deed)) => (condition.trim(), deed.trim_end().strip_suffix('}')?.trim()),
        None => (program, "print"),
    };
    let deed = deed.trim_end_matches(';').trim();
    let words = deed.strip_prefix("print")?;
    if condition == "BEGIN" {
        return Some(line(words, "", &[])? + "\n");
    }
    let mut output = String::new();
    for (index, one) in text.lines().enumerate() {
        if !holds(condition, index.saturating_add(1), one)? {
            continue;
        }
        let fields: Vec<&str> = match given.value('F') {
            None | Some(" ") => one.split_whitespace().collect(),
            Some(mark) if mark.chars().count() == 1 && mark != "|" => one.split(mark).collect(),
            Some(_) => return None,
        };
        output.push_str(&line(words, one, &fields)?);
        output.push('\n');
    }
    Some(output)
}

fn holds(condition: &str, number: usize, line: &str) -> Option<bool> {
    if condition.is_empty() || condition == "1" {
        return Some(true);
    }
    if let Some(wanted) = condition.strip_prefix("NR") {
        let wanted = wanted.trim().strip_prefix("==")?.trim();
        return Some(wanted.parse::<usize>().ok()? == number);
    }
    let wanted = condition.strip_prefix('/')?.strip_suffix('/')?;
    Some(compile(wanted, true, false)?.is_match(line))
}

/// What follows `print`: columns and texts, side by side or with commas between.
fn line(words: &str, whole: &str, fields: &[&str]) -> Option<String> {
    let words = words.trim();
    if words.is_empty() {
        return Some(whole.to_owned());
    }
    let mut output = String::new();
    let mut rest = words;
    while !rest.is_empty() {
        let (text, after) = term(rest, whole, fields)?;
        output.push_str(&text);
        rest = after;
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(',') {
            output.push(' ');
            rest = after.trim_start();
        }
    }
    Some(output)
}

/// One column, one text, or one of them with other letters, and what follows it.
fn term<'t>(text: &'t str, whole: &str, fields: &[&str]) -> Option<(String, &'t str)> {
    for (function, upper) in [("tolower(", false), ("toupper(", true)] {
        if let Some(after) = text.strip_prefix(function) {
            let (inner, after) = term(after.trim_start(), whole, fields)?;
            let after = after.trim_start().strip_prefix(')')?;
            let changed = if upper {
                inner.to_ascii_uppercase()
            } else {
                inner.to_ascii_lowercase()
            };
            return inner.is_ascii().then_some((changed, after));
        }
    }
    if let Some(after) = text.strip_prefix("$NF") {
        return Some((fields.last().copied().unwrap_or(whole).to_owned(), after));
    }
    if let Some(after) = text.strip_prefix('$') {
        let digits = after.len()
            - after
                .trim_start_matches(|one: char| one.is_ascii_digit())
                .len();
        let (digits, after) = after.split_at_checked(digits)?;
        let column = match digits.parse::<usize>().ok()?.checked_sub(1) {
            None => whole,
            Some(index) => fields.get(index).copied().unwrap_or_default(),
        };
        return Some((column.to_owned(), after));
    }
    let (literal, after) = text.strip_prefix('"')?.split_once('"')?;
    (!literal.contains('\\')).then(|| (literal.to_owned(), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_lines_and_texts_are_printed() {
        for (words, text, expected) in [
            (&["{print $2}"][..], "a push\n", Some("push\n")),
            (&["NR==2"], "a\npush\n", Some("push\n")),
            (&["BEGIN{print \"push\"}"], "", Some("push\n")),
            (
                &["-F:", "{print $1\"-\"$2, $3}"],
                "a:b:c\n",
                Some("a-b c\n"),
            ),
            (&["/^#/{print $2}"], "x y\n# z\n", Some("z\n")),
            (&["{print toupper($1) \"x\"}"], "a\n", Some("Ax\n")),
            (&["{print length($1)}"], "a\n", None),
            (&["{x=1; print}"], "a\n", None),
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(printed(&words, text).as_deref(), expected, "{words:?}");
        }
    }
}
