//! The `specialist:` block of a role's own file: the values that its author agreed to, compared with the registry.
//!
//! Without a file, the registry decides. A file without a block, or with `null`: no specialist for this role. A block
//! must agree with the active version.

use serde_json::Value;

use crate::registry::{Entry, Version};

/// Specialist block of a role's file.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RoleBlock {
    /// The role has no file; the registry decides.
    #[default]
    NoFile,
    /// The file has no block: the general model, always.
    Absent,
    /// `specialist: null`: the general model, always.
    Off,
    /// These values; a missing key is not compared.
    Declared(Box<Declared>),
    /// A block that cannot be read, with the reason. It agrees with nothing.
    Unreadable(String),
}

/// Keys of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declared {
    /// Address that serves the adapter.
    pub backend_url: Option<String>,
    /// Id of the adapter.
    pub adapter_id: Option<String>,
    /// Lowest score that routes to it.
    pub gate_threshold: Option<f64>,
    /// Fallback of the adapter.
    pub fallback: Option<String>,
    /// Largest share of dispatches.
    pub workload_quota: Option<f64>,
    /// Certification level.
    pub certified_level: Option<String>,
}

impl RoleBlock {
    /// Parses the block; `None` if the role has none.
    #[must_use]
    pub fn read(block: Option<&Value>) -> Self {
        match block {
            None => Self::Absent,
            Some(Value::Null) => Self::Off,
            Some(Value::Object(object)) => {
                let mut declared = Declared::default();
                for (key, value) in object {
                    let text = || value.as_str().map(str::to_owned);
                    let understood = match key.as_str() {
                        "backend_url" => set(&mut declared.backend_url, text()),
                        "adapter_id" => set(&mut declared.adapter_id, text()),
                        "gate_threshold" => set(&mut declared.gate_threshold, value.as_f64()),
                        "fallback" => set(&mut declared.fallback, text()),
                        "workload_quota" => set(&mut declared.workload_quota, value.as_f64()),
                        "certified_level" => set(&mut declared.certified_level, text()),
                        _ => true,
                    };
                    if !understood {
                        return Self::Unreadable(format!("its `{key}` has the wrong type"));
                    }
                }
                Self::Declared(Box::new(declared))
            }
            Some(_) => Self::Unreadable("it is neither null nor a set of keys".to_owned()),
        }
    }

    /// Returns why the role's file leaves the role to the general model, if it does.
    #[must_use]
    pub fn off(&self) -> Option<&'static str> {
        match self {
            Self::Off => Some("the role's file says `specialist: null`, or cannot be read"),
            Self::Absent => Some(
                "the role's file has no `specialist:` block; `roleos specialist set ROLE --block` writes it",
            ),
            Self::NoFile | Self::Declared(_) | Self::Unreadable(_) => None,
        }
    }

    /// Returns as text how the block disagrees with the registry; `None` if it agrees.
    #[must_use]
    pub fn mismatch(&self, entry: &Entry, version: &Version) -> Option<String> {
        let declared = match self {
            Self::NoFile | Self::Absent | Self::Off => return None,
            Self::Unreadable(why) => {
                return Some(format!("the role's specialist block cannot be read: {why}"));
            }
            Self::Declared(declared) => declared,
        };
        let level = version.certified_level.to_string();
        differs(
            "backend_url",
            declared.backend_url.as_deref(),
            &entry.backend_url,
        )
        .or_else(|| {
            differs(
                "adapter_id",
                declared.adapter_id.as_deref(),
                &version.adapter_id,
            )
        })
        .or_else(|| differs("fallback", declared.fallback.as_deref(), "claude"))
        .or_else(|| {
            differs(
                "certified_level",
                declared.certified_level.as_deref(),
                &level,
            )
        })
        .or_else(|| {
            apart(
                "gate_threshold",
                declared.gate_threshold,
                version.gate_threshold,
            )
        })
        .or_else(|| {
            apart(
                "workload_quota",
                declared.workload_quota,
                entry.workload_quota,
            )
        })
    }
}

/// Returns `true` if there was a value to set.
fn set<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    *slot = value;
    slot.is_some()
}

fn differs(key: &str, declared: Option<&str>, registered: &str) -> Option<String> {
    let declared = declared.filter(|declared| *declared != registered)?;
    Some(format!(
        "{key} is {declared:?} in the role's file and {registered:?} in the registry"
    ))
}

fn apart(key: &str, declared: Option<f64>, registered: f64) -> Option<String> {
    let declared = declared.filter(|declared| (declared - registered).abs() > 1e-9)?;
    Some(format!(
        "{key} is {declared} in the role's file and {registered} in the registry"
    ))
}
