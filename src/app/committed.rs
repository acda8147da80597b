//! Files that are generated and committed: compared with what they should be, or written anew.

/// Compares the committed file at `path`, from the top of the package, with `wanted`; with UPDATE=1 writes it first.
///
/// # Panics
/// When they differ.
pub(super) fn assert_committed(path: &str, wanted: &[u8]) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&path, wanted).expect("the file is writable");
    }
    let committed = std::fs::read(&path).unwrap_or_default();
    assert!(committed == wanted, "{} is stale; run: UPDATE=1 cargo test --lib committed", path.display());
}
