//! Common parts of every list: filters with several values, a time range, a search, sorting by column, pages. The whole
//! state is in the address, so that a view can be saved and shared.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::frame::encoded;
use crate::api::bad_query;
use crate::problem::Problem;
use index::list::{Filter, Key, Listable, Page, Sort};
use present::show::clean;
use present::show::units::grouped;

/// Rows per page.
pub(super) const ROWS: u32 = 50;

/// The query of an address, in which a name may occur several times.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pairs: Vec<(String, String)>,
}

impl<S: Send + Sync> FromRequestParts<S> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let pairs = pairs.map(|Query(pairs)| pairs).unwrap_or_default();
        // Forms send an empty value if there is no filter.
        let pairs = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        Ok(Self {
            pairs: pairs.collect(),
        })
    }
}

impl Asked {
    /// Returns all values of a name.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        let of_name = self.pairs.iter().filter(|(known, _)| known == name);
        of_name.map(|(_, value)| value.as_str()).collect()
    }

    /// Returns the first value of a name; empty if there is none.
    pub(super) fn one(&self, name: &str) -> &str {
        self.all(name).first().copied().unwrap_or_default()
    }

    /// Returns `true` if the address asks for a file instead of a page.
    pub(super) fn is_for_file(&self) -> bool {
        self.one("format") == "csv"
    }

    /// Parses where the page begins and how it is sorted.
    pub(super) fn page<T: Listable>(&self) -> Result<Page, Problem> {
        let after = match self.one("after") {
            "" => None,
            text => Some(Key::parse(text).ok_or_else(|| bad_query("`after` names no row"))?),
        };
        let sort = match self.one("sort") {
            "" => None,
            text => Some(Sort::parse::<T>(text).ok_or_else(|| {
                bad_query(&format!(
                    "this list cannot be sorted by `{}`",
                    clean::line(text, 40)
                ))
            })?),
        };
        Ok(Page {
            limit: ROWS,
            after,
            sort,
        })
    }

    /// Parses the time range, as times in UTC.
    fn range(&self) -> Result<[Option<Timestamp>; 2], Problem> {
        let bound = |name: &str, days: i64| match self.one(name) {
            "" => Ok(None),
            text => parse_time(text, days)
                .map(Some)
                .ok_or_else(|| bad_query(&format!("`{name}` must be a day or a time"))),
        };
        Ok([bound("from", 0)?, bound("to", 1)?])
    }

    /// Adds the time range for a column of nanoseconds.
    pub(super) fn within_ns(
        &self,
        filter: Filter,
        column: &'static str,
    ) -> Result<Filter, Problem> {
        let [from, to] = self.range()?;
        let text = |time: Timestamp| time.as_nanosecond().to_string();
        let (from, to) = (from.map(text), to.map(text));
        Ok(filter.between(column, from.as_deref(), to.as_deref()))
    }

    /// Adds the time range for a column of RFC 3339 strings.
    pub(super) fn within_text(
        &self,
        filter: Filter,
        column: &'static str,
    ) -> Result<Filter, Problem> {
        let [from, to] = self.range()?;
        // Without a zone, so that a time with a fraction does not sort before the whole second.
        let text = |time: Timestamp| time.strftime("%Y-%m-%dT%H:%M:%S").to_string();
        let (from, to) = (from.map(text), to.map(text));
        Ok(filter.between(column, from.as_deref(), to.as_deref()))
    }

    /// Returns the address with other values for some names; the list then starts at its first page.
    pub(super) fn address(&self, path: &str, others: &[(&str, &str)]) -> String {
        let is_kept = |name: &str| {
            name != "after" && name != "page" && others.iter().all(|(other, _)| *other != name)
        };
        let kept = self.pairs.iter().filter(|(name, _)| is_kept(name));
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        let others = others
            .iter()
            .copied()
            .filter(|(_, value)| !value.is_empty());
        let words: Vec<String> = kept
            .chain(others)
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
            .collect();
        match words.as_slice() {
            [] => path.to_owned(),
            words => format!("{path}?{}", words.join("&")),
        }
    }
}

/// Parses a day, to which `days` are added, or a time.
fn parse_time(text: &str, days: i64) -> Option<Timestamp> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    let day: Date = text.parse().ok()?;
    let day = day.checked_add(days.days()).ok()?;
    let zoned = day.to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp())
}

/// A filter with its values.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    /// The chosen values, or `all`.
    pub(super) chosen: String,
    pub(super) values: Vec<Value>,
}

pub(super) struct Value {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) count: String,
    pub(super) is_chosen: bool,
}

impl Field {
    /// Creates a filter from the values of a column with their counts; a count of 0 is not shown.
    pub(super) fn of(
        asked: &Asked,
        name: &'static str,
        label: &'static str,
        values: &[(String, u64)],
    ) -> Self {
        let chosen = asked.all(name);
        let values = values.iter().filter(|(value, _)| !value.is_empty());
        let values: Vec<Value> = values
            .map(|(value, count)| Value {
                value: value.clone(),
                label: clean::line(value, 60),
                count: match count {
                    0 => String::new(),
                    count => grouped(*count),
                },
                is_chosen: chosen.contains(&value.as_str()),
            })
            .collect();
        let chosen: Vec<String> = chosen.iter().map(|value| clean::line(value, 30)).collect();
        Self {
            name,
            label,
            chosen: match chosen.as_slice() {
                [] => "all".to_owned(),
                chosen => chosen.join(", "),
            },
            values,
        }
    }

