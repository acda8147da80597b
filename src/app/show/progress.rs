//! How far long work has come: a bar on standard error while that is a terminal, and nothing otherwise.

use std::fmt::Display;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work measured in bytes. The bar is taken away with the value.
pub(in crate::app) struct Progress(ProgressBar);

impl Progress {
    /// Work of so many bytes, or of nobody knows how many.
    pub(in crate::app) fn of_bytes(total: Option<u64>) -> Self {
        let template = match total {
            Some(_) => "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left{msg}",
            None => "{spinner} {bytes}, {bytes_per_sec}{msg}",
        };
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        // The templates are constants: one that is wrong shows the plain bar.
        Progress(match ProgressStyle::with_template(template) {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        })
    }

    /// Work of so many steps, each of which has a name.
    pub(in crate::app) fn of_steps(total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        Progress(match ProgressStyle::with_template("{bar:30} {pos} of {len}, {elapsed}  {msg}") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        })
    }

    /// How many steps there are, once that is known.
    pub(in crate::app) fn set_steps(&self, total: u64) {
        self.0.set_length(total);
    }

    /// So many more bytes, or steps, are done.
    pub(in crate::app) fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    /// Says something behind the figures.
    pub(in crate::app) fn remark(&self, text: impl Display) {
        if !self.0.is_hidden() {
            self.0.set_message(text.to_string());
        }
    }

    /// Prints a line on standard error that the bar does not overwrite.
    pub(in crate::app) fn notice(&self, line: impl Display) {
        self.0.suspend(|| super::notice(line));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
