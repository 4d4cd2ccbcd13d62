//! Lists with filters, newest first, page by page. A page ends with a key, and the next one continues behind it, so
//! that new rows move nothing and the thousandth page costs as much as the first.

use rusqlite::types::Value as Bound;
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};
use witness::ledger::Leaf;

use super::{View, ViewError};

/// Limit of rows per page.
pub const MAX_PAGE: u32 = 200;

/// Least number of letters of a word that is searched for in digests: every digit occurs in most of them.
const LEAST_DIGITS: usize = 6;

/// Limit of words of a search.
const MAX_WORDS: usize = 10;

/// Number of rows below which sorting is faster than walking.
const FEW: u64 = 2000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Number of rows, at most [`MAX_PAGE`].
    pub limit: u32,
    /// Key of the row before the page, from [`Listed::next`].
    pub after: Option<Key>,
    /// Sort column; `None` for the order of time, newest first.
    pub sort: Option<Sort>,
}

/// Sort column with its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    column: &'static str,
    is_ascending: bool,
}

impl Sort {
    /// Parses `cost` (largest first) or `-cost` (smallest first) for a list of `T`.
    pub fn parse<T: Listable>(text: &str) -> Option<Self> {
        let name = text.strip_prefix('-').unwrap_or(text);
        let mut columns = T::SORTS.iter();
        let (_, column) = columns.find(|(known, _)| *known == name)?;
        Some(Self {
            column,
            is_ascending: text.starts_with('-'),
        })
    }
}

impl Page {
    /// Returns the page of the newest rows.
    #[must_use]
    pub fn first(limit: u32) -> Self {
        Self {
            limit,
            after: None,
            sort: None,
        }
    }
}

/// Position of a row in its list: the value that the list is ordered by, as text, then the row's number.
///
/// `SQLite` compares a bound text with a column as the column's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    order: String,
    id: i64,
}

impl Key {
    /// Parses the output of [`Key::text`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (order, id) = text.rsplit_once('~')?;
        let (order, id) = (order.to_owned(), id.parse().ok()?);
        Some(Self { order, id })
    }

    /// Returns the text for a URL.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}~{}", self.order, self.id)
    }
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed<T> {
    /// Rows of the page.
    pub items: Vec<T>,
    /// Start of the next page; `None` at the end.
    pub next: Option<Key>,
    /// Number of rows on all pages.
    pub total: u64,
}

/// Conditions on rows: columns with their required values. The caller omits columns that a list does not have.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    columns: Vec<&'static str>,
    conditions: Vec<String>,
    values: Vec<Bound>,
}

impl Filter {
    /// Requires this value, if it is given.
    #[must_use]
    pub fn equal(mut self, column: &'static str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.columns.push(column);
            self.conditions.push(format!("{column} = ?"));
            self.values.push(Bound::Text(value.to_owned()));
        }
        self
    }

    /// Requires one of these values, if there are any.
    #[must_use]
    pub fn any(mut self, column: &'static str, values: &[&str]) -> Self {
        if !values.is_empty() {
            self.columns.push(column);
            let marks = vec!["?"; values.len()].join(", ");
            self.conditions.push(format!("{column} IN ({marks})"));
            let values = values.iter().map(|value| Bound::Text((*value).to_owned()));
            self.values.extend(values);
        }
        self
    }

    /// Requires a value between these two, the second one excluded.
    #[must_use]
    pub fn between(mut self, column: &'static str, from: Option<&str>, to: Option<&str>) -> Self {
        for (bound, sign) in [(from, ">="), (to, "<")] {
            if let Some(bound) = bound {
                self.columns.push(column);
                self.conditions.push(format!("{column} {sign} ?"));
                self.values.push(Bound::Text(bound.to_owned()));
            }
        }
        self
    }

    /// Requires every word of `text` in one of the list's columns, in any letter case.
    #[must_use]
    pub fn found<T: Listable>(mut self, text: &str) -> Self {
        for word in text.split_whitespace().take(MAX_WORDS) {
            self.columns.push("");
            let is_long = word.len() >= LEAST_DIGITS;
            let digests = T::DIGESTS.iter().filter(|_| is_long);
            let columns: Vec<&str> = T::SEARCHED.iter().chain(digests).copied().collect();
            let any: Vec<String> = columns
                .iter()
                .map(|column| format!("instr(lower({column}), lower(?)) > 0"))
                .collect();
            self.conditions.push(format!("({})", any.join(" OR ")));
            let words = columns.iter().map(|_| Bound::Text(word.to_owned()));
            self.values.extend(words);
        }
        self
    }

    /// Requires this flag, if it is given.
    #[must_use]
    pub fn flag(mut self, column: &'static str, value: Option<bool>) -> Self {
        if let Some(value) = value {
            self.columns.push(column);
            self.conditions.push(format!("{column} = ?"));
            self.values.push(Bound::Integer(i64::from(value)));
        }
        self
    }

    /// Requires this word in a list that is stored as JSON, if it is given.
    #[must_use]
    pub fn holds(mut self, column: &'static str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.columns.push(column);
            self.conditions.push(format!("instr({column}, ?) > 0"));
            let word = serde_json::to_string(value).unwrap_or_default();
            self.values.push(Bound::Text(word));
        }
        self
    }

    fn sql(&self) -> String {
        match self.conditions.as_slice() {
            [] => "1".to_owned(),
            conditions => conditions.join(" AND "),
        }
    }
}

