//! Redirections, and the removed texts of here-documents.

use brush_parser::ast;

use super::super::ir::{Redirect, Target, Word};
use super::Lowering;

impl Lowering {
    pub(super) fn redirects(&self, redirects: Option<ast::RedirectList>) -> Vec<Redirect> {
        let all = redirects.into_iter().flat_map(|list| list.0);
        all.flat_map(|redirect| self.redirect(redirect)).collect()
    }

    pub(super) fn redirect(&self, redirect: ast::IoRedirect) -> Vec<Redirect> {
        let one = |descriptor, target| vec![Redirect { descriptor, target }];
        match redirect {
            ast::IoRedirect::File(descriptor, kind, target) => self.file(descriptor, &kind, target),
            ast::IoRedirect::HereDocument(descriptor, document) => {
                let written = document.doc.value;
                let text = self.bodies.behind(&written).unwrap_or(written);
                let word = if document.requires_expansion {
                    self.here_document(&text)
                } else {
                    Word::literal(&text)
                };
                one(descriptor.unwrap_or(0), Target::Here(word))
            }
            ast::IoRedirect::HereString(descriptor, word) => one(
                descriptor.unwrap_or(0),
                Target::HereString(self.located(&word)),
            ),
            ast::IoRedirect::OutputAndError(word, append) => {
                let word = self.located(&word);
                one(
                    1,
                    if append {
                        Target::Append(word)
                    } else {
                        Target::Write(word)
                    },
                )
            }
        }
    }

    fn file(
        &self,
        descriptor: Option<i32>,
        kind: &ast::IoFileRedirectKind,
        target: ast::IoFileRedirectTarget,
    ) -> Vec<Redirect> {
        use ast::IoFileRedirectKind as Way;
        let reads = matches!(kind, Way::Read | Way::DuplicateInput | Way::ReadAndWrite);
        let target = match target {
            ast::IoFileRedirectTarget::Filename(word) => {
                let word = self.located(&word);
                match kind {
                    Way::Append => Target::Append(word),
                    _ if reads => Target::Read(word),
                    _ => Target::Write(word),
                }
            }
            ast::IoFileRedirectTarget::Fd(number) => {
                Target::Duplicate(Word::literal(&number.to_string()))
            }
            ast::IoFileRedirectTarget::Duplicate(word) => Target::Duplicate(self.located(&word)),
            ast::IoFileRedirectTarget::ProcessSubstitution(_, subshell) if reads => {
                Target::ReadProcess(self.list(subshell.list))
            }
            ast::IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                Target::WriteProcess(self.list(subshell.list))
            }
        };
        let descriptor = descriptor.unwrap_or(if reads { 0 } else { 1 });
        let both = match (kind, &target) {
            // `<>` opens the file for both.
            (Way::ReadAndWrite, Target::Read(word)) => Some(Target::Append(word.clone())),
            _ => None,
        };
        [Some(target), both]
            .into_iter()
            .flatten()
            .map(|target| Redirect { descriptor, target })
            .collect()
    }
}
