//! `goblin cli` at a terminal: a pseudo-terminal with somebody who types, looked at as a screen.
//!
//! Invariant: a test waits until the screen shows what it expects; nothing is timed.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};

use crate::app::HELLO;
use crate::process::Started;
use crate::road::{Folder, Server, goblin_path, wait_for};
use crate::suite::{Need, Suite, tests};
use crate::wire::{Connection, WATCHDOG};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, Need::Goblin;
        what_is_missing_is_shown_and_what_may_stand_is_completed,
        keys_and_channels_are_completed_from_what_was_typed,
        the_prompt_shows_database_transaction_and_socket,
        lines_are_remembered_but_no_secrets,
        history_can_be_searched_and_turned_off,
        messages_are_shown_until_ctrl_c_goes_back,
        messages_are_shown_above_a_half_typed_line,
        what_the_server_is_asked_is_shown_until_ctrl_c_goes_back,
        messages_and_restrictions_are_as_told_in_resp2,
        what_destroys_is_asked_about,
        a_pasted_megabyte_is_one_line,
        pasted_lines_are_commands,
        colours_are_shown_unless_they_are_not_wanted,
        peek_shows_a_value_by_its_type,
        help_and_mistakes_are_answered_here,
        a_line_can_be_repeated_and_left,
    );
    tests!(suite, plain, Need::Goblin;
        without_a_server_there_is_a_prompt_that_completes,
        a_restarted_server_finds_the_session_as_it_was,
        subscriptions_come_back_after_a_restart,
        a_wait_is_left_with_ctrl_c,
        a_password_can_be_given_at_the_prompt,
    );
}

/// A terminal of 24 rows and 100 columns with `goblin cli` in it.
struct Terminal {
    child: Child,
    keyboard: Arc<Pty>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    _folder: Folder,
}

struct Seen {
    parser: vt100::Parser,
    ended: bool,
}

const ROWS: u16 = 24;
const COLUMNS: u16 = 100;

impl Terminal {
    /// A prompt that is connected to the server.
    fn at(server: &Server, flags: &[&str]) -> Terminal {
        let port = server.port().to_string();
        let terminal = Terminal::start(&[&["-p", &port], flags].concat(), &[]);
        terminal.shows(&format!("127.0.0.1:{port}"));
        terminal
    }