/// Row type of a list.
pub trait Listable: Sized {
    const TABLE: &'static str;
    const COLUMNS: &'static str;
    /// Column of the default order, newest first.
    const ORDER: &'static str;
    /// Column of the row's number.
    const KEY: &'static str = "id";
    /// Index that answers filters by several of these columns, and the order, without reading the rows.
    const COVERED: Option<(&'static str, &'static [&'static str])> = None;
    /// Columns of a search.
    const SEARCHED: &'static [&'static str] = &[];
    /// Columns of digests and ids that a search includes if a word has enough digits.
    const DIGESTS: &'static [&'static str] = &[];
    /// Sortable columns: the name in URLs, and the column.
    const SORTS: &'static [(&'static str, &'static str)] = &[];
    /// Reads a row; its number is the last of the columns' values.
    fn read(row: &rusqlite::Row<'_>) -> Result<Self, rusqlite::Error>;
}

impl View {
    /// Returns one page of the rows that pass the filter, newest first.
    pub fn list<T: Listable>(&self, filter: &Filter, page: &Page) -> Result<Listed<T>, ViewError> {
        self.read(|db| list(db, filter, page))
    }

    /// Returns the position of a bundle in the ledger, from 0, and the size of the ledger; `None` if it is not
    /// logged.
    pub fn place_of(&self, leaf: &Leaf) -> Result<Option<(u64, u64)>, ViewError> {
        self.read(|db| {
            let mut query = db.prepare_cached(
                "SELECT leaf.line - 1, source.line FROM leaf JOIN source ON source.id = leaf.source
                 WHERE task_id = ?1 AND created_ns = ?2 AND sha256 = ?3 ORDER BY leaf.line LIMIT 1",
            )?;
            let created = i64::try_from(leaf.created_ns).unwrap_or(i64::MAX);
            let words = params![leaf.task_id.to_string(), created, leaf.bundle_sha256];
            let number = |row: &rusqlite::Row<'_>, column| {
                Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.cast_unsigned())
            };
            let found = query.query_row(words, |row| Ok((number(row, 0)?, number(row, 1)?)));
            found.optional()
        })
    }

    /// Returns the task of the leaf with this digest, its position from 0, and the number of leaves.
    pub fn leaf_of(&self, digest: &str) -> Result<Option<(String, u64, u64)>, ViewError> {
        let digest = hex::decode(digest).unwrap_or_default();
        self.read(|db| {
            let mut query = db.prepare_cached(
                "SELECT task_id, leaf.line - 1, source.line FROM leaf JOIN source ON source.id = leaf.source
                 WHERE sha256 = ?1 ORDER BY leaf.line LIMIT 1",
            )?;
            let number = |row: &rusqlite::Row<'_>, column| {
                Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.cast_unsigned())
            };
            let found = query.query_row([digest], |row| {
                Ok((row.get(0)?, number(row, 1)?, number(row, 2)?))
            });
            found.optional()
        })
    }

    /// Returns the files of the bundles whose task id has this prefix, at most two.
    pub fn files_of(&self, beginning: &str) -> Result<Vec<(String, String)>, ViewError> {
        self.read(|db| {
            let mut query = db.prepare_cached(
                "SELECT task_id, file FROM task WHERE task_id >= ?1 AND task_id < ?1 || 'g'
                 ORDER BY task_id, created_ns DESC LIMIT 2",
            )?;
            query
                .query_map([beginning], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })
    }
}

impl View {
    /// Returns the values of a column with few of them, by name, with their counts.
    pub fn values_of<T: Listable>(
        &self,
        column: &'static str,
    ) -> Result<Vec<(String, u64)>, ViewError> {
        self.read(|db| grouped(db, T::TABLE, column))
    }
}

/// A column of the bundles with few values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskColumn {
    /// The outcome of the task.
    Outcome,
    /// The role of the agent.
    Role,
    /// The model that answered.
    Model,
    /// The governance mode.
    Mode,
    /// The calendar week.
    Week,
    /// The verdict on the bundle.
    Verdict,
    /// The program that executed the task.
    Agent,
}

