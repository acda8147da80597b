//! A ring's memory: a file or an anonymous one, mapped whole.
//!
//! Invariant: a file gets its path only once it is a ring in full: it is made beside it, reserved, filled in, then
//! named. A ring that a living server holds is never replaced; one that nobody holds any more is.
//! Invariant: the server holds a lock on its file for as long as it lives, which the kernel ends with the process.
//! Invariant: a server removes the file it made, and no other that has come in its place.
//! Invariant: a ring without a path is sealed before anybody else can have it: nobody can change its length.
//!
//! Deliberately unknown here: what is in the rings.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use memmap2::{MmapOptions, MmapRaw};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, Flock, FlockArg, OFlag, SealFlag, fcntl, posix_fallocate};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::statvfs::fstatvfs;

use super::fault::Watch;
use super::layout::{self, Corrupt, Geometry, Unfit, at};
use super::ring::{Consumer, Lane, Producer, Word};

/// What a ring without a path is called.
const NO_PATH: &str = "in memory";

/// How often a path is looked at again because somebody else was faster.
const RACES_MAX: usize = 100;

/// Both directions of a ring, mapped.
#[derive(Debug)]
pub struct Region {
    /// In front of the mapping, so that it is dropped first.
    watch: Watch,
    map: MmapRaw,
    geometry: Geometry,
    /// The server's lock; a client has none.
    lock: Option<Flock<File>>,
    /// A client's own, to ask whether the server's lock is still held.
    file: Option<File>,
    /// Where the server put it.
    path: Option<PathBuf>,
}

impl Region {
    /// Makes a ring of `capacity` bytes each way at `path` for this process to serve, with the permissions `mode`.
    /// What a dead server left there is replaced.
    ///
    /// # Errors
    /// [`RingError`]: another server's ring is there, there is no room, or the system refuses.
    pub fn create(path: &Path, capacity: u64, mode: u32) -> Result<Self, RingError> {
        for _ in 0..RACES_MAX {
            // Held until the new one has its name, so that two servers cannot both find the old one dead.
            let old = match held_by_nobody(path)? {
                Held::Free(old) => old,
                Held::Moved => continue,
            };
            let beside = beside(path);
            let mut made = Self::make(path, &beside, capacity, mode)?;
            let named = match old {
                Some(_) => std::fs::rename(&beside, path),
                // Fails where a file has appeared meanwhile.
                None => std::fs::hard_link(&beside, path).and_then(|()| std::fs::remove_file(&beside)),
            };
            match named {
                Ok(()) => {
                    made.path = Some(path.to_owned());
                    return Ok(made);
                }
                Err(error) => {
                    let _ = std::fs::remove_file(&beside);
                    if error.kind() != io::ErrorKind::AlreadyExists {
                        return Err(failed(path, "name the file")(error));
                    }
                }
            }
        }
        Err(failed(path, "create the file")(io::ErrorKind::AlreadyExists.into()))
    }

    /// Makes the file that is to be at `path` under the name `beside`.
    fn make(path: &Path, beside: &Path, capacity: u64, mode: u32) -> Result<Self, RingError> {
        // Left by a process of our number that died here.
        let _ = std::fs::remove_file(beside);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(mode).custom_flags(OFlag::O_NOFOLLOW.bits());
        let file = options.open(beside).map_err(failed(path, "create the file"))?;
        let geometry = Geometry::new(page_bytes(), capacity);
        let filled = reserve(path, &file, geometry.file_bytes()).and_then(|()| Self::fill(path, file, geometry, mode));
        if filled.is_err() {
            let _ = std::fs::remove_file(beside);
        }
        filled
    }

    /// Makes a ring of `capacity` bytes each way that has no path: who is given [`Region::descriptor`] can open it.
    ///
    /// # Errors
    /// [`RingError`]: there is no room, or the system refuses.
    pub fn anonymous(capacity: u64) -> Result<Self, RingError> {
        let path = Path::new(NO_PATH);
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let memory = memfd_create(NO_PATH, flags).map_err(|errno| failed(path, "make its memory")(errno.into()))?;
        let (memory, geometry) = (File::from(memory), Geometry::new(page_bytes(), capacity));
        // Pages come when they are first touched: whoever asks keeps nobody waiting while much memory is cleared.
        memory.set_len(geometry.file_bytes()).map_err(failed(path, "set its length"))?;
        let region = Self::fill(path, memory, geometry, 0o600)?;
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        if let Some(lock) = &region.lock {
            fcntl(&**lock, FcntlArg::F_ADD_SEALS(seals)).map_err(|errno| failed(path, "seal it")(errno.into()))?;
        }
        Ok(region)
    }

