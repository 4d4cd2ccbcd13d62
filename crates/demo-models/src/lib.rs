//! Models for the demo's loop: adapters and a general model on this machine, over real HTTP. `POST /<role>/verify` is
//! the contract of adapters, `POST /v1/messages` the general model. Their answers are in [`tasks`] and [`repairs`].

mod backstage;
pub mod repairs;
pub mod tasks;

pub use backstage::{Backstage, MODEL, tokens};
