//! Every bound in the system: name with unit, value, and why it is what it is.
//!
//! Invariant: a bound is a constant here or a setting whose default is here; relations between bounds are asserted
//! below them. Deliberately unknown here: who enforces a bound and what happens then.

use std::time::Duration;

/// Arguments of one request, its name included. Redis's bound; a count is a signed 32-bit number on the wire.
pub const REQUEST_ARGUMENTS_MAX: u32 = i32::MAX as u32;

/// Bytes of one argument unless `proto-max-bulk-len` says otherwise: Redis's default.
pub const REQUEST_BULK_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Bytes before the end of an inline request or of a line that announces a length. Redis's bound.
pub const REQUEST_LINE_BYTES_MAX: usize = 64 * 1024;

/// Arguments of one request before login: enough for HELLO with all its options, too few to hoard memory with.
pub const UNAUTHENTICATED_ARGUMENTS_MAX: u32 = 10;

/// Bytes of one argument before login: longer than any token in use, still nothing to hoard memory with.
pub const UNAUTHENTICATED_BULK_BYTES_MAX: u32 = 16 * 1024;

/// Bytes of one SBE frame, whatever the settings say: an argument's place is a 32-bit number.
pub const FRAME_BYTES_MAX: u32 = i32::MAX as u32;

/// Bytes of one SBE frame before login: room for Hello with any token, too little to hoard memory with.
pub const UNAUTHENTICATED_FRAME_BYTES_MAX: u32 = 64 * 1024;

/// Bytes of decoded words after which a window of SBE requests ends, and those kept for the next turn.
pub const FRAME_WORDS_BYTES_MAX: usize = 64 * 1024;

/// Progress inside a request, in bytes, below which reading it again is cheaper than remembering how far it got.
/// At most this much is read twice per arrival.
pub const REQUEST_REREAD_BYTES_MAX: usize = 256;

/// Aggregates inside each other that a client follows. Servers nest COMMAND DOCS about ten deep; the bound keeps
/// everything that later walks the value recursively (printing, dropping) far from the end of the stack.
pub const VALUE_DEPTH_MAX: usize = 128;

/// Bytes of a status, error or number line a client reads before it calls the server broken: more than any line of
/// MONITOR has, where a byte may stand as four.
pub const VALUE_LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes of one string a client accepts. The memory grows with what arrived; this only refuses nonsense early.
pub const VALUE_BULK_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// Elements one aggregate may announce to a client; it is a 32-bit number in every server known.
pub const VALUE_ELEMENTS_MAX: u64 = u32::MAX as u64;

/// Slots reserved for an announced aggregate before its elements arrive.
pub const VALUE_RESERVED_ELEMENTS_MAX: usize = 32;

/// Bytes of requests a client has in flight inside one pipeline. A socket's buffers take this much even when the
/// server waits for its replies to be read, so that neither side ever waits for the other.
pub const PIPELINE_WINDOW_BYTES_MAX: usize = 64 * 1024;

/// Bytes a client connection reads at once, and keeps while idle.
pub const CLIENT_INBOX_BYTES: usize = 16 * 1024;

/// Bytes of buffer a client connection keeps after a large reply or request.
pub const CLIENT_BUFFER_KEPT_BYTES_MAX: usize = 1024 * 1024;

/// The longest first wait before a lost connection is tried again: a server that was restarted by hand or by its
/// supervisor is back in about this time.
pub const RECONNECT_WAIT_MIN: Duration = Duration::from_millis(50);

/// The longest of all such waits: what a person notices, and what a thousand clients spread over that time do not cost
/// a server.
pub const RECONNECT_WAIT_MAX: Duration = Duration::from_secs(2);

/// Bytes read from a socket at once: a pipeline of some thousand small requests, and as much as Linux hands over in
/// one call on loopback. One buffer serves all sockets.
pub const READ_BYTES_MAX: usize = 64 * 1024;

/// Requests of one turn. What one client may delay all others by is this, or the time below, whichever comes first.
pub const TURN_COMMANDS_MAX: usize = 256;

/// Requests of a window that are looked ahead at together: what they read should still be near when they are executed.
pub const AHEAD_REQUESTS: usize = 32;

/// Members looked up ahead at once, as many as the processor has memory reads under way twice over.
pub const AHEAD_MEMBERS_MAX: usize = 32;

/// Smaller sets are near anyway.
pub const AHEAD_MEMBERS_MIN: usize = 8 * 1024;

/// So are smaller databases.
pub const AHEAD_KEYS_MIN: usize = 8 * 1024;

/// Microseconds of one turn; looked at every few commands.
pub const TURN_US_MAX: u64 = 100;

/// Bytes of one buffer of an outbox before the next is begun; buffers up to twice this size are kept for reuse.
pub const OUTBOX_BUFFER_BYTES: usize = 64 * 1024;

/// Unsent bytes at which a session's requests are no longer read: a peer that does not read costs this much, and the
/// one reply that crossed the line.
pub const OUTBOX_PAUSE_BYTES: usize = 1024 * 1024;

/// Slices handed to one vectored write. Linux takes 1,024; past some tens the call's own cost no longer shows.
pub const OUTBOX_SLICES_MAX: usize = 64;

/// Bytes from which a pushed frame is shared between its receivers instead of copied to each.
pub const FRAME_SHARED_BYTES: usize = 4 * 1024;

/// Empty output buffers kept for the next turns.
pub const BUFFER_POOL_MAX: usize = 16;

/// Bytes of unexecuted requests a peer may have sent before it logs in.
pub const INBOX_UNAUTHENTICATED_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of replies a peer may leave unread before it logs in, beyond what its socket holds: room for refusals of a
/// full pipeline.
pub const OUTBOX_UNAUTHENTICATED_BYTES_MAX: usize = 64 * 1024;

