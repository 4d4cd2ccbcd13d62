//! What the command writes to files, and what they hold when it is not sure that it does.

use crate::lookup::{Content, absolute, directory_of};
use crate::value::{ENVIRONMENT, HOLE, Value, has_hole};

use super::Evaluator;
use super::wrapper::option_value;

impl Evaluator<'_> {
    /// Remembers what the command writes.
    pub(crate) fn write(&mut self, path: &str, content: &Value, append: bool) {
        // A name that is known in part can still be found by a pattern.
        let nameless = has_hole(directory_of(path)) || path.starts_with([HOLE, ENVIRONMENT]);
        let device = path.starts_with("/dev/") && !self.written.contains_key(path);
        if nameless || device || has_hole(&self.state.directory) {
            return;
        }
        let path = absolute(&self.state.directory, path);
        self.guard_attributes(&path, content.first());
        let content = match (append, self.written.get(&path)) {
            (true, Some(before)) => before.then(content),
            (true, None) => match self.lookup.read(&path) {
                Content::Text(before) => Value::text(before).then(content),
                _ => content.clone(),
            },
            (false, _) => content.clone(),
        };
        let content = if self.unsure > 0 {
            let before = self.written.get(&path).cloned();
            self.or_before(&path, &content, before)
        } else {
            content
        };
        if self.chains > 0 {
            let before = self.written.get(&path).cloned();
            self.held.push((path.clone(), before));
        }
        if let Some(before) = self.written.insert(path.clone(), content) {
            let earlier = self.earlier.entry(path).or_default();
            if earlier.len() < 4 && !earlier.contains(&before) {
                earlier.push(before);
            }
        }
    }

    /// `truncate`: nothing stays of the files, or what does nobody reckons.
    pub(crate) fn truncated(&mut self, arguments: &[String], paths: &[String]) {
        let size = option_value(arguments, &["-s", "--size"]);
        let glued = arguments.iter().any(|word| word == "-s0");
        let after = if glued || size.as_deref() == Some("0") {
            Value::empty()
        } else {
            Value::unknown()
        };
        for path in paths.iter().filter(|path| Some(*path) != size.as_ref()) {
            self.write(path, &after, false);
        }
    }

    /// What a file holds when it is not sure that it was written.
    fn or_before(&self, path: &str, content: &Value, before: Option<Value>) -> Value {
        match (before, self.lookup.read(path)) {
            (Some(before), _) => content.or(&before),
            (None, Content::Text(before)) => content.or(&Value::text(before)),
            // Where there was none there may be none.
            (None, _) => content.or(&Value::empty()),
        }
    }

    /// A chain begins that may end early.
    pub(crate) fn begin_chain(&mut self) -> usize {
        self.chains = self.chains.saturating_add(1);
        self.held.len()
    }

    /// It ends: files that it wrote may hold what they held before it.
    pub(crate) fn end_chain(&mut self, begin: Option<usize>) {
        let Some(begin) = begin else { return };
        for (path, before) in self.held.get(begin..).unwrap_or_default().to_vec() {
            if let Some(content) = self.written.get(&path).cloned() {
                let content = self.or_before(&path, &content, before);
                self.written.insert(path, content);
            }
        }
        self.chains = self.chains.saturating_sub(1);
        if self.chains == 0 {
            self.held.clear();
        }
    }

    /// Git brings back what files held before: they may hold any of it.
    pub(crate) fn brought_back(&mut self) {
        for (path, contents) in std::mem::take(&mut self.earlier) {
            let mut all = self
                .written
                .get(&path)
                .cloned()
                .unwrap_or_else(Value::empty);
            for content in &contents {
                all = all.or(content);
            }
            self.written.insert(path, all);
        }
    }
}
