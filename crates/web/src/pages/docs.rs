//! The documentation that is in the program, as pages: Markdown of ours, rendered without anything from elsewhere.

use std::fmt::Write as _;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::frame::{Frame, Visit, show};
use super::outcomes::escaped;
use crate::api::Desk;
use crate::problem::Problem;
use present::topics;

#[derive(Template)]
#[template(path = "pages/docs.html")]
struct Page {
    frame: Frame,
    body: String,
}

pub(super) async fn page(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Path(name): Path<String>,
) -> Response {
    show(&desk, visit, "", move |_, visit| {
        let topic = topics::find(&name).ok_or_else(|| {
            Problem::new(
                StatusCode::NOT_FOUND,
                "unknown_topic",
                "there is no such document",
            )
            .hint("`/help` lists the documents")
        })?;
        Ok(Page {
            frame: visit.frame("", topic.title()),
            body: html(topic.text),
        })
    })
    .await
}

/// What a heading is so far: where its text begins, and the letters of its anchor.
struct Heading {
    start: usize,
    level: HeadingLevel,
    anchor: String,
}

#[derive(Default)]
struct Writer {
    html: String,
    heading: Option<Heading>,
    /// Whether cells are heads of columns.
    is_head: bool,
    /// Whether the link leads somewhere from here.
    is_linked: bool,
    /// Inside of an image or of HTML, which are left out.
    left_out: usize,
}

fn html(markdown: &str) -> String {
    let mut writer = Writer::default();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        writer.add(event);
    }
    writer.html
}

impl Writer {
    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::Image { .. } | Tag::HtmlBlock) => self.left_out += 1,
            Event::End(TagEnd::Image | TagEnd::HtmlBlock) => self.left_out -= 1,
            _ if self.left_out > 0 => {}
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                self.html.push_str("<code>");
                self.text(&text);
                self.html.push_str("</code>");
            }
            Event::SoftBreak | Event::HardBreak => self.html.push('\n'),
            Event::Rule => self.html.push_str("<hr>"),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.html.push_str(&escaped(text));
        if let Some(heading) = &mut self.heading {
            let letters = text.chars().filter_map(|letter| match letter {
                ' ' => Some('-'),
                letter if letter.is_alphanumeric() || "-_".contains(letter) => {
                    Some(letter.to_ascii_lowercase())
                }
                _ => None,
            });
            heading.anchor.extend(letters);
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.heading = Some(Heading {
                    start: self.html.len(),
                    level,
                    anchor: String::new(),
                });
            }
            Tag::Link { dest_url, .. } => match address(&dest_url) {
                // Writing to a string cannot fail.
                Some(to) => {
                    let _ = write!(self.html, r#"<a href="{}">"#, escaped(&to));
                    self.is_linked = true;
                }
                None => self.is_linked = false,
            },
            Tag::TableHead => {
                self.is_head = true;
                self.html.push_str("<thead><tr>");
            }
            Tag::TableCell if self.is_head => self.html.push_str("<th scope=\"col\">"),
            tag => self.html.push_str(match tag {
                Tag::Paragraph => "<p>",
                Tag::BlockQuote(_) => "<blockquote>",
                Tag::CodeBlock(_) => "<pre class=\"box\">",
                Tag::List(None) => "<ul class=\"steps\">",
                Tag::List(Some(_)) => "<ol class=\"steps\">",
                Tag::Item => "<li>",
                Tag::Table(_) => {
                    "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>"
                }
                Tag::TableRow => "<tr>",
                Tag::TableCell => "<td>",
                Tag::Emphasis => "<em>",
                Tag::Strong => "<strong>",
                _ => "",
            }),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => self.end_heading(),
            TagEnd::Link if self.is_linked => self.html.push_str("</a>"),
            TagEnd::TableHead => {
                self.is_head = false;
                self.html.push_str("</tr></thead><tbody>");
            }
            TagEnd::TableCell if self.is_head => self.html.push_str("</th>"),
            tag => self.html.push_str(match tag {
                TagEnd::Paragraph => "</p>\n",
                TagEnd::BlockQuote(_) => "</blockquote>",
                TagEnd::CodeBlock => "</pre>\n",
                TagEnd::List(false) => "</ul>\n",
                TagEnd::List(true) => "</ol>\n",
                TagEnd::Item => "</li>",
                TagEnd::Table => "</tbody></table></div>\n",
                TagEnd::TableRow => "</tr>",
                TagEnd::TableCell => "</td>",
                TagEnd::Emphasis => "</em>",
                TagEnd::Strong => "</strong>",
                _ => "",
            }),
        }
    }

    fn end_heading(&mut self) {
        let Some(Heading {
            start,
            level,
            anchor,
        }) = self.heading.take()
        else {
            return;
        };
        let text = self.html.split_off(start);
        let _ = writeln!(
            self.html,
            r#"<{level} id="{}">{text}</{level}>"#,
            escaped(&anchor)
        );
    }
}

/// Returns where a link of a document leads from here; none into files that only the repository has.
fn address(target: &str) -> Option<String> {
    if target.starts_with("https://") || target.starts_with('#') {
        return Some(target.to_owned());
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let topic = topics::find(file.strip_suffix(".md")?)?;
    Some(match anchor {
        "" => format!("/help/{}", topic.name),
        anchor => format!("/help/{}#{anchor}", topic.name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(markdown: &str, expected: &str) {
        assert_eq!(html(markdown).trim_end(), expected);
    }

    #[test]
    fn markdown_becomes_a_page_without_anything_from_elsewhere() {
        check("# A `b` c\n", "<h1 id=\"a-b-c\">A <code>b</code> c</h1>");
        check(
            "see [it](config.md#x), [that](../examples/a) and ![a *picture*](img/a.png)",
            "<p>see <a href=\"/help/config#x\">it</a>, that and </p>",
        );
        check("```sh\na < b\n```", "<pre class=\"box\">a &lt; b\n</pre>");
        check("<script>x</script>", "");
        check("a <b>c</b>", "<p>a c</p>");
        check(
            "|a|b|\n|-|-|\n|1|**2**|",
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>\
             <thead><tr><th scope=\"col\">a</th><th scope=\"col\">b</th></tr></thead><tbody>\
             <tr><td>1</td><td><strong>2</strong></td></tr></tbody></table></div>",
        );
    }

    /// Every link between the documents leads to a heading that is there.
    #[test]
    fn every_anchor_is_there() {
        for topic in topics::TOPICS {
            let page = html(topic.text);
            for link in page.split("href=\"").skip(1) {
                let link = link.split('"').next().unwrap();
                let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
                let to = match path.strip_prefix("/help/") {
                    Some(name) => html(topics::find(name).unwrap().text),
                    None if path.is_empty() => page.clone(),
                    None => continue,
                };
                let is_there = anchor.is_empty() || to.contains(&format!("id=\"{anchor}\""));
                assert!(is_there, "{link} in {}", topic.name);
            }
        }
    }
}