/// Connections taken in one go before others get their turn.
pub const ACCEPTS_PER_WAKE: usize = 64;

/// Descriptors the process needs beside its clients: listeners, the event loop, standard streams, files being read.
pub const FILES_RESERVED: u64 = 32;

/// The same for each ring: its file and its two bells, and one while it is made anew.
pub const FILES_PER_RING: u64 = 4;

/// Milliseconds a stopping server waits for its clients to take their last replies.
pub const DRAIN_MS_MAX: u64 = 1000;

/// Milliseconds between two looks at what happens by the clock.
pub const CRON_PERIOD_MS: u64 = 100;

/// Entries looked at in one slice of active expiry, some 20 microseconds of work.
pub const EXPIRE_KEYS_PER_SLICE: usize = 512;

/// Segments of a keyspace visited in one slice of active expiry.
pub const EXPIRE_SEGMENTS_PER_SLICE: usize = 1024;

/// Microseconds of active expiry in one period: a quarter of it, as in Redis.
pub const EXPIRE_US_PER_PERIOD: u64 = CRON_PERIOD_MS * 1000 / 4;

/// Segments of a table, of up to 448 entries each, that are told or dropped at once; longer work is done in pieces
/// between the turns of others.
pub const SEGMENTS_AT_ONCE_MAX: usize = 8;

/// Keys that one page of SCAN looks at before others get their turn.
pub const SCAN_AT_ONCE_MAX: usize = 2048;

/// Strings of a streamed reply that are looked at in one piece, some 50 microseconds of work.
pub const STREAM_STRINGS_PER_PIECE: usize = 1024;

/// Members of sets that one command walks over before others get their turn, and those of one slice of longer work:
/// some 100 microseconds of lookups.
pub const SET_MEMBERS_AT_ONCE_MAX: usize = 2048;

/// Members that one command draws out of a set before others get their turn.
pub const DRAWS_AT_ONCE_MAX: usize = 2048;

/// Bytes of a string that one command reads before others get their turn, and those of one slice of longer work: some
/// 50 microseconds.
pub const STRING_BYTES_AT_ONCE_MAX: usize = 256 * 1024;

/// As [`STRING_BYTES_AT_ONCE_MAX`] for bytes that are written, whose memory is touched for the first time.
pub const STRING_BYTES_WRITTEN_AT_ONCE_MAX: usize = 64 * 1024;

/// Words of 64 pairs of bytes each that LCS compares in one slice: some 50 microseconds.
pub const LCS_WORDS_AT_ONCE_MAX: usize = 32 * 1024;

/// How often a command whose sources change while it is worked off begins anew before it runs at once.
pub const WORK_ATTEMPTS_MAX: u8 = 4;

/// Bytes that one session may have written for it before others get their turn: some 50 microseconds of copying.
pub const FLUSH_BYTES_MAX: usize = 256 * 1024;

/// Keys one command evicts at most, some 100 microseconds of small ones; what is still too much is left to the next.
pub const EVICTIONS_PER_COMMAND_MAX: usize = 128;

/// Keys remembered from one eviction to the next because they were nearly chosen: with as many, five samples choose
/// nearly as well as a full order would.
pub const EVICTION_CANDIDATES_MAX: usize = 16;

/// Keys RANDOMKEY draws before it gives up on a database that seems to hold nothing but due ones.
pub const RANDOMKEY_DRAWS_MAX: usize = 100;

/// Bytes of a reply that one short request could make any size by drawing members again and again.
pub const DRAWN_REPLY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Words of a request that the slow log keeps, the count of those left out included. Redis's bound.
pub const SLOW_LOG_ARGUMENTS_MAX: usize = 32;

/// Bytes of each of these words. Redis's bound.
pub const SLOW_LOG_ARGUMENT_BYTES_MAX: usize = 128;

/// Spikes of latency kept for each event: two lines of a graph on an 80-column terminal, as in Redis.
pub const LATENCY_SPIKES_MAX: usize = 160;

/// Bytes of one word, and of all words before the last, that MONITOR shows of a command: far more than anybody reads,
/// and far less than one request can hold.
pub const MONITOR_LINE_BYTES_MAX: usize = 1024 * 1024;

/// Requests of one kind whose time is measured together. Small enough that a turn's own budget is looked at in time,
/// large enough that the clock costs each of them two nanoseconds.
pub const MEASURED_TOGETHER_MAX: u32 = 16;

/// Bytes each way of a ring on demand whose client names no size.
pub const RING_DEMANDED_BYTES: u64 = 64 * 1024;

/// The same at most: a larger one belongs to a client that the server's owner knows, and is a static one.
pub const RING_DEMANDED_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The same where the ring has a path: its memory is reserved while others wait.
pub const RING_FILE_DEMANDED_BYTES_MAX: u64 = 1024 * 1024;

/// Bytes of all rings on demand together.
pub const RINGS_DEMANDED_BYTES_MAX: u64 = 1024 * 1024 * 1024;

const _: () = assert!(REQUEST_REREAD_BYTES_MAX < REQUEST_LINE_BYTES_MAX);
const _: () = assert!(UNAUTHENTICATED_BULK_BYTES_MAX as u64 <= REQUEST_BULK_BYTES_MAX);
const _: () = assert!(5 * MONITOR_LINE_BYTES_MAX + 64 * 1024 <= VALUE_LINE_BYTES_MAX);
const _: () = assert!(CLIENT_INBOX_BYTES <= CLIENT_BUFFER_KEPT_BYTES_MAX);
const _: () = assert!(FRAME_SHARED_BYTES <= OUTBOX_BUFFER_BYTES);
const _: () = assert!(OUTBOX_BUFFER_BYTES <= OUTBOX_PAUSE_BYTES);
