//! Where the Unix socket lies when nobody said where, and making its folder safe.
//!
//! Invariant: the folder that [`prepare`] accepts belongs to this user, is no link, and nobody else can write to it.
//! Deliberately unknown here: the socket itself.

use std::fmt;
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What the place of a socket depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The user's own folder for sockets, when the session has one.
    pub runtime_folder: Option<PathBuf>,
    /// The effective user.
    pub user: u32,
}

impl Place {
    /// That of this process. `XDG_RUNTIME_DIR` counts when it is an absolute path to a folder of this user: with
    /// sudo it may still name another one's.
    pub fn of_process() -> Self {
        let user = nix::unistd::geteuid().as_raw();
        let runtime_folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| {
            folder.is_absolute() && folder.metadata().is_ok_and(|facts| facts.is_dir() && facts.uid() == user)
        });
        Place { runtime_folder, user }
    }
}

/// `$XDG_RUNTIME_DIR/goblin/PORT.sock`, or `/tmp/goblin-UID/PORT.sock`.
///
/// `/tmp` whatever `TMPDIR` says: server and client must find the same place.
pub fn path(port: u16, place: &Place) -> PathBuf {
    let folder = match &place.runtime_folder {
        Some(folder) => folder.join("goblin"),
        None => PathBuf::from(format!("/tmp/goblin-{}", place.user)),
    };
    folder.join(format!("{port}.sock"))
}

/// Why a folder cannot hold a socket.
#[derive(Debug)]
pub struct Unsafe {
    /// The folder.
    pub folder: PathBuf,
    /// What is wrong with it.
    pub why: Why,
}

/// See [`Unsafe`].
#[derive(Debug)]
pub enum Why {
    /// The system refused.
    System(io::Error),
    /// A link, a file or something else.
    NoFolder,
    /// It belongs to this user.
    Owner(u32),
    /// Others can write to it; holds its mode.
    Writable(u32),
}

impl fmt::Display for Unsafe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = self.folder.display();
        match &self.why {
            Why::System(error) => write!(f, "{folder}: {error}"),
            Why::NoFolder => write!(f, "{folder} is not a folder, so no socket belongs there"),
            Why::Owner(user) => write!(f, "{folder} belongs to user {user}, so no socket belongs there"),
            Why::Writable(mode) => {
                write!(f, "others can write to {folder} (mode {mode:03o}), so no socket belongs there")
            }
        }
    }
}

impl std::error::Error for Unsafe {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.why {
            Why::System(error) => Some(error),
            Why::NoFolder | Why::Owner(_) | Why::Writable(_) => None,
        }
    }
}

/// Makes the folder of a socket at `socket` with mode 0700, or checks that the one there is as good.
///
/// A folder of this user that others may only read is closed to them.
///
/// # Errors
/// It is not safe to put a socket there.
pub fn prepare(socket: &Path, place: &Place) -> Result<(), Unsafe> {
    let folder = socket.parent().unwrap_or(Path::new("/"));
    let fault = |why| Unsafe { folder: folder.to_owned(), why };
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(fault(Why::System(error))),
    }
    // Looked at without following a link, also when it was just made: only then does nothing depend on timing.
    if check(folder, place)? != 0o700 {
        let closed = std::fs::set_permissions(folder, Permissions::from_mode(0o700));
        closed.map_err(|error| fault(Why::System(error)))?;
    }
    Ok(())
}

/// Where the server of this user with that TCP port has its socket, if it has one. Somebody else's is not found.
///
/// # Errors
/// There is no folder for it, or one in which others could have put it.
pub fn find(port: u16, place: &Place) -> Result<PathBuf, Unsafe> {
    let socket = path(port, place);
    check(socket.parent().unwrap_or(Path::new("/")), place)?;
    Ok(socket)
}

/// The mode of a folder that belongs to this user and to which nobody else can write.
fn check(folder: &Path, place: &Place) -> Result<u32, Unsafe> {
    let fault = |why| Unsafe { folder: folder.to_owned(), why };
    let facts = folder.symlink_metadata().map_err(|error| fault(Why::System(error)))?;
    let mode = facts.mode() & 0o777;
    if !facts.is_dir() {
        return Err(fault(Why::NoFolder));
    }
    if facts.uid() != place.user {
        return Err(fault(Why::Owner(facts.uid())));
    }
    if mode & 0o022 != 0 {
        return Err(fault(Why::Writable(mode)));
    }
    Ok(mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own for each test, removed at its end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("goblin-test-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            Scratch(folder)
        }

        fn place(&self) -> Place {
            Place { runtime_folder: Some(self.0.clone()), user: nix::unistd::geteuid().as_raw() }
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn mode(folder: &Path) -> u32 {
        folder.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn without_a_runtime_folder_the_user_has_one_in_tmp() {
        let place = Place { runtime_folder: None, user: 1000 };
        assert_eq!(path(6379, &place), Path::new("/tmp/goblin-1000/6379.sock"));
        let place = Place { runtime_folder: Some("/run/user/1000".into()), user: 1000 };
        assert_eq!(path(1, &place), Path::new("/run/user/1000/goblin/1.sock"));
    }

    #[test]
    fn the_folder_is_made_closed_and_closed_again() {
        let scratch = Scratch::new("made");
        let socket = path(1, &scratch.place());
        let folder = socket.parent().unwrap();
        prepare(&socket, &scratch.place()).unwrap();
        assert_eq!(mode(folder), 0o700);
        std::fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        prepare(&socket, &scratch.place()).unwrap();
        assert_eq!(mode(folder), 0o700);
    }

    #[test]
    fn a_folder_others_could_have_prepared_is_refused() {
        let scratch = Scratch::new("hostile");
        let socket = path(1, &scratch.place());
        let folder = socket.parent().unwrap();

        std::os::unix::fs::symlink("/tmp", folder).unwrap();
        assert!(matches!(prepare(&socket, &scratch.place()).unwrap_err().why, Why::NoFolder));
        std::fs::remove_file(folder).unwrap();

        std::fs::write(folder, b"").unwrap();
        assert!(matches!(prepare(&socket, &scratch.place()).unwrap_err().why, Why::NoFolder));
        std::fs::remove_file(folder).unwrap();

        std::fs::create_dir(folder).unwrap();
        std::fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(prepare(&socket, &scratch.place()).unwrap_err().why, Why::Writable(0o777)));

        std::fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
        let stranger = Place { user: scratch.place().user + 1, ..scratch.place() };
        assert!(matches!(prepare(&socket, &stranger).unwrap_err().why, Why::Owner(_)));
    }

    #[test]
    fn a_missing_parent_is_named() {
        let scratch = Scratch::new("missing");
        let socket = scratch.0.join("a/b/1.sock");
        let error = prepare(&socket, &scratch.place()).unwrap_err();
        assert!(error.to_string().contains("a/b: "), "{error}");
    }
}