    fn start(words: &[&str], variables: &[(&str, &str)]) -> Terminal {
        let folder = Folder::new();
        let (pty, pts) = open().expect("a pseudo-terminal");
        pty.resize(Size::new(ROWS, COLUMNS)).expect("its size");
        let mut command = Command::new(goblin_path()).arg("cli").args(words).env("TERM", "xterm-256color");
        for absent in ["NO_COLOR", "GOBLIN_HISTORY", "GOBLIN_PASSWORD", "REDISCLI_AUTH"] {
            command = command.env_remove(absent);
        }
        let command = command.env("XDG_STATE_HOME", folder.path()).envs(variables.iter().copied());
        let child = command.spawn(pts).expect("start goblin cli");
        let keyboard = Arc::new(pty);
        let parser = vt100::Parser::new(ROWS.try_into().expect("rows"), COLUMNS.try_into().expect("columns"), 0);
        let seen = Arc::new((Mutex::new(Seen { parser, ended: false }), Condvar::new()));
        let (screen, shown) = (keyboard.clone(), seen.clone());
        thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            // The other side's end is told as an error.
            while let Ok(count @ 1..) = (&*screen).read(&mut bytes) {
                shown.0.lock().expect("screen").parser.process(&bytes[..count]);
                shown.1.notify_all();
            }
            shown.0.lock().expect("screen").ended = true;
            shown.1.notify_all();
        });
        Terminal { child, keyboard, seen, _folder: folder }
    }

    fn press(&self, keys: impl AsRef<[u8]>) {
        (&*self.keyboard).write_all(keys.as_ref()).expect("type");
    }

    /// Types a line and Enter.
    fn line(&self, line: &str) {
        self.press(format!("{line}\r"));
    }

    /// Pastes as terminals do that were asked to mark what is pasted.
    fn paste(&self, text: &str) {
        self.wait("bracketed paste is on", |screen| screen.bracketed_paste());
        self.press(format!("\x1b[200~{text}\x1b[201~"));
    }

    /// Waits until the screen is as wanted.
    fn wait(&self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) {
        let (seen, changed) = &*self.seen;
        let missing = |seen: &mut Seen| !wanted(seen.parser.screen()) && !seen.ended;
        let (seen, _) = changed.wait_timeout_while(seen.lock().expect("screen"), WATCHDOG, missing).expect("screen");
        let screen = seen.parser.screen();
        assert!(wanted(screen), "never: {what}; the screen is\n{}", screen.contents());
    }

    /// Waits until the text is on the screen.
    fn shows(&self, text: &str) {
        self.wait(text, |screen| screen.contents().contains(text));
    }

    /// Waits until the line with the cursor reads like this.
    fn shows_line(&self, line: &str) {
        self.wait(line, |screen| current_line(screen) == line);
    }

    /// Waits until the lines above the one with the cursor end with these.
    fn shows_above(&self, lines: &[&str]) {
        self.wait(&lines.join(" / "), |screen| {
            let (row, _) = screen.cursor_position();
            let above: Vec<String> = rows(screen).into_iter().take(usize::from(row)).collect();
            above.ends_with(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
        });
    }

    fn screen(&self) -> String {
        self.seen.0.lock().expect("screen").parser.screen().contents()
    }

    /// Clears the screen, and waits for a prompt that begins like this.
    fn clear(&self, prompt: &str) {
        self.press("\x0c");
        self.wait("a clear screen", |screen| screen.contents().trim_end() == prompt.trim_end());
    }

    /// Presses Ctrl-D at the prompt and answers the status. Before the prompt the key would mean something else.
    fn end(mut self) -> Option<i32> {
        self.wait("a prompt", |screen| screen.bracketed_paste() && current_line(screen).ends_with('>'));
        self.press("\x04");
        wait_for(&mut self.child).code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn rows(screen: &vt100::Screen) -> Vec<String> {
    screen.rows(0, COLUMNS).map(|row| row.trim_end().to_owned()).collect()
}

/// The line with the cursor, without blanks at its end.
fn current_line(screen: &vt100::Screen) -> String {
    rows(screen).swap_remove(usize::from(screen.cursor_position().0))
}

fn prompt(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port())
}

fn what_is_missing_is_shown_and_what_may_stand_is_completed(server: &Server) {
    let terminal = Terminal::at(server, &[]);
    let prompt = prompt(server);
    terminal.press("sadd");
    terminal.shows_line(&format!("{prompt}> sadd key member [member ...]"));
    terminal.press(" s a");
    terminal.shows_line(&format!("{prompt}> sadd s a [member ...]"));
    terminal.line("");
    terminal.shows_above(&[&format!("{prompt}> sadd s a"), "(integer) 1"]);
    terminal.press("SMIS\t");
    terminal.shows_line(&format!("{prompt}> SMISMEMBER key member [member ...]"));
    terminal.press("\x15client no-e\t");
    terminal.shows_line(&format!("{prompt}> client no-evict <ON | OFF>"));
    terminal.press("\x15SET k v KEEP\t");
    terminal.shows_line(&format!("{prompt}> SET k v KEEPTTL [NX | XX] [GET]"));
    terminal.press("\x15zz\x15pers\t");
    terminal.shows_line(&format!("{prompt}> persist key"));
    // Several candidates are listed.
    terminal.press("\x15SISM\x15GETR\x7f\t");
    terminal.shows("GETBIT");
    assert!(terminal.screen().contains("GETRANGE"));
    terminal.press("\x15");
    assert_eq!(terminal.end(), Some(0));
}

fn keys_and_channels_are_completed_from_what_was_typed(server: &Server) {
    let terminal = Terminal::at(server, &[]);
    let prompt = prompt(server);
    server.connect().ask("SET seen:by:others 1");
    for line in ["SADD fruits fig", "PUBLISH news.eu hello", "KEYS *"] {
        terminal.line(line);
    }
    terminal.shows("\"seen:by:others\"");
    terminal.press("scard f\t");
    terminal.shows_line(&format!("{prompt}> scard fruits"));
    terminal.press("\x15subscribe n\t");
    terminal.shows_line(&format!("{prompt}> subscribe news.eu [channel ...]"));
    terminal.press("\x15get se\t");
    terminal.shows_line(&format!("{prompt}> get seen:by:others"));
}

fn the_prompt_shows_database_transaction_and_socket(server: &Server) {
    let socket = server.socket();
    let socket = socket.to_str().expect("a path in UTF-8");
    let terminal = Terminal::start(&["-s", socket, "-n", "2"], &[]);
    terminal.shows_line(&format!("{socket}[2]>"));
    terminal.line("MULTI");
    terminal.shows_line(&format!("{socket}[2](TX)>"));
    terminal.line("SELECT 5");
    terminal.shows_above(&["QUEUED"]);
    terminal.shows_line(&format!("{socket}[2](TX)>"));
    terminal.line("EXEC");
    terminal.shows_line(&format!("{socket}[5]>"));
    terminal.line("SELECT 99");
    terminal.shows("(error)");
    terminal.shows_line(&format!("{socket}[5]>"));
    terminal.line("RESET");
    terminal.shows_line(&format!("{socket}>"));
    terminal.line("exit");
    let mut terminal = terminal;
    assert_eq!(wait_for(&mut terminal.child).code(), Some(0));
}

fn lines_are_remembered_but_no_secrets(server: &Server) {
    let folder = Folder::new();
    let file = folder.path().join("lines");
    let name = file.to_str().expect("a path in UTF-8");
    let port = server.port().to_string();
    let secrets = [
        "AUTH sesame1",
        "HELLO 3 AUTH default sesame2",
        "ACL SETUSER u on >sesame3",
        "CONFIG SET masterauth sesame4",
        "SET url redis://u:sesame5@h/0",
        "auth \"sesame6",
    ];
    let terminal = Terminal::start(&["-p", &port], &[("GOBLIN_HISTORY", name)]);
    terminal.shows(&prompt(server));
    for line in ["ECHO first"].iter().chain(&secrets) {
        terminal.line(line);
        terminal.shows_line(&format!("{}>", prompt(server)));
    }
    // What is typed next comes after all that.
    terminal.line("ECHO done");
    terminal.shows("\"done\"");
    // In the session everything can be had back.
    terminal.press("\x1b[A\x1b[A\x1b[A");
    terminal.wait("the line before", |screen| {
        let (row, _) = screen.cursor_position();
        rows(screen)[..=usize::from(row)].iter().rev().take(2).any(|line| line.contains(&format!("> {}", secrets[4])))
    });
    terminal.press("\x15");
    assert_eq!(terminal.end(), Some(0));
    let text = fs::read_to_string(&file).expect("the history");
    assert_eq!(text, "ECHO first\nECHO done\n");
    assert_eq!(fs::metadata(&file).expect("the history").permissions().mode() & 0o777, 0o600);

    let again = Terminal::start(&["-p", &port], &[("GOBLIN_HISTORY", name)]);
    again.shows(&prompt(server));
    again.press("\x1b[A\x1b[A");
    again.shows_line(&format!("{}> ECHO first", prompt(server)));
}

fn history_can_be_searched_and_turned_off(server: &Server) {
    let folder = Folder::new();
    let file = folder.path().join("lines");
    let name = file.to_str().expect("a path in UTF-8");
    fs::write(&file, "GET one\nSADD two x\nGET three\n").expect("write a history");
    let port = server.port().to_string();
    let terminal = Terminal::start(&["-p", &port], &[("GOBLIN_HISTORY", name)]);
    terminal.shows(&prompt(server));
    terminal.press("\x12two");
    terminal.shows("SADD two x");
    terminal.line("");
    terminal.shows_above(&["(integer) 1"]);
    drop(terminal);
    let silent = Terminal::start(&["-p", &port, "--no-history"], &[("GOBLIN_HISTORY", name)]);
    silent.shows(&prompt(server));
    silent.press("\x1b[A");
    silent.line("ECHO unseen");
    silent.shows_above(&["\"unseen\""]);
    silent.press("\x1b[A");
    silent.shows_line(&format!("{}> ECHO unseen", prompt(server)));
    silent.press("\x15");
    assert_eq!(silent.end(), Some(0));
    let text = fs::read_to_string(&file).expect("the history");
    assert!(!text.contains("unseen"), "{text}");
}

fn messages_are_shown_until_ctrl_c_goes_back(server: &Server) {
    let terminal = Terminal::at(server, &[]);
    let prompt = prompt(server);
    let mut publisher = server.connect();
    terminal.line("CLIENT ID");
    terminal.shows("(integer)");
    let id = terminal.screen().lines().find(|line| line.starts_with("(integer)")).expect("an id").to_owned();
    terminal.line("SUBSCRIBE news sport");
    terminal.shows("reading messages");
    assert!(terminal.screen().contains("1) \"subscribe\"\n2) \"sport\"\n3) (integer) 2"), "{}", terminal.screen());
    publisher.ask("PUBLISH news hello");
    terminal.shows_above(&["1) \"message\"", "2) \"news\"", "3) \"hello\""]);
    terminal.press("\x03");
    terminal.shows_line(&format!("{prompt}(2 subscriptions)>"));
    // It is the same connection, which can do all the rest meanwhile.
    terminal.clear(&format!("{prompt}(2 subscriptions)>"));
    terminal.line("CLIENT ID");
    terminal.shows_above(&[&id]);
    // An empty line reads on.
    terminal.line("");
    terminal.shows("reading messages");
    publisher.ask("PUBLISH sport goal");
    terminal.shows_above(&["3) \"goal\""]);
    terminal.press("\x03");
    terminal.shows_line(&format!("{prompt}(2 subscriptions)>"));
    terminal.line("UNSUBSCRIBE news");
    terminal.shows_line(&format!("{prompt}(1 subscription)>"));
    terminal.line("UNSUBSCRIBE");
    terminal.shows_line(&format!("{prompt}>"));
    terminal.line("");
    terminal.line("PING");
    terminal.shows_above(&["PONG"]);
    assert_eq!(terminal.end(), Some(0));
}

fn messages_are_shown_above_a_half_typed_line(server: &Server) {
    let terminal = Terminal::at(server, &[]);
    let prompt = format!("{}(1 subscription)>", prompt(server));
    let mut publisher = server.connect();
    terminal.line("SUBSCRIBE news");
    terminal.shows("reading messages");
    terminal.press("\x03");
    terminal.shows_line(&prompt);
    terminal.clear(&prompt);
    terminal.press("SADD s half");
    terminal.shows_line(&format!("{prompt} SADD s half [member ...]"));
    publisher.ask("PUBLISH news one");
    publisher.ask("PUBLISH news two");
    let one = ["1) \"message\"", "2) \"news\"", "3) \"one\""];
    let two = ["1) \"message\"", "2) \"news\"", "3) \"two\""];
    terminal.shows_above(&[one, two].concat());
    terminal.shows_line(&format!("{prompt} SADD s half [member ...]"));
    terminal.line("way");
    terminal.shows_above(&[&format!("{prompt} SADD s halfway"), "(integer) 1"]);
    // A line longer than a row is kept, too.
    let long = "x".repeat(150);
    terminal.press(format!("ECHO {long}"));
    terminal.shows(&"x".repeat(20));
    publisher.ask("PUBLISH news three");
    terminal.shows("3) \"three\"");
    terminal.line("");
    terminal.wait("the answer", |screen| screen.contents().replace('\n', "").contains(&format!("\"{long}\"{prompt}")));
    // What comes while a line is read whose end comes at once is shown with it.
    terminal.line("UNSUBSCRIBE");
    terminal.shows_line(&format!("{}>", self::prompt(server)));
    assert_eq!(terminal.end(), Some(0));
}

fn what_the_server_is_asked_is_shown_until_ctrl_c_goes_back(server: &Server) {
    let terminal = Terminal::at(server, &["-n", "2"]);
    let prompt = format!("{}[2]>", prompt(server));
    terminal.line("MONITOR");
    terminal.shows("goblin: reading what the server is asked; Ctrl-C returns to the prompt\nOK");
    server.connect().call(&["SET", "k", "a b"]);
    terminal.shows("\"SET\" \"k\" \"a b\"");
    terminal.press("\x03");
    terminal.shows_line(&prompt);
    terminal.line("PING");
    terminal.shows_above(&["PONG"]);
    assert_eq!(terminal.end(), Some(0));
}

fn messages_and_restrictions_are_as_told_in_resp2(server: &Server) {
    let terminal = Terminal::at(server, &["--protocol", "resp2"]);
    let prompt = prompt(server);
    terminal.line("PSUBSCRIBE n*");
    terminal.shows("reading messages");
    server.connect().ask("PUBLISH news hello");
    terminal.shows("4) \"hello\"");
    terminal.press("\x03");
    terminal.shows_line(&format!("{prompt}(1 subscription)>"));
    terminal.line("GET k");
    terminal.shows("(error) ERR Can't execute 'get'");
    terminal.line("PUNSUBSCRIBE");
    terminal.shows_line(&format!("{prompt}>"));
    terminal.line("UNSUBSCRIBE");
    terminal.shows("2) (nil)");
    terminal.shows_line(&format!("{prompt}>"));
    terminal.line("GET k");
    terminal.shows_above(&["(nil)"]);
}

fn what_destroys_is_asked_about(server: &Server) {
    let mut other = server.connect();
    other.ask("SET k v");
    let terminal = Terminal::at(server, &[]);
    let question = "FLUSHALL removes every key of every database. Go on? [y/N]";
    terminal.line("FLUSHALL");
    terminal.shows_line(question);
    terminal.line("n");
    terminal.shows_above(&["goblin: not sent"]);
    assert_eq!(other.ask("EXISTS k").integer(), 1);
    terminal.line("FLUSHALL");
    terminal.shows_line(question);
    terminal.press("\x03");
    terminal.shows_line(&format!("{}>", prompt(server)));
    assert_eq!(other.ask("EXISTS k").integer(), 1);
    // Few keys are no reason to ask.
    terminal.line("KEYS *");
    terminal.shows_above(&["1) \"k\""]);
    terminal.line("FLUSHALL");
    terminal.shows_line(question);
    terminal.line("y");
    terminal.shows_above(&["OK"]);
    assert_eq!(other.ask("EXISTS k").integer(), 0);
    drop(terminal);

    let keys: Vec<String> = (0..10_000).flat_map(|n| [format!("k{n}"), "v".to_owned()]).collect();
    let words: Vec<&str> = ["MSET"].into_iter().chain(keys.iter().map(String::as_str)).collect();
    other.call(&words);
    let port = server.port().to_string();
    let single = Terminal::start(&["-p", &port, "KEYS", "k"], &[]);
    single.shows("KEYS looks at 10000 keys in one go; SCAN does it in pieces. Go on? [y/N]");
    single.line("y");
    single.shows("(empty array)");
    let mut declined = Terminal::start(&["-p", &port, "FLUSHDB"], &[]);
    declined.shows("Go on? [y/N]");
    declined.line("");
    assert_eq!(wait_for(&mut declined.child).code(), Some(1));
    assert_eq!(other.ask("DBSIZE").integer(), 10_000);
    let bold = Terminal::start(&["-p", &port, "--yes"], &[]);
    bold.shows(&prompt(server));
    bold.line("FLUSHALL");
    bold.shows_above(&["OK"]);
    assert_eq!(other.ask("DBSIZE").integer(), 0);
}

fn a_pasted_megabyte_is_one_line(server: &Server) {
    let terminal = Terminal::at(server, &[]);
    terminal.paste(&format!("SET k {}", "x".repeat(1 << 20)));
    terminal.line("");
    terminal.shows_above(&["OK"]);
    terminal.line("STRLEN k");
    terminal.shows_above(&["(integer) 1048576"]);
    assert_eq!(terminal.end(), Some(0));
}

fn pasted_lines_are_commands(server: &Server) {
    let terminal = Terminal::at(server, &[]);
    terminal.paste("SET a 1\nSET b \"two\nlines\"\n\nINCR a");
    terminal.line("");
    terminal.shows_above(&["OK", "OK", "(integer) 2"]);
    assert_eq!(server.connect().ask("GET b").text(), "two\nlines");
    // What cannot be understood is not sent, and neither is what follows it.
    terminal.paste("INCR a\nGET \"open\nINCR a");
    terminal.line("");
    terminal.shows_above(&["(integer) 3", "goblin: unbalanced quotes: nothing was sent"]);
    // A megabyte of lines, more than a terminal has rows.
    let lines = "INCRBY a:counter:of:mine 1\n".repeat(40_330);
    terminal.paste(&(lines + "GET a"));
    terminal.line("");
    terminal.shows_above(&["(integer) 40330", "\"3\""]);
    assert_eq!(terminal.end(), Some(0));
}

fn colours_are_shown_unless_they_are_not_wanted(server: &Server) {
    let port = server.port().to_string();
    let start = prompt(server).len() as u16 + 2;
    let colour_of_command = |terminal: &Terminal| {
        terminal.press("GET key");
        terminal.shows_line(&format!("{}> GET key", prompt(server)));
        let seen = terminal.seen.0.lock().expect("screen");
        let screen = seen.parser.screen();
        screen.cell(screen.cursor_position().0, start).expect("a cell").fgcolor()
    };
    for (when, no_color, coloured) in
        [("auto", "", true), ("auto", "1", false), ("never", "", false), ("always", "1", true)]
    {
        let terminal = Terminal::start(&["-p", &port, "--color", when], &[("NO_COLOR", no_color)]);
        terminal.shows(&prompt(server));
        let colour = colour_of_command(&terminal);
        assert_eq!(colour != vt100::Color::Default, coloured, "{when} {no_color}: {colour:?}");
    }
}

fn peek_shows_a_value_by_its_type(server: &Server) {
    let mut other = server.connect();
    other.ask("SADD fruits fig");
    other.ask("SET text hello EX 1000");
    let members: Vec<String> = (0..200).map(|n| format!("member{n}")).collect();
    other.call(&["SADD", "many"].into_iter().chain(members.iter().map(String::as_str)).collect::<Vec<_>>());
    let terminal = Terminal::at(server, &[]);
    terminal.line("peek fruits");
    terminal.shows("set, 1 member, listpack, ");
    terminal.shows_above(&["1~ \"fig\""]);
    terminal.line("PEEK text");
    terminal.shows("string, 5 bytes, embstr, ");
    terminal.shows(", expires in ");
    terminal.shows_above(&["\"hello\""]);
    terminal.line("peek nosuch");
    terminal.shows_above(&["no such key"]);
    terminal.line("peek many");
    terminal.shows_above(&["... and 180 more members"]);
    terminal.line("MULTI");
    terminal.line("peek fruits");
    terminal.shows("inside a transaction");
}

fn help_and_mistakes_are_answered_here(server: &Server) {
    let terminal = Terminal::at(server, &[]);
    terminal.line("help scard");
    terminal.shows("> SCARD s");
    terminal.line("help @set");
    terminal.shows("SINTERCARD ");
    terminal.line("help");
    terminal.shows("peek KEY");
    terminal.line("help nosuchthing");
    terminal.shows("nothing is called 'nosuchthing'");
    terminal.line("PSYNC ? -1");
    terminal.shows("goblin: PSYNC is answered by a stream");
    terminal.line("client reply off");
    terminal.shows("turn off the replies");
    terminal.line("nosuch");
    terminal.shows("(error) ERR unknown command 'nosuch'");
    assert_eq!(terminal.end(), Some(0));
}

fn a_line_can_be_repeated_and_left(server: &Server) {
    let terminal = Terminal::at(server, &[]);
    terminal.line("3 INCR n");
    terminal.shows_above(&["(integer) 1", "(integer) 2", "(integer) 3"]);
    terminal.press("INCR n");
    terminal.shows_line(&format!("{}> INCR n", prompt(server)));
    terminal.press("\x03");
    terminal.shows_above(&[&format!("{}> INCR n", prompt(server))]);
    terminal.shows_line(&format!("{}>", prompt(server)));
    terminal.line("GET n");
    terminal.shows_above(&["\"3\""]);
    terminal.line("SHUTDOWN NOSAVE");
    terminal.line("y");
    terminal.shows_line("not connected>");
    assert_eq!(terminal.end(), Some(0));
}

fn without_a_server_there_is_a_prompt_that_completes() {
    let folder = Folder::new();
    let socket = socket_in(&folder);
    let terminal = Terminal::start(&["-s", &socket], &[]);
    terminal.shows(&format!("goblin: could not connect to {socket}"));
    terminal.shows_line("not connected>");
    terminal.press("SISM\t");
    terminal.shows_line("not connected> SISMEMBER key member");
    terminal.line("s m");
    terminal.shows_line("not connected>");
    let _server = serve_at(&socket);
    terminal.line("PING");
    terminal.shows_above(&["PONG"]);
    terminal.shows_line(&format!("{socket}>"));
}

fn socket_in(folder: &Folder) -> String {
    folder.path().join("s").to_str().expect("a path in UTF-8").to_owned()
}

/// A server that can be ended and started again at its socket, which nobody else takes meanwhile.
fn serve_at(socket: &str) -> Started {
    let server = Started::serve(&["--port", "0", "--unixsocket", socket]);
    assert!(server.start_line().is_some(), "{}", server.log.text());
    server
}

fn a_restarted_server_finds_the_session_as_it_was() {
    let folder = Folder::new();
    let socket = socket_in(&folder);
    let server = serve_at(&socket);
    let terminal = Terminal::start(&["-s", &socket], &[]);
    terminal.shows_line(&format!("{socket}>"));
    terminal.line("SELECT 3");
    terminal.line("CLIENT SETNAME somebody");
    terminal.line("MULTI");
    terminal.shows_line(&format!("{socket}[3](TX)>"));
    drop(server);
    let _server = serve_at(&socket);
    // Nothing is sent into a state that it was not meant for.
    terminal.line("SET k v");
    terminal.shows("goblin: connection lost");
    terminal.shows("; the transaction with 0 commands is lost");
    terminal.shows_above(&["goblin: not sent: the transaction with 0 commands went with the connection"]);
    terminal.line("CLIENT GETNAME");
    terminal.shows_above(&["\"somebody\""]);
    terminal.shows_line(&format!("{socket}[3]>"));
    // Sets are sets in RESP3 only.
    terminal.line("SADD s m");
    terminal.line("SMEMBERS s");
    terminal.shows_above(&["1~ \"m\""]);
}

fn subscriptions_come_back_after_a_restart() {
    let folder = Folder::new();
    let socket = socket_in(&folder);
    let server = serve_at(&socket);
    let terminal = Terminal::start(&["-s", &socket], &[]);
    terminal.shows_line(&format!("{socket}>"));
    terminal.line("SUBSCRIBE a b");
    terminal.shows("reading messages");
    drop(server);
    terminal.shows("goblin: connection lost");
    let _server = serve_at(&socket);
    terminal.shows("; what was published meanwhile is lost");
    let mut publisher = Connection::unix(socket.as_ref());
    assert_eq!(publisher.ask("PUBLISH b back").integer(), 1);
    terminal.shows("3) \"back\"");
    terminal.press("\x03");
    terminal.shows_line(&format!("{socket}(2 subscriptions)>"));
}

fn a_wait_is_left_with_ctrl_c() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let port = listener.local_addr().expect("bound").port().to_string();
    // Greets, and never answers anything else.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("accept");
            thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(HELLO);
                let _ = stream.read_to_end(&mut Vec::new());
            });
        }
    });
    let terminal = Terminal::start(&["-p", &port], &[]);
    terminal.shows_line(&format!("127.0.0.1:{port}>"));
    terminal.line("BLPOP q 0");
    terminal.wait("Enter", |screen| current_line(screen).is_empty());
    terminal.press("\x03");
    terminal.shows("goblin: interrupted; whether it was executed is not known");
    terminal.shows_line("not connected>");
    assert_eq!(terminal.end(), Some(0));
}

fn a_password_can_be_given_at_the_prompt() {
    let server = Server::with(&["--requirepass", "secret"]);
    let terminal = Terminal::at(&server, &["-n", "2"]);
    terminal.shows("goblin: the server wants a password first");
    terminal.line("GET k");
    terminal.shows("(error) NOAUTH");
    terminal.line("AUTH secret");
    terminal.shows_line(&format!("{}[2]>", prompt(&server)));
    terminal.line("SADD s m");
    terminal.line("SMEMBERS s");
    terminal.shows_above(&["1~ \"m\""]);
    let mut refused = Terminal::start(&["-p", &server.port().to_string()], &[("GOBLIN_PASSWORD", "wrong")]);
    refused.shows("goblin: could not log in: WRONGPASS");
    assert_eq!(wait_for(&mut refused.child).code(), Some(3));
}