    /// What a client needs to open a ring that this process has made.
    ///
    /// # Errors
    /// There are no more descriptors, or it is not ours.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        let lock = self.lock.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        lock.as_fd().try_clone_to_owned()
    }

    fn fill(path: &Path, file: File, geometry: Geometry, mode: u32) -> Result<Self, RingError> {
        // What the umask took away, before anybody can know the name.
        file.set_permissions(PermissionsExt::from_mode(mode)).map_err(failed(path, "set the mode of the file"))?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|(_, errno)| failed(path, "lock the file")(errno.into()))?;
        let map = MmapOptions::new()
            .len(geometry.file_bytes() as usize)
            .map_raw(&*lock)
            .map_err(failed(path, "map the file"))?;
        let watch = watch(path, &map)?;
        let region = Region { watch, map, geometry, lock: Some(lock), file: None, path: None };
        geometry.write(region.words(), std::process::id());
        Ok(region)
    }

    /// Opens the ring at `path` as a client.
    ///
    /// # Errors
    /// [`RingError`]: there is none, or none for us.
    pub fn open(path: &Path) -> Result<Self, RingError> {
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed(path, "open the file"))?;
        let mut region = Self::read(path, &file)?;
        region.file = Some(file);
        Ok(region)
    }

    /// Opens the ring whose descriptor a server has passed, as a client. [`Region::is_served`] cannot tell of it.
    ///
    /// # Errors
    /// [`RingError`]: it is none for us.
    pub fn of_descriptor(memory: OwnedFd) -> Result<Self, RingError> {
        Self::read(Path::new(NO_PATH), &File::from(memory))
    }

    fn read(path: &Path, file: &File) -> Result<Self, RingError> {
        let metadata = file.metadata().map_err(failed(path, "look at the file"))?;
        if !metadata.is_file() || metadata.len() < page_bytes() {
            return Err(RingError::Unfit(path.to_owned(), Unfit::NoRing));
        }
        let map =
            MmapOptions::new().len(metadata.len() as usize).map_raw(file).map_err(failed(path, "map the file"))?;
        let watch = watch(path, &map)?;
        let geometry = Geometry::new(page_bytes(), 0);
        let mut region = Region { watch, map, geometry, lock: None, file: None, path: None };
        region.geometry =
            Geometry::read(region.words(), metadata.len()).map_err(|unfit| RingError::Unfit(path.to_owned(), unfit))?;
        Ok(region)
    }

    /// Where its directions lie.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Whether the file was cut short under the mapping: what is read of it means nothing any more. One load.
    pub fn is_lost(&self) -> bool {
        self.watch.is_lost()
    }

    /// Whether the file this server made is still at its path. Some system calls.
    pub fn is_in_place(&self) -> bool {
        let (Some(path), Some(lock)) = (&self.path, &self.lock) else { return false };
        let is_ours = |there: Metadata| lock.metadata().is_ok_and(|own| is_same(&there, &own));
        std::fs::symlink_metadata(path).is_ok_and(is_ours)
    }

    /// Removes the file this server made, if it is still at its path.
    pub fn remove(&self) {
        if self.is_in_place()
            && let Some(path) = &self.path
        {
            // At the end there is nobody left to tell.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Removes the ring at `path` if no living server holds it; true when it was.
    pub fn remove_dead(path: &Path) -> bool {
        matches!(held_by_nobody(path), Ok(Held::Free(Some(_)))) && std::fs::remove_file(path).is_ok()
    }

    /// The process that made it says it is this one.
    pub fn owner_pid(&self) -> u32 {
        (self.words()[at::MIRROR_AND_PID].get() >> 32) as u32
    }

    /// Whether a living server holds the ring, as a client asks. A system call or two.
    pub fn is_served(&self) -> bool {
        let Some(file) = self.file.as_ref().and_then(|file| file.try_clone().ok()) else { return true };
        // Locks belong to what was opened, and a clone is the same opening: what this takes is given back at once.
        Flock::lock(file, FlockArg::LockSharedNonblock).is_err_and(|(_, errno)| errno == Errno::EWOULDBLOCK)
    }

    /// The session a client asks for: it differs from [`Region::acknowledged`] until it is answered.
    pub fn epoch(&self) -> u64 {
        self.words()[at::EPOCH].acquire()
    }

    /// The session the server has begun last.
    pub fn acknowledged(&self) -> u64 {
        self.words()[at::EPOCH_ACK].acquire()
    }

    /// The server has emptied both directions for the session `epoch`.
    pub fn acknowledge(&self, epoch: u64) {
        self.words()[at::EPOCH_ACK].release(epoch);
    }

    /// The server begins the session `epoch`: nothing says any more that it is over, whatever somebody wrote before.
    pub fn begin_session(&self, epoch: u64) {
        for word in [&self.words()[at::ENDED], &self.words()[at::LEFT]] {
            if word.acquire() == epoch {
                word.release(epoch.wrapping_sub(1));
            }
        }
    }

    /// The server ends the session `epoch`: its client reads no more than what is there.
    pub fn end_session(&self, epoch: u64) {
        self.words()[at::ENDED].release(epoch);
    }

    /// Whether the server has ended the session `epoch`.
    pub fn has_ended(&self, epoch: u64) -> bool {
        self.words()[at::ENDED].acquire() == epoch
    }

    /// The client leaves the session `epoch`. One that is killed cannot say so.
    pub fn leave_session(&self, epoch: u64) {
        self.words()[at::LEFT].release(epoch);
    }

    /// Whether the client has left the session `epoch`; what it wrote before is there.
    pub fn has_left(&self, epoch: u64) -> bool {
        self.words()[at::LEFT].acquire() == epoch
    }

    /// The server can be woken by a bell from now on.
    pub fn announce_bell(&self) {
        self.words()[at::EXTENSION].release(layout::EXTENSION);
    }

    /// Whether the server can be woken by a bell.
    pub fn has_bell(&self) -> bool {
        self.words()[at::EXTENSION].acquire() == layout::EXTENSION
    }

    /// Whether the client of the session `epoch` knows how to wake the server and asks to be woken itself.
    pub fn rings_bells(&self, epoch: u64) -> bool {
        self.words()[at::OWN_EPOCH].acquire() == epoch
    }

    /// Whether the server sleeps, for [`super::parking`].
    pub fn server_parked(&self) -> &AtomicU64 {
        &self.words()[at::SERVER_PARKED]
    }

    /// Whether the client sleeps, for [`super::parking`].
    pub fn client_parked(&self) -> &AtomicU64 {
        &self.words()[at::CLIENT_PARKED]
    }

    /// Begins the first session for a client that need not ask, and that rings bells.
    pub fn begin_at_once(&self) -> u64 {
        for word in [at::OWN_EPOCH, at::EPOCH, at::EPOCH_ACK] {
            self.words()[word].release(1);
        }
        1
    }

    /// Asks for a session, as a client; answers its number. One that `rings_bells` says so before.
    pub fn ask_for_session(&self, rings_bells: bool) -> u64 {
        let epoch = self.words()[at::EPOCH].get().wrapping_add(1);
        if rings_bells {
            self.words()[at::OWN_EPOCH].release(epoch);
        }
        self.words()[at::EPOCH].release(epoch);
        epoch
    }

    /// All of it, as words that others may change at any time.
    #[expect(unsafe_code)]
    fn words(&self) -> &[AtomicU64] {
        let words = self.map.len() / size_of::<AtomicU64>();
        // SAFETY: the mapping begins on a page, is that long, and lives as long as `self`; nothing but atomic words is
        // ever made of it, here or in another process that keeps to the format. One that does not can change bytes but
        // not what reading them means.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast::<AtomicU64>(), words) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.remove();
    }
}

/// For what the system refuses while something is done at a path.
fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> RingError {
    move |cause| RingError::System { path: path.to_owned(), doing, cause }
}

/// What can be done with a path.
enum Held {
    /// Nothing is there, or what is there is locked by us now.
    Free(Option<Flock<File>>),
    /// It changed while it was looked at.
    Moved,
}

/// Makes sure that no living server holds the ring at `path`.
fn held_by_nobody(path: &Path) -> Result<Held, RingError> {
    let opened = OpenOptions::new().read(true).write(true).custom_flags(OFlag::O_NOFOLLOW.bits()).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Held::Free(None)),
        Err(error) => return Err(failed(path, "open what is there")(error)),
    };
    let metadata = file.metadata().map_err(failed(path, "look at what is there"))?;
    // Ours get their names when they are whole; other servers name theirs first, and may have died then.
    let mut first = [0; 4];
    let is_ring = metadata.is_file()
        && file.read_at(&mut first, 0).is_ok_and(|read| read == 0 || first == layout::MAGIC.to_le_bytes());
    if !is_ring {
        return Err(RingError::Foreign(path.to_owned()));
    }
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => match std::fs::symlink_metadata(path) {
            Ok(there) if is_same(&there, &metadata) => Ok(Held::Free(Some(lock))),
            _ => Ok(Held::Moved),
        },
        Err((_, Errno::EWOULDBLOCK)) => {
            let owner = Region::open(path).map(|region| region.owner_pid()).ok();
            Err(RingError::InUse { path: path.to_owned(), owner })
        }
        Err((_, errno)) => Err(failed(path, "lock what is there")(errno.into())),
    }
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// The name of a file until it is finished: hidden, and in the same folder so that it can be moved.
fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    path.with_file_name(name)
}

