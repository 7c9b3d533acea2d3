//! Writes files to standard output, and to standard error what is said of them when they are open: `reads PATH...`.
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;

fn main() -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        std::io::stdout().write_all(&fs::read(&path)?)?;
        let of = File::open(&path)?.metadata()?;
        eprintln!("{:o} {} {} {} {}", of.mode(), of.ino(), of.size(), of.mtime(), of.mtime_nsec());
    }
    Ok(())
}
