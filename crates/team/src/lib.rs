//! The store that a team shares: one PostgreSQL database for every `roleos up` and every machine of a team.
//!
//! [`Address`] is the URL that the user gave, checked; [`Team`] is the database behind it: a small pool of connections
//! and the tables that `migrations` keeps current. The modules that own the tables define their content. This crate
//! works on rows; it makes no decisions and prints nothing.

mod address;
mod archive;
mod attach;
mod error;
mod migrations;
mod pool;
mod routing;
#[cfg(feature = "throwaway")]
pub mod throwaway;
mod tls;

pub use address::{Address, AddressError, Mode};
pub use archive::DatabaseArchive;
pub use attach::{archive, attach, open, serving_archive};
pub use error::TeamError;
pub use pool::{Connection, Team};
pub use postgres;
pub use routing::Routing;
