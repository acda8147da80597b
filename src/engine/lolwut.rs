//! LOLWUT: a small drawing, and which version drew it.

use std::fmt::Write;

use crate::command::Lolwut;
use crate::reply::Reply;

use super::Engine;

/// The only drawing there is so far; it is what version 1 stands for.
const GOBLIN: &str = r"
   /\                 /\
   \ \    .-----.    / /
    \ '.-'       '-.' /
     '-   (o) (o)   -'
       \     ^     /
        '. \___/ .'
          '-...-'

";

impl Engine {
    /// Other versions have no drawing of their own and only tell the version, as in Redis.
    pub(super) fn lolwut(&mut self, lolwut: &Lolwut) -> Reply<'static> {
        let mut text = String::new();
        if matches!(lolwut.drawing.version, None | Some(1)) {
            text += GOBLIN;
        }
        let _ = writeln!(text, "goblin ver. {}", env!("CARGO_PKG_VERSION"));
        Reply::Verbatim(text)
    }
}