impl TaskColumn {
    pub(super) const ALL: [Self; 7] = [
        Self::Outcome,
        Self::Role,
        Self::Model,
        Self::Mode,
        Self::Week,
        Self::Verdict,
        Self::Agent,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Outcome => "outcome",
            Self::Role => "role",
            Self::Model => "model",
            Self::Mode => "mode",
            Self::Week => "week",
            Self::Verdict => "verdict",
            Self::Agent => "agent",
        }
    }
}

/// Returns the values of a column of the bundles with their counts, by name.
pub(super) fn values(
    db: &Connection,
    column: TaskColumn,
) -> Result<Vec<(String, u64)>, rusqlite::Error> {
    grouped(db, "task", column.name())
}

fn grouped(
    db: &Connection,
    table: &str,
    name: &str,
) -> Result<Vec<(String, u64)>, rusqlite::Error> {
    let sql = format!("SELECT {name}, count(*) FROM {table} GROUP BY {name} ORDER BY {name}");
    let mut query = db.prepare_cached(&sql)?;
    let rows = query.query_map([], |row| {
        Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned()))
    })?;
    rows.collect()
}

/// Returns the index that answers this filter alone. A single column has its own index.
fn covering<T: Listable>(filter: &Filter) -> Option<&'static str> {
    let (index, columns) = T::COVERED?;
    let all = filter.columns.iter().all(|one| columns.contains(one));
    (all && filter.columns.len() > 1).then_some(index)
}

fn count<T: Listable>(db: &Connection, filter: &Filter) -> Result<u64, rusqlite::Error> {
    let table = match covering::<T>(filter) {
        Some(index) => format!("{} INDEXED BY {index}", T::TABLE),
        None => T::TABLE.to_owned(),
    };
    let sql = format!("SELECT count(*) FROM {table} WHERE {}", filter.sql());
    let total: i64 = db
        .prepare_cached(&sql)?
        .query_row(params_from_iter(&filter.values), |row| row.get(0))?;
    Ok(total.cast_unsigned())
}

/// Returns the query for one page with one additional row, which shows that there is a next page.
fn question<T: Listable>(filter: &Filter, page: &Page, total: u64) -> (String, Vec<Bound>) {
    let (table, key) = (T::TABLE, T::KEY);
    let order = page.sort.map_or(T::ORDER, |sort| sort.column);
    let (sign, direction) = match page.sort {
        Some(sort) if sort.is_ascending => (">", "ASC"),
        _ => ("<", "DESC"),
    };
    let mut values = filter.values.clone();
    let mut wanted = filter.sql();
    if let Some(after) = &page.after {
        wanted.push_str(&format!(" AND ({order}, {key}) {sign} (?, ?)"));
        values.push(Bound::Text(after.order.clone()));
        values.push(Bound::Integer(after.id));
    }
    let end = format!(
        "ORDER BY {order} {direction}, {key} {direction} LIMIT {}",
        page.limit.clamp(1, MAX_PAGE) + 1
    );
    // The index finds few rows among many at once; walking from the newest row on would visit nearly all the others.
    let is_by_time = page.sort.is_none();
    let wanted = match covering::<T>(filter).filter(|_| total < FEW && is_by_time) {
        Some(index) => {
            format!("{key} IN (SELECT {key} FROM {table} INDEXED BY {index} WHERE {wanted} {end})")
        }
        None => wanted,
    };
    let columns = T::COLUMNS;
    let sql = format!("SELECT {columns}, {order}, {key} FROM {table} WHERE {wanted} {end}");
    (sql, values)
}

fn list<T: Listable>(
    db: &Connection,
    filter: &Filter,
    page: &Page,
) -> Result<Listed<T>, rusqlite::Error> {
    let total = count::<T>(db, filter)?;
    let mut listed = Listed {
        items: Vec::new(),
        next: None,
        total,
    };
    if total == 0 {
        return Ok(listed);
    }
    let (sql, values) = question::<T>(filter, page, total);
    let mut query = db.prepare_cached(&sql)?;
    let columns = query.column_count();
    let mut rows = query.query(params_from_iter(&values))?;
    let limit = usize::try_from(page.limit.clamp(1, MAX_PAGE)).unwrap_or(usize::MAX);
    let mut last = None;
    while let Some(row) = rows.next()? {
        if listed.items.len() == limit {
            listed.next = last.take();
            break;
        }
        let order = match row.get::<_, Bound>(columns - 2)? {
            Bound::Integer(number) => number.to_string(),
            Bound::Real(number) => number.to_string(),
            Bound::Text(text) => text,
            _ => String::new(),
        };
        let id = row.get(columns - 1)?;
        last = Some(Key { order, id });
        listed.items.push(T::read(row)?);
    }
    Ok(listed)
}
