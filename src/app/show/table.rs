//! Lists of names, each with what is said about it.
//!
//! Invariant: what a pipe gets is a line a row, whatever its length; only a terminal's width breaks lines.
//! Invariant: there are no borders, no colours, and no blanks at the end of a line.
//! Deliberately unknown here: what the rows are about.

use std::io;

use comfy_table::{ContentArrangement, presets};

/// Columns below which nothing is gained by breaking lines: what is left for the second column is a word.
const COLUMNS_MIN: u16 = 40;

/// Rows of a name and a text.
#[derive(Debug)]
pub(in crate::app) struct Table(comfy_table::Table);

impl Table {
    /// For standard output: as wide as its terminal, or without bounds where there is none.
    pub(in crate::app) fn new() -> Self {
        Table::within(columns())
    }

    fn within(columns: Option<u16>) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING);
        match columns.filter(|columns| *columns >= COLUMNS_MIN) {
            Some(columns) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns),
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        Table(table)
    }

    /// Adds a row.
    pub(in crate::app) fn row(&mut self, name: &str, text: &str) {
        self.0.add_row([name, text]);
    }

    /// The rows as lines, each behind so many blanks; nothing when there are no rows.
    pub(in crate::app) fn lines(mut self, indent: u16) -> String {
        // The gap between columns is on the left of the second, so that no line ends with it.
        for (column, padding) in self.0.column_iter_mut().zip([(indent, 0), (2, 0)]) {
            column.set_padding(padding);
        }
        let lines: Vec<String> = self.0.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        if self.0.is_empty() { String::new() } else { lines.concat() }
    }
}

/// Columns of the terminal that standard output is; none when it is no terminal, or does not tell.
fn columns() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(size.ws_col).filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: Option<u16>) -> String {
        let mut table = Table::within(columns);
        table.row("a", &"word ".repeat(12));
        table.row("longer", "\u{e4}\u{597d}");
        table.row("nothing", "");
        table.lines(2)
    }

    #[test]
    fn a_pipe_gets_a_line_a_row() {
        let wanted = format!("  a        {}\n  longer   \u{e4}\u{597d}\n  nothing\n", "word ".repeat(12).trim_end());
        assert_eq!(table(None), wanted);
        assert_eq!(table(Some(1)), wanted);
    }

    #[test]
    fn a_terminal_gets_no_line_that_it_would_break() {
        let shown = table(Some(40));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 4, "{shown}");
        assert!(lines.iter().all(|line| line.chars().count() <= 40 && !line.ends_with(' ')), "{shown}");
        // What is broken goes on below itself.
        assert!(lines[1].starts_with("           word"), "{shown}");
    }

    #[test]
    fn no_rows_are_no_lines() {
        assert_eq!(Table::within(None).lines(2), "");
    }
}
