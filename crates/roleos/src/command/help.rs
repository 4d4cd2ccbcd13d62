//! `roleos help`: prints the help of a command, or a page of the documentation.

use std::io::Write as _;

use clap::CommandFactory as _;
use present::topics::{self, TOPICS, Topic};
use serde_json::json;

use crate::cli::Cli;
use crate::render::page;
use crate::suggestion;
use crate::ui::{BOLD, DIM, Ui};
use crate::{Exit, Failure};

/// Words of `help`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roleos help topics\n  roleos help oversight\n  roleos help specialist promote"
)]
pub struct Args {
    /// A topic (`topics` lists them), or a command.
    #[arg(value_name = "TOPIC|COMMAND")]
    words: Vec<String>,
}

pub fn run(ui: &Ui, args: &Args) -> Result<Exit, Failure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["topics"] => list(ui)?,
        [name] => match topics::find(name) {
            Some(topic) => show(ui, topic)?,
            None => command(ui, &words)?,
        },
        words => command(ui, words)?,
    }
    Ok(Exit::Done)
}

fn list(ui: &Ui) -> Result<(), Failure> {
    if ui.json {
        let list: Vec<_> = TOPICS
            .iter()
            .map(|topic| json!({ "topic": topic.name, "title": topic.title() }))
            .collect();
        ui.json(&list)?;
        return Ok(());
    }
    for topic in TOPICS {
        ui.line(format_args!(
            "{BOLD}{:<18}{BOLD:#} {}",
            topic.name,
            topic.title()
        ))?;
    }
    ui.note(format_args!("{DIM}`roleos help TOPIC` shows one{DIM:#}"));
    Ok(())
}

fn show(ui: &Ui, topic: &Topic) -> Result<(), Failure> {
    if ui.json {
        ui.json(&json!({ "topic": topic.name, "markdown": topic.text }))?;
        return Ok(());
    }
    let mut out = ui.out();
    out.write_all(page::render(topic.text).as_bytes())?;
    out.flush()?;
    if Cli::command().find_subcommand(topic.name).is_some() {
        ui.note(format_args!(
            "\n{DIM}`roleos {} --help` shows the options of the command{DIM:#}",
            topic.name
        ));
    }
    Ok(())
}

/// Prints the help of a command, like its `--help`.
fn command(ui: &Ui, words: &[&str]) -> Result<(), Failure> {
    let mut root = Cli::command();
    root.build();
    let mut meant = &mut root;
    for word in words {
        let names: Vec<String> = suggestion::names(meant);
        meant = meant.find_subcommand_mut(word).ok_or_else(|| {
            let message = format!("there is no command or topic `{word}`");
            let topics = TOPICS.iter().map(|topic| topic.name);
            let hint = suggestion::of(word, names.iter().map(String::as_str))
                .or_else(|| suggestion::of(word, topics).filter(|_| words.len() == 1));
            Failure::input("unknown_topic", message).hint(match hint {
                Some(name) => format!("did you mean `roleos help {name}`?"),
                None => {
                    "`roleos help topics` lists the pages, `roleos --help` the commands".to_owned()
                }
            })
        })?;
    }
    let help = meant.render_long_help();
    let mut out = ui.out();
    write!(out, "{}", help.ansi())?;
    out.flush()?;
    Ok(())
}
