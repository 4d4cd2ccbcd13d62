//! `mapfile`: lines become the elements of an array.

use crate::value::{HOLE, Value};

use super::{Evaluator, Outcome};

/// What `mapfile` was asked for.
struct Request {
    name: String,
    delimiter: char,
    callback: Option<String>,
    keeps_ends: bool,
    descriptor: Option<i32>,
    /// First key, lines to skip, lines to take: None when nobody knows.
    numbers: Option<(i64, usize, usize)>,
}

impl Request {
    fn parse(arguments: &[String]) -> Self {
        let mut request = Self {
            name: "MAPFILE".to_owned(),
            delimiter: '\n',
            callback: None,
            keeps_ends: true,
            descriptor: None,
            numbers: Some((0, 0, 0)),
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let Some(flags) = word.strip_prefix('-') else {
                request.name.clone_from(word);
                continue;
            };
            let valued = flags.chars().find(|flag| "dnOsuCc".contains(*flag));
            let (before, glued) = valued
                .and_then(|flag| flags.split_once(flag))
                .unwrap_or((flags, ""));
            request.keeps_ends &= !before.contains('t');
            let Some(flag) = valued else { continue };
            let value = if glued.is_empty() {
                words.next().map_or("", String::as_str)
            } else {
                glued
            };
            request.option(flag, value);
        }
        request
    }

    fn option(&mut self, flag: char, value: &str) {
        let (key, skipped, count) = self.numbers.unwrap_or_default();
        let number = value.parse::<usize>().ok();
        match flag {
            'd' => self.delimiter = value.chars().next().unwrap_or('\0'),
            'C' => self.callback = Some(value.to_owned()),
            'u' => self.descriptor = value.parse().ok(),
            'O' => self.numbers = value.parse().ok().map(|key| (key, skipped, count)),
            's' => self.numbers = number.map(|skipped| (key, skipped, count)),
            'n' => self.numbers = number.map(|count| (key, skipped, count)),
            _ => {}
        }
    }
}

impl Evaluator<'_> {
    pub(crate) fn map_file(&mut self, arguments: &[String]) -> Outcome {
        let request = Request::parse(arguments);
        let input = match request.descriptor {
            Some(number) => self.state.descriptors.get(&number).cloned(),
            None => self.state.input.clone(),
        };
        let input = input.unwrap_or_else(Value::empty);
        let (Some(text), Some((first, skipped, count))) = (input.known(), request.numbers) else {
            if let Some(callback) = &request.callback {
                self.evaluated(&format!("{callback} 0 {HOLE}"));
            }
            self.state.set(&request.name, Value::unknown(), false);
            return Outcome::quiet(None);
        };
        let ended = text.strip_suffix(request.delimiter).unwrap_or(text);
        let lines = ended.split(request.delimiter).skip(skipped);
        let lines = lines.take(if count == 0 { usize::MAX } else { count });
        let lines: Vec<String> = lines
            .map(|line| line.trim_end_matches('\n').to_owned())
            .collect();
        if let Some(callback) = &request.callback {
            for (index, line) in super::launch::first_items(&lines).iter().enumerate() {
                let line = super::run::quote(line);
                self.in_shell("mapfile -C", &format!("{callback} {index} {line}"));
                self.evaluated(&format!("{callback} {index} {line}"));
            }
        }
        let end = if request.keeps_ends && request.delimiter == '\n' {
            "\n"
        } else {
            ""
        };
        let elements = (first..).zip(lines);
        let elements =
            elements.map(|(index, line)| (index.to_string(), Value::text(format!("{line}{end}"))));
        self.state.set_array(&request.name, elements.collect());
        Outcome::quiet(Some(true))
    }
}