/// Makes sure that every byte has its memory, so that none can be missing when it is written.
fn reserve(path: &Path, file: &File, bytes: u64) -> Result<(), RingError> {
    match posix_fallocate(file, 0, bytes as i64) {
        Ok(()) => Ok(()),
        Err(Errno::ENOSPC) => {
            let free = fstatvfs(file).map(|fs| fs.blocks_available() * fs.fragment_size()).ok();
            Err(RingError::NoRoom { path: path.to_owned(), bytes, free })
        }
        Err(errno) => Err(failed(path, "reserve memory for the file")(errno.into())),
    }
}

fn watch(path: &Path, map: &MmapRaw) -> Result<Watch, RingError> {
    Watch::over(map.as_ptr() as usize, map.len(), page_bytes()).map_err(failed(path, "watch the mapping"))
}

fn page_bytes() -> u64 {
    let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE);
    page.ok().flatten().map_or(4096, |bytes| bytes as u64)
}

/// One direction of a mapped ring.
#[derive(Debug)]
pub struct Direction {
    region: Arc<Region>,
    /// In words.
    start: usize,
    len: usize,
    head: usize,
    tail: usize,
}

impl Lane for Direction {
    type Word = AtomicU64;

    fn words(&self) -> &[AtomicU64] {
        &self.region.words()[self.start..self.start + self.len]
    }

