//! Implements a tokenizer and parsers for POSIX / bash shell syntax.
//!
//! A reduced copy of brush-parser 0.4.0; README.md lists the changes.

#![allow(clippy::all, clippy::pedantic, clippy::nursery, clippy::unwrap_used, dead_code)]

pub mod ast;
pub mod word;

mod error;
mod parser;
mod source;
mod tokenizer;

pub use error::{ParseError, ParseErrorLocation, WordParseError};
pub use parser::{ParserImpl, ParserOptions, parse_tokens};
pub use source::{SourcePosition, SourcePositionOffset, SourceSpan};
pub use tokenizer::{
    Token, TokenLocation, TokenizerError, TokenizerOptions, uncached_tokenize_str, unquote_str,
};
