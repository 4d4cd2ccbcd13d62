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
        if let Some(after) = rest.strip_prefix("$NF") {
            output.push_str(fields.last().unwrap_or(&whole));
            rest = after;
        } else if let Some(after) = rest.strip_prefix('$') {
            let end = after
                .find(|one: char| !one.is_ascii_digit())
                .unwrap_or(after.len());
            let (digits, after) = after.split_at_checked(end)?;
            match digits.parse::<usize>().ok()? {
                0 => output.push_str(whole),
                column => output.push_str(fields.get(column.saturating_sub(1)).unwrap_or(&"")),
            }
            rest = after;
        } else {
            let inner = rest.strip_prefix('"')?;
            let (literal, after) = inner.split_once('"')?;
            if literal.contains('\\') {
                return None;
            }
            output.push_str(literal);
            rest = after;
        }
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(',') {
            output.push(' ');
            rest = after.trim_start();
        }
    }
    Some(output)
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
            (&["{print toupper($1)}"], "a\n", None),
            (&["{x=1; print}"], "a\n", None),
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(printed(&words, text).as_deref(), expected, "{words:?}");
        }
    }
}