    fn head(&self) -> &AtomicU64 {
        &self.region.words()[self.head]
    }

    fn tail(&self) -> &AtomicU64 {
        &self.region.words()[self.tail]
    }
}

/// What one side does with a ring.
#[derive(Debug)]
pub struct Ends {
    /// What it reads.
    pub consumer: Consumer<Direction>,
    /// What it writes.
    pub producer: Producer<Direction>,
}

impl Ends {
    /// The server's: requests in, replies out.
    ///
    /// # Errors
    /// The positions in the ring cannot be.
    pub fn of_server(region: &Arc<Region>) -> Result<Self, Corrupt> {
        Ok(Ends { consumer: Consumer::new(requests(region))?, producer: Producer::new(replies(region))? })
    }

    /// A client's: replies in, requests out.
    ///
    /// # Errors
    /// The positions in the ring cannot be.
    pub fn of_client(region: &Arc<Region>) -> Result<Self, Corrupt> {
        Ok(Ends { consumer: Consumer::new(replies(region))?, producer: Producer::new(requests(region))? })
    }
}

fn requests(region: &Arc<Region>) -> Direction {
    let Geometry { sq_offset, sq_capacity, .. } = region.geometry;
    direction(region, sq_offset, sq_capacity, at::SQ_HEAD, at::SQ_TAIL)
}

