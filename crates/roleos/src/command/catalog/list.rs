//! `roleos catalog list`: the content of a catalog, compared with the lock.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};

use ::catalog::browse;
use ::catalog::contents::{Contents, Entry};
use ::catalog::yaml::number_text;
use present::view::roles;

use super::origin::{From, Origin};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BOLD, DIM, GOOD, Ui, WARN};

/// Words of `catalog list`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roleos catalog list\n  roleos catalog list builtin\n  roleos catalog list agents/catalog --lang ru"
)]
pub struct Args {
    /// The same as --from.
    #[arg(value_name = "CATALOG", conflicts_with_all = ["from", "remote"])]
    catalog: Option<OsString>,
    #[command(flatten)]
    from: From,
    /// Language of the bundles' names [default: en, else the first].
    #[arg(long, value_name = "LANGUAGE")]
    lang: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// There is no catalog, or its index cannot be read.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let origin = match &args.catalog {
        Some(name) => Origin::named(name)?,
        None => args.from.find(context)?,
    };
    let draft = super::readable(origin.part(ui, context, &|_| false)?)?;
    let states = match &origin {
        Origin::Directory(directory) => roles::states(&draft, &directory.records().lock),
        // A lock is never served, so there is nothing to compare with.
        _ => {
            let roles = draft.roles().iter();
            roles.map(|role| (role.slug.clone(), "offered")).collect()
        }
    };
    let listing = Listing {
        contents: draft.claims(),
        states,
        lang: args.lang.as_deref(),
    };
    if ui.json {
        ui.json(&roles::listing(
            listing.contents,
            &listing.states,
            listing.lang,
        ))?;
    } else {
        let mut out = ui.out();
        listing.show(&mut out)?;
        out.flush()?;
    }
    Ok(Exit::Done)
}

struct Listing<'c> {
    contents: &'c Contents,
    states: BTreeMap<String, &'static str>,
    lang: Option<&'c str>,
}

impl Listing<'_> {
    fn show(&self, out: &mut impl Write) -> io::Result<()> {
        for bundle in self.contents.bundles() {
            let name = browse::bundle_name(self.contents, bundle, self.lang);
            let codes: Vec<_> = bundle
                .languages
                .iter()
                .map(|one| one.code.as_str())
                .collect();
            writeln!(
                out,
                "{BOLD}{}{BOLD:#}  {}  {DIM}{}{DIM:#}",
                clean::line(&bundle.id, 60),
                clean::line(name, 60),
                clean::line(&codes.join(", "), 60)
            )?;
            if let Some(text) = browse::bundle_description(self.contents, bundle, self.lang) {
                writeln!(out, "  {DIM}{}{DIM:#}", clean::line(text, 400))?;
            }
            for entry in &bundle.entries {
                self.show_entry(out, entry)?;
            }
        }
        Ok(())
    }

    fn show_entry(&self, out: &mut impl Write, entry: &Entry) -> io::Result<()> {
        let slug = clean::line(entry.slug.as_deref().unwrap_or("(no slug)"), 60);
        let version = entry.version.map_or_else(|| "?".to_owned(), number_text);
        let state = roles::state(&self.states, entry);
        let style = if matches!(state, "locked" | "offered") {
            GOOD
        } else {
            WARN
        };
        writeln!(out, "  {slug:<28} {version:>5}  {style}{state}{style:#}")
    }
}