    /// Creates a filter from fixed values.
    pub(super) fn of_words(
        asked: &Asked,
        name: &'static str,
        label: &'static str,
        words: &[&str],
    ) -> Self {
        let words: Vec<(String, u64)> = words.iter().map(|word| ((*word).to_owned(), 0)).collect();
        Self::of(asked, name, label, &words)
    }
}

/// The head of a column.
pub(super) struct Head {
    pub(super) label: &'static str,
    pub(super) is_number: bool,
    /// The address that sorts by it, if it is sortable.
    pub(super) href: Option<String>,
    /// `ascending` or `descending`, if the list is sorted by it.
    pub(super) sorted: Option<&'static str>,
}

/// Parts around the rows of a list.
pub(super) struct Shell {
    pub(super) path: &'static str,
    pub(super) fields: Vec<Field>,
    pub(super) query: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) sort: String,
    pub(super) heads: Vec<Head>,
    pub(super) total: String,
    pub(super) is_filtered: bool,
    /// `Page 2 of 8`, if there are several.
    pub(super) place: Option<String>,
    pub(super) first: Option<String>,
    pub(super) next: Option<String>,
    /// The address of the list as a file.
    pub(super) file: String,
}

/// A column: its label, its name for sorting (or empty), and `true` for numbers.
pub(super) type Column = (&'static str, &'static str, bool);

impl Shell {
    /// Creates the parts around a page of `total` rows.
    pub(super) fn new(
        asked: &Asked,
        path: &'static str,
        columns: &[Column],
        fields: Vec<Field>,
        (total, next): (u64, Option<Key>),
    ) -> Self {
        let pages = total.div_ceil(u64::from(ROWS)).max(1);
        let page: u64 = asked.one("page").parse().unwrap_or(1);
        let is_later = !asked.one("after").is_empty();
        let address = |key: Key| {
            let after = [("after", key.text()), ("page", (page + 1).to_string())];
            let [after, number] =
                [&after[0], &after[1]].map(|(name, value)| (*name, value.as_str()));
            asked.address(path, &[after, number])
        };
        Self {
            path,
            query: clean::line(asked.one("q"), 200),
            from: clean::line(asked.one("from"), 40),
            to: clean::line(asked.one("to"), 40),
            sort: clean::line(asked.one("sort"), 40),
            is_filtered: asked
                .pairs
                .iter()
                .any(|(name, _)| !matches!(&**name, "sort" | "after" | "page")),
            heads: columns
                .iter()
                .map(|column| head(asked, path, *column))
                .collect(),
            fields,
            total: grouped(total),
            place: (pages > 1).then(|| format!("Page {page} of {pages}")),
            first: is_later.then(|| asked.address(path, &[])),
            next: next.map(address),
            file: asked.address(path, &[("format", "csv")]),
        }
    }
}

fn head(asked: &Asked, path: &str, (label, name, is_number): Column) -> Head {
    let sort = asked.one("sort");
    let sorted = match sort.strip_prefix('-').unwrap_or(sort) {
        known if known != name || name.is_empty() => None,
        _ if sort.starts_with('-') => Some("ascending"),
        _ => Some("descending"),
    };
    // First sorted in reverse, then by time again.
    let next = match sorted {
        None => name.to_owned(),
        Some("descending") => format!("-{name}"),
        Some(_) => String::new(),
    };
    Head {
        label,
        is_number,
        href: (!name.is_empty()).then(|| asked.address(path, &[("sort", &next)])),
        sorted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> Asked {
        let uri = format!("/tasks?{query}").parse().unwrap();
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&uri).unwrap();
        Asked { pairs }
    }

    #[test]
    fn an_address_keeps_all_values_and_begins_at_the_first_page() {
        let asked = asked("outcome=failed&outcome=error&q=a%20b&after=5~6&page=2");
        assert_eq!(asked.all("outcome"), ["failed", "error"]);
        assert_eq!(
            asked.address("/tasks", &[("sort", "cost")]),
            "/tasks?outcome=failed&outcome=error&q=a%20b&sort=cost"
        );
        assert_eq!(
            asked.address("/tasks", &[("q", ""), ("outcome", "")]),
            "/tasks"
        );
    }

    #[test]
    fn a_day_is_whole_at_both_ends() {
        let cases = [
            ("2026-11-18", 0, Some("2026-11-18T00:00:00Z")),
            ("2026-11-18", 1, Some("2026-11-19T00:00:00Z")),
            ("2026-11-18T10:00:00Z", 1, Some("2026-11-18T10:00:00Z")),
            ("yesterday", 0, None),
        ];
        for (text, days, wanted) in cases {
            let found = parse_time(text, days).map(|time| time.to_string());
            assert_eq!(found.as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn a_head_sorts_down_then_up_then_by_time() {
        let of = |query: &str| head(&asked(query), "/tasks", ("Cost", "cost", true));
        for (query, sorted, href) in [
            ("", None, "/tasks?sort=cost"),
            ("sort=cost", Some("descending"), "/tasks?sort=-cost"),
            ("sort=-cost", Some("ascending"), "/tasks"),
            ("sort=role", None, "/tasks?sort=cost"),
        ] {
            let head = of(query);
            assert_eq!(
                (head.sorted, head.href.as_deref()),
                (sorted, Some(href)),
                "{query}"
            );
        }
    }
}