fn replies(region: &Arc<Region>) -> Direction {
    let Geometry { cq_offset, cq_capacity, .. } = region.geometry;
    direction(region, cq_offset, cq_capacity, at::CQ_HEAD, at::CQ_TAIL)
}

fn direction(region: &Arc<Region>, offset: u64, capacity: u64, head: usize, tail: usize) -> Direction {
    Direction { region: Arc::clone(region), start: offset as usize / 8, len: capacity as usize / 8, head, tail }
}

/// Why there is no ring.
#[derive(Debug)]
pub enum RingError {
    /// A living server holds it.
    InUse {
        /// Where.
        path: PathBuf,
        /// The process that says it made it.
        owner: Option<u32>,
    },
    /// Something else is there, which nobody asked to remove.
    Foreign(PathBuf),
    /// The file system has not enough room.
    NoRoom {
        /// Where.
        path: PathBuf,
        /// How much is needed.
        bytes: u64,
        /// How much there is, if it tells.
        free: Option<u64>,
    },
    /// What is there is no ring that can be used.
    Unfit(PathBuf, Unfit),
    /// The system refused.
    System {
        /// Where.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// Why not.
        cause: io::Error,
    },
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RingError::InUse { path, owner } => {
                write!(f, "ring {}: another server holds it", path.display())?;
                owner.map_or(Ok(()), |pid| write!(f, ", process {pid}"))
            }
            RingError::Foreign(path) => {
                write!(
                    f,
                    "ring {}: something that is no ring is there; remove it or choose another path",
                    path.display()
                )
            }
            RingError::NoRoom { path, bytes, free } => {
                write!(f, "ring {}: it needs {bytes} bytes and its file system has ", path.display())?;
                match free {
                    Some(free) => write!(f, "{free} free")?,
                    None => write!(f, "fewer")?,
                }
                write!(f, "; make the ring smaller or the file system larger (in containers: --shm-size)")
            }
            RingError::Unfit(path, unfit) => write!(f, "ring {}: {unfit}", path.display()),
            RingError::System { path, doing, cause } => {
                write!(f, "ring {}: cannot {doing}: {cause}", path.display())
            }
        }
    }
}

