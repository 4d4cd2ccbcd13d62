//! `roleos mode`: the mode of agents in this workspace. Shows it, or changes its line in the settings.

use base::config::{Config, oversight::GovernanceMode};
use base::ownership;
use base::settings_edit::{self, Change};
use clap::{Args as Words, ValueEnum};
use oversight::governance::Mode;
use serde_json::json;

use crate::person::Person;
use crate::ui::{BOLD, DIM, GOOD, Ui};
use crate::{Context, Exit, Failure};

/// Words of `mode`.
#[derive(Debug, Words)]
#[command(after_help = "Examples:\n  roleos mode\n  roleos mode restricted")]
pub struct Args {
    /// The new mode [default: show the present one].
    mode: Option<Choice>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Choice {
    /// Only the tools of a short list, and small budgets.
    Restricted,
    /// A person confirms everything that does not only read.
    Approved,
    /// Everything within the budgets; a violation rolls the working tree back.
    Autonomous,
    /// No lists and no budgets; the capability gate is a matter of its own.
    Off,
}

impl From<Choice> for GovernanceMode {
    fn from(choice: Choice) -> Self {
        match choice {
            Choice::Restricted => Self::Restricted,
            Choice::Approved => Self::Approved,
            Choice::Autonomous => Self::Autonomous,
            Choice::Off => Self::Off,
        }
    }
}

fn name(mode: GovernanceMode) -> &'static str {
    Mode::from(mode).as_str()
}

fn meaning(mode: GovernanceMode) -> &'static str {
    match mode {
        GovernanceMode::Restricted => "only the tools of a short list, and small budgets",
        GovernanceMode::Approved => "a person confirms everything that does not only read",
        GovernanceMode::Autonomous => {
            "everything within the budgets; a violation rolls the working tree back"
        }
        GovernanceMode::Off => {
            "no lists and no budgets; the capability gate is a matter of its own"
        }
    }
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let present = context.config.oversight.mode;
    let Some(choice) = args.mode else {
        if ui.json {
            ui.json(&json!({ "mode": name(present) }))?;
        } else {
            ui.line(format_args!(
                "{BOLD}{}{BOLD:#}  {}",
                name(present),
                meaning(present)
            ))?;
        }
        return Ok(Exit::Done);
    };
    let wanted = GovernanceMode::from(choice);
    let mut person = Person::at_terminal(ui, "mode")?;
    person.tell(format_args!(
        "{} → {BOLD}{}{BOLD:#}: {}",
        name(present),
        name(wanted),
        meaning(wanted)
    ))?;
    person.confirms("Change the mode?")?;
    let key = person.signing_key(context)?;
    let environment = &context.environment;
    let change = [Change::set("oversight.mode", name(wanted))];
    let path = settings_edit::apply(&context.workspace, environment, &change, &key);
    ownership::hand_over(&context.workspace);
    let path = path?;
    let ignored = Config::load(&context.workspace, environment)?.ignored;
    let holds = !ignored.iter().any(|one| one.key == "oversight.mode");
    if ui.json {
        ui.json(&json!({ "mode": name(wanted), "file": path, "trusted": holds }))?;
    } else {
        ui.line(format_args!("{GOOD}mode{GOOD:#} {}", name(wanted)))?;
        ui.note(format_args!(
            "{DIM}wrote `mode` under [oversight] in {}{DIM:#}",
            path.display()
        ));
        if !holds {
            ui.note(
                "the file holds other settings that are not confirmed, so the mode is ignored until you run `roleos trust`",
            );
        }
    }
    Ok(Exit::Done)
}
