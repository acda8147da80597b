//! Gives back the program pages that only the start needed.
//!
//! The kernel maps a file's pages sixteen at a time around each one that is touched. Reading the command line, the
//! configuration and the dynamic links touches most of the program once, so that an idle server would be counted with
//! megabytes of code it never runs again. What is let go stays in the page cache and comes back with the next touch,
//! for the price of a minor fault.
//!
//! Invariant: only executable pages that are still the file's own are let go; one that a debugger wrote into is kept.

use std::ffi::c_void;
use std::io::{BufRead, BufReader};

use rustix::mm::{Advice, madvise};

/// Lets go of all program pages; what runs comes back at once. Costs well below a millisecond, once.
///
/// What the system refuses changes nothing but the figure.
pub(super) fn let_go_of_the_start() {
    let Ok(smaps) = std::fs::File::open("/proc/self/smaps") else { return };
    for code in clean_code(BufReader::new(smaps)) {
        let_go(code);
    }
}

/// Address ranges of mapped program code none of whose pages differs from its file, out of `/proc/PID/smaps`
/// (proc_pid_smaps(5)).
fn clean_code(smaps: impl BufRead) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut current = None;
    for line in smaps.lines().map_while(Result::ok) {
        let mut words = line.split_ascii_whitespace();
        let (Some(first), Some(second)) = (words.next(), words.next()) else { continue };
        if let Some((start, end)) = first.split_once('-') {
            let address = |digits| usize::from_str_radix(digits, 16).ok();
            let is_code = second == "r-xp" && words.nth(3).is_some_and(|path| path.starts_with('/'));
            current = address(start).zip(address(end)).filter(|_| is_code);
        } else if first == "Anonymous:"
            && second == "0"
            && let Some((start, end)) = current.take()
        {
            found.push(start..end);
        }
    }
    found
}

#[expect(unsafe_code)]
fn let_go(code: std::ops::Range<usize>) {
    let start = code.start as *mut c_void;
    // SAFETY: the range is one whole mapping of a file, private and read-only, with no page of its own: the kernel
    // reads the same bytes from the file again. Nothing unmaps program code while the process runs: goblin loads no
    // libraries by itself.
    let _ = unsafe { madvise(start, code.len(), Advice::LinuxDontNeed) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_that_is_still_the_files_own_is_let_go() {
        let smaps = "\
1000-2000 r--p 00000000 fe:00 7 /bin/program\nRss: 4 kB\nAnonymous:             0 kB\n\
2000-5000 r-xp 00001000 fe:00 7 /bin/program with spaces\nRss: 8 kB\nAnonymous:             0 kB\nVmFlags: rd ex\n\
5000-6000 r-xp 00004000 fe:00 8 /lib/patched.so\nAnonymous:             4 kB\n\
6000-7000 r-xp 00000000 00:00 0 [vdso]\nAnonymous:             0 kB\n\
7000-8000 r-xp 00000000 00:00 0 \nAnonymous:             0 kB\n\
8000-9000 rw-p 00005000 fe:00 7 /bin/program\nAnonymous:             0 kB\n\
a000-c000 r-xp 00000000 fe:00 9 /lib/clean.so\nAnonymous:             0 kB\n";
        assert_eq!(clean_code(smaps.as_bytes()), [0x2000..0x5000, 0xa000..0xc000]);
    }

    #[test]
    fn a_program_goes_on_without_its_pages() {
        let_go_of_the_start();
        assert_eq!("still here".len(), 10);
    }
}
