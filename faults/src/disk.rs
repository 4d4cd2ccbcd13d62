//! Disks that are full, have no inode left or are mounted read-only: a small tmpfs, if the system permits mounting
//! one.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::Options;
use crate::place::{Place, Result, failed};
use crate::report::Row;
use crate::trial::{self, Clean};
use crate::writer::Writer;

/// Bytes that are left when the command starts.
const LEFT: &[usize] = &[0, 4096, 8192, 16_384, 32_768, 65_536];

/// Inodes that are left when the command starts.
const INODES: &[usize] = &[0, 1, 2, 4, 8];

/// A tmpfs that is unmounted when dropped.
#[derive(Debug)]
pub(crate) struct Mounted(PathBuf);

impl Mounted {
    pub(crate) fn new(options: &str) -> Result<(Self, TempDir)> {
        let folder = failed("cannot make a folder", TempDir::new())?;
        let words = ["-t", "tmpfs", "-o", options, "tmpfs"];
        let path = folder.path().to_owned();
        match mount(&words, &path) {
            true => Ok((Self(path), folder)),
            false => Err("no file system may be mounted here".to_owned()),
        }
    }

    /// Fills the disk up to this many bytes.
    pub(crate) fn fill(&self, left: usize) -> Result<()> {
        let path = self.0.join("filler");
        failed("cannot make a folder", fs::create_dir_all(&path))?;
        let reserve = path.join("reserve");
        let reserved = File::create(&reserve).and_then(|mut file| file.write_all(&vec![0; left]));
        failed("cannot fill the disk", reserved)?;
        let mut file = failed("cannot fill the disk", File::create(path.join("all")))?;
        while file.write_all(&[0; 4096]).is_ok() {}
        failed("cannot fill the disk", fs::remove_file(reserve))
    }

    /// Removes the filler.
    pub(crate) fn make_room(&self) {
        fs::remove_dir_all(self.0.join("filler")).ok();
    }

    fn remount(&self, how: &str) -> bool {
        mount(&["-o", &format!("remount,{how}")], &self.0)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let words = ["-l".as_ref(), self.0.as_os_str()];
        Command::new("umount").args(words).status().ok();
    }
}

fn mount(words: &[&str], path: &std::path::Path) -> bool {
    let mut command = Command::new("mount");
    command.args(words).arg(path).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Fault of the disk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wrong {
    Full,
    NoInodes,
    ReadOnly,
}

impl Wrong {
    pub(crate) const ALL: [Self; 3] = [Self::Full, Self::NoInodes, Self::ReadOnly];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Full => "full disk",
            Self::NoInodes => "no inode left",
            Self::ReadOnly => "read-only disk",
        }
    }
}

/// Runs the command on such a disk, for each amount that is left.
pub(crate) fn disk(options: &Options, writer: &Writer, wrong: Wrong) -> Result<Row> {
    let (mounted, folder) = match Mounted::new("size=4m,nr_inodes=600") {
        Ok(made) => made,
        Err(why) => return Ok(Row::skipped(wrong.name(), writer.name, &why)),
    };
    let place = Place::at(&options.programs, folder)?;
    writer.set_up(&place)?;
    let clean = Clean::of(writer, &place)?;
    let mut row = Row::new(wrong.name(), writer.name);
    let amounts = match wrong {
        Wrong::Full => LEFT,
        Wrong::NoInodes => INODES,
        Wrong::ReadOnly => &[0],
    };
    for left in amounts {
        place.restore()?;
        match wrong {
            Wrong::Full => mounted.fill(*left)?,
            Wrong::NoInodes => crowd(&mounted, *left)?,
            Wrong::ReadOnly => {
                mounted.remount("ro");
            }
        }
        let ran = writer.step.run(&place)?;
        mounted.remount("rw");
        mounted.make_room();
        row.tried += 1;
        let name = format!("{left} left");
        trial::judge(writer, &place, &clean, &ran, &name, &mut row)?;
    }
    drop(mounted);
    Ok(row)
}

/// Uses up the inodes except for this many.
fn crowd(mounted: &Mounted, left: usize) -> Result<()> {
    let path = mounted.0.join("filler");
    failed("cannot make a folder", fs::create_dir_all(&path))?;
    let mut made = 0_usize;
    while File::create(path.join(made.to_string())).is_ok() {
        made += 1;
    }
    for number in made.saturating_sub(left)..made {
        fs::remove_file(path.join(number.to_string())).ok();
    }
    Ok(())
}
