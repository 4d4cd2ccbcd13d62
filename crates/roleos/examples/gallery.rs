//! Writes every rendering of the sample bundles and curves into a folder, for inspection: `cargo run -p roleos
//! --example gallery -- FOLDER`.

#![expect(
    clippy::unwrap_used,
    reason = "samples are made of values that are known to fit"
)]

#[path = "../tests/render/sample.rs"]
mod sample;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use roleos::render::{curve_svg, replay_html, replay_text};
use sample::with_view;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("name a folder")?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    let samples = [
        ("solved", sample::solved()),
        ("contradicted", sample::contradicted()),
        ("hostile", sample::hostile()),
        ("bare", sample::bare()),
        ("long", sample::long()),
    ];
    for (name, sample) in &samples {
        let page = with_view(sample, replay_html::page)?;
        File::create(folder.join(format!("{name}.html")))?.write_all(page.as_bytes())?;
        let mut text = File::create(folder.join(format!("{name}.txt")))?;
        with_view(sample, |view| replay_text::write(view, &mut text))?;
    }
    for count in [0, 1, 2, 12, 60, 400] {
        let picture = curve_svg::svg(&sample::curve(count));
        File::create(folder.join(format!("curve-{count}.svg")))?.write_all(picture.as_bytes())?;
    }
    Ok(())
}
