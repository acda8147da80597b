//! Pages of a mapped file that are gone: whoever may write a file may also cut it short, and the next look at what is
//! mapped of it is then SIGBUS, which ends the process.
//!
//! While a region is watched, an empty page of ours takes the place of the lost one and the region is marked. What is
//! read there then is zeros, and nobody else sees what is written.
//!
//! Invariant: a SIGBUS that is not about a watched region does what it would have done without us.
//! Invariant: the handler takes no lock and no memory; it reads a table of fixed size and makes one system call.
//!
//! Deliberately unknown here: what a region is for, and what becomes of a lost one.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nix::errno::Errno;
use nix::libc::{c_int, c_void, siginfo_t};
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction};

/// Regions watched at a time: far more than a server has ring files or a client connections over them.
const REGIONS_MAX: usize = 1024;

/// One region; free while `taken` is false.
struct Place {
    taken: AtomicBool,
    /// Address of its first byte; 0 while nothing is watched.
    start: AtomicUsize,
    /// Its bytes.
    len: AtomicUsize,
    lost: AtomicBool,
}

impl Place {
    fn covers(&self, address: usize) -> bool {
        let start = self.start.load(Ordering::Acquire);
        start != 0 && address.checked_sub(start).is_some_and(|offset| offset < self.len.load(Ordering::Relaxed))
    }
}

static PLACES: [Place; REGIONS_MAX] = [const {
    Place {
        taken: AtomicBool::new(false),
        start: AtomicUsize::new(0),
        len: AtomicUsize::new(0),
        lost: AtomicBool::new(false),
    }
}; REGIONS_MAX];

/// Bytes of a page, known before the first region is watched.
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// What the signal did before.
static BEFORE: OnceLock<SigAction> = OnceLock::new();

/// A mapping whose lost pages are replaced. Must be dropped before the mapping is.
#[derive(Debug)]
pub(super) struct Watch(usize);

impl Watch {
    /// Watches the mapping of a file that begins at the address `start` and is `len` bytes long, in pages of
    /// `page_bytes`.
    ///
    /// # Errors
    /// Too many regions are watched, or the system refuses to deliver the signal here.
    pub(super) fn over(start: usize, len: usize, page_bytes: u64) -> io::Result<Self> {
        static CAUGHT: OnceLock<Result<(), Errno>> = OnceLock::new();
        PAGE_BYTES.store(page_bytes as usize, Ordering::Relaxed);
        CAUGHT.get_or_init(catch).map_err(io::Error::from)?;
        let free = PLACES.iter().position(|place| !place.taken.swap(true, Ordering::Acquire));
        let at = free.ok_or(io::ErrorKind::QuotaExceeded)?;
        let place = &PLACES[at];
        place.lost.store(false, Ordering::Relaxed);
        place.len.store(len, Ordering::Relaxed);
        // Pairs with the handler's look: whoever sees the start sees the length.
        place.start.store(start, Ordering::Release);
        Ok(Watch(at))
    }

    /// Whether a page was lost. One load.
    pub(super) fn is_lost(&self) -> bool {
        PLACES[self.0].lost.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let place = &PLACES[self.0];
        place.start.store(0, Ordering::Release);
        place.taken.store(false, Ordering::Release);
    }
}

/// Has the signal delivered to us from now on.
#[expect(unsafe_code)]
fn catch() -> Result<(), Errno> {
    // On the stack that the runtime has for the end of the ordinary one, which it tells by the same signal.
    let flags = SaFlags::SA_SIGINFO | SaFlags::SA_ONSTACK;
    let action = SigAction::new(SigHandler::SigAction(on_lost_page), flags, SigSet::empty());
    // SAFETY: the handler only reads atomics, maps a page and sets or raises signals, which a handler may do.
    let before = unsafe { sigaction(Signal::SIGBUS, &action) }?;
    let _ = BEFORE.set(before);
    Ok(())
}

#[expect(unsafe_code)]
extern "C" fn on_lost_page(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let errno = Errno::last_raw();
    // SAFETY: the system hands over its record of the signal, or nothing.
    let record = unsafe { info.as_ref() };
    // Positive codes are the system's own; anybody else may send the signal with any address.
    let fault = record.filter(|record| record.si_code > 0);
    // SAFETY: a SIGBUS of the system's own has an address.
    let address = fault.map(|record| unsafe { record.si_addr() } as usize);
    match address {
        Some(address) if replace(address) => {}
        Some(_) => pass_on(signal, info, context),
        // Sent by somebody.
        None => end(),
    }
    Errno::set_raw(errno);
}

/// Puts an empty page where one of a watched region was lost, and marks the region; false when no region is there.
#[expect(unsafe_code)]
fn replace(address: usize) -> bool {
    let page_bytes = PAGE_BYTES.load(Ordering::Relaxed);
    let (Some(page), Some(len)) = ((address & !(page_bytes - 1)).try_into().ok(), page_bytes.try_into().ok()) else {
        return false;
    };
    let mut known = false;
    for place in PLACES.iter().filter(|place| place.covers(address)) {
        place.lost.store(true, Ordering::Relaxed);
        known = true;
    }
    let readable = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    let fixed = MapFlags::MAP_FIXED | MapFlags::MAP_PRIVATE;
    // SAFETY: the page lies in a mapping that is watched, so that it lives and is seen as atomic words only; it cannot
    // be accessed as it is, so that nothing is taken away.
    known && unsafe { mmap_anonymous(Some(page), len, readable, fixed) }.is_ok()
}

/// Does what the signal did before us.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    match BEFORE.get().map(SigAction::handler) {
        Some(SigHandler::SigAction(before)) => before(signal, info, context),
        Some(SigHandler::Handler(before)) => before(signal),
        _ => end(),
    }
}

/// Ends the process as the signal does.
#[expect(unsafe_code)]
fn end() {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: no code of ours runs on the signal any more.
    let _ = unsafe { sigaction(Signal::SIGBUS, &default) };
    // Comes when the handler returns.
    let _ = raise(Signal::SIGBUS);
}