impl std::error::Error for RingError {}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("goblin-region-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a folder");
            Folder(path)
        }

        fn names(&self) -> Vec<String> {
            let names = std::fs::read_dir(&self.0).expect("the folder");
            names.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn send(ends: &mut Ends, payload: &[u8]) {
        let mut claim = ends.producer.claim(payload.len()).expect("sound").expect("room");
        claim.write(payload);
        claim.commit();
        ends.producer.publish();
    }

    fn receive(ends: &mut Ends) -> Vec<u8> {
        let mut payload = Vec::new();
        ends.consumer.take(&mut payload).expect("sound");
        ends.consumer.release();
        payload
    }

    #[test]
    fn both_sides_of_a_file_see_the_same_ring() {
        let folder = Folder::new("both");
        let path = folder.0.join("ring");
        let server = Arc::new(Region::create(&path, 8192, 0o600).expect("a ring"));
        let client = Arc::new(Region::open(&path).expect("the ring"));
        assert_eq!((client.geometry(), client.owner_pid()), (server.geometry(), std::process::id()));
        assert_eq!(std::fs::metadata(&path).expect("the file").mode() & 0o777, 0o600);
        let mut there = Ends::of_server(&server).expect("sound");
        let mut here = Ends::of_client(&client).expect("sound");
        for round in 0..1000_u32 {
            send(&mut here, &round.to_le_bytes());
            assert_eq!(receive(&mut there), round.to_le_bytes());
            send(&mut there, format!("answer {round}").as_bytes());
            assert_eq!(receive(&mut here), format!("answer {round}").as_bytes());
        }
        let epoch = client.ask_for_session(false);
        assert!(server.epoch() == epoch && server.acknowledged() != epoch);
        server.acknowledge(epoch);
        assert_eq!(client.acknowledged(), epoch);
        drop((server, there));
        assert!(folder.names().is_empty(), "{:?}", folder.names());
    }

    #[test]
    fn a_living_servers_ring_is_not_taken_and_a_dead_ones_is() {
        let folder = Folder::new("taken");
        let path = folder.0.join("ring");
        let living = Region::create(&path, 4096, 0o600).expect("a ring");
        let refused = Region::create(&path, 4096, 0o600).expect_err("it is held");
        assert!(refused.to_string().contains(&format!("process {}", std::process::id())), "{refused}");
        assert_eq!(folder.names(), ["ring"]);
        // As after a kill: the file stays and the lock is gone.
        let left = folder.0.join("left");
        std::fs::copy(&path, &left).expect("a copy");
        let old = Region::open(&left).expect("an abandoned ring");
        let taken = Region::create(&left, 16_384, 0o640).expect("nobody holds it");
        assert_eq!(taken.geometry().sq_capacity, 16_384);
        assert_eq!(old.geometry().sq_capacity, 4096, "what others have mapped is not changed under them");
        assert_eq!(std::fs::metadata(&left).expect("the file").mode() & 0o777, 0o640);
        // Somebody else's file in its place stays.
        std::fs::remove_file(&path).expect("removed");
        std::fs::write(&path, b"mine").expect("written");
        drop((living, taken));
        assert_eq!(folder.names(), ["ring"]);
    }

    #[test]
    fn a_file_cut_short_is_zeros_and_known_to_be_lost() {
        let folder = Folder::new("lost");
        let [path, other] = ["ring", "other"].map(|name| folder.0.join(name));
        let server = Arc::new(Region::create(&path, 8192, 0o600).expect("a ring"));
        let client = Arc::new(Region::open(&path).expect("the ring"));
        let other = Region::create(&other, 8192, 0o600).expect("a ring");
        let mut there = Ends::of_server(&server).expect("sound");
        let mut here = Ends::of_client(&client).expect("sound");
        client.ask_for_session(false);
        // The header stays.
        let file = OpenOptions::new().write(true).open(&path).expect("the file");
        file.set_len(page_bytes()).expect("cut");
        assert!(!client.is_lost() && !server.is_lost() && server.epoch() == 1);
        send(&mut here, b"written into the void");
        assert!(client.is_lost() && !server.is_lost());
        assert!(receive(&mut there).is_empty());
        assert!(server.is_lost());
        file.set_len(0).expect("cut");
        assert_eq!((server.epoch(), client.epoch(), other.epoch(), other.is_lost()), (0, 0, 0, false));
        // Its place in the table is given to the next one.
        drop((server, client, there, here));
        assert!((0..2000).all(|_| !Region::open(&folder.0.join("other")).expect("the ring").is_lost()));
    }

    #[test]
    fn nobody_can_end_a_session_before_it_begins() {
        let folder = Folder::new("before");
        let server = Region::create(&folder.0.join("ring"), 4096, 0o600).expect("a ring");
        server.leave_session(1);
        server.end_session(1);
        let epoch = server.ask_for_session(false);
        server.begin_session(epoch);
        assert!(!server.has_left(epoch) && !server.has_ended(epoch));
    }

    #[test]
    fn what_is_no_ring_is_neither_opened_nor_replaced() {
        let folder = Folder::new("foreign");
        let path = folder.0.join("file");
        assert!(matches!(Region::open(&path), Err(RingError::System { .. })));
        std::fs::write(&path, b"a letter").expect("written");
        assert!(matches!(Region::open(&path), Err(RingError::Unfit(_, Unfit::NoRing))));
        assert!(matches!(Region::create(&path, 4096, 0o600), Err(RingError::Foreign(_))));
        std::fs::write(&path, vec![7; 100_000]).expect("written");
        assert!(matches!(Region::open(&path), Err(RingError::Unfit(_, Unfit::NoRing))));
        assert!(matches!(Region::create(&path, 4096, 0o600), Err(RingError::Foreign(_))));
        let link = folder.0.join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        assert!(Region::create(&link, 4096, 0o600).is_err(), "links are not followed");
        assert!(Region::create(&folder.0, 4096, 0o600).is_err());
        assert_eq!(std::fs::read(&path).expect("the file").len(), 100_000);
    }
}
