//! Every exit status of every subcommand: one table, compared with what the manual pages promise.
//!
//! Invariant: a subcommand, or a status in the manual page of one, without a row here fails the test.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::app::{HELLO, scripted};
use crate::process::finish;
use crate::road::{Folder, Log, Server, free_port, goblin, wait_for};
use crate::suite::{Need, Suite, tests};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, plain, Need::Goblin;
        every_row_ends_as_promised,
        every_status_of_every_manual_page_has_a_row,
        statuses_of_the_program_itself,
    );
}

/// How it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// With this on standard input, which then ends.
    Given(&'static str),
    /// With a variable in its environment.
    With(&'static str, &'static str),
    /// Nobody reads standard output.
    Unread,
    /// Nobody reads on behind the first line of standard output, and nothing more is printed.
    ReadOnce,
    /// Standard output takes nothing.
    Full,
    /// The signal comes behind the first line that is printed; this is on standard input, which does not end.
    Signalled(&'static str, &'static str),
}

use Way::{Full, Given, ReadOnce, Signalled, Unread, With};

const NOTHING: Way = Given("");

type Row = (&'static str, &'static str, &'static [&'static str], Way, i32);

/// Subcommand, situation, arguments, how it is run, status. In arguments, a word in braces stands for a port or a path:
///
/// - `{port}`, `{socket}`: a server, which holds a set `s` and a string `large`; `{locked}`: one that wants a password
/// - `{nobody}`: a port where nobody listens; `{folder}`: an empty folder; `{free}`: a port to listen on
/// - `{sent}`: confirms a subscription to `c` and sends one message
/// - `{lost}`: greets, and ends at the next request; `{cut}`: confirms a subscription and ends inside a message
/// - `{silent}`: greets, and never answers anything else; `{alien}`: greets, and answers what is no RESP
const ROWS: &[Row] = &[
    ("serve", "stopped with Ctrl-C", &["--port", "{free}", "--no-unixsocket"], Signalled("INT", ""), 0),
    ("serve", "stopped with SIGTERM", &["--port", "{free}", "--no-unixsocket"], Signalled("TERM", ""), 0),
    ("serve", "asked for help", &["--help"], NOTHING, 0),
    ("serve", "no number", &["--port", "x"], NOTHING, 2),
    ("serve", "a number too large", &["--port", "65536"], NOTHING, 2),
    ("serve", "unknown flag", &["--nosuch"], NOTHING, 2),
    ("serve", "no clients", &["--maxclients", "0"], NOTHING, 2),
    ("serve", "no databases", &["--databases", "none"], NOTHING, 2),
    ("serve", "unknown way to wait", &["--wait", "sometimes"], NOTHING, 2),
    ("serve", "impossible permissions", &["--unixsocketperm", "999"], NOTHING, 2),
    ("serve", "no such file", &["--config", "/nonexistent/goblin.toml"], NOTHING, 2),
    ("serve", "nowhere to listen", &["--port", "0", "--no-unixsocket"], NOTHING, 2),
    ("serve", "the port is taken", &["--port", "{port}", "--no-unixsocket"], NOTHING, 3),
    ("serve", "the socket is taken", &["--port", "0", "--unixsocket", "{socket}"], NOTHING, 3),
    ("serve", "no such folder", &["--port", "0", "--unixsocket", "/nonexistent/folder/x.sock"], NOTHING, 3),
    ("serve", "no such address", &["--port", "{free}", "--bind", "192.0.2.1", "--no-unixsocket"], NOTHING, 3),
    ("cli", "a command", &["-p", "{port}", "PING"], NOTHING, 0),
    ("cli", "over a Unix socket", &["-s", "{socket}", "--protocol", "resp2", "PING"], NOTHING, 0),
    ("cli", "in SBE", &["-s", "{socket}", "--protocol", "sbe", "PING"], NOTHING, 0),
    ("cli", "a last word from standard input", &["-p", "{port}", "-x", "ECHO"], Given("text"), 0),
    ("cli", "a script", &["-p", "{port}"], Given("PING\n\nPING"), 0),
    ("cli", "an empty script", &["-p", "{port}"], NOTHING, 0),
    ("cli", "a load", &["-p", "{port}", "--pipe"], Given("PING\n"), 0),
    ("cli", "latency", &["-p", "{port}", "--latency", "-r", "1", "-i", "0.05"], NOTHING, 0),
    ("cli", "figures", &["-p", "{port}", "--stat", "-r", "1"], NOTHING, 0),
    ("cli", "asked for help", &["--help"], NOTHING, 0),
    ("cli", "SHUTDOWN is answered by the end", &["-p", "{lost}", "SHUTDOWN", "NOSAVE"], NOTHING, 0),
    ("cli", "the password in the environment", &["-p", "{locked}", "PING"], With("GOBLIN_PASSWORD", "secret"), 0),
    ("cli", "the reader has left", &["-p", "{port}", "GET", "large"], Unread, 0),
    ("cli", "the reader of a load has left", &["-p", "{port}", "--pipe"], Unread, 0),
    ("cli", "the reader of figures has left", &["-p", "{port}", "--stat", "-i", "0.01"], Unread, 0),
    ("cli", "the reader of latency has left", &["-p", "{port}", "--latency", "-i", "0.01"], Unread, 0),
    ("cli", "the reader of messages has left", &["-p", "{port}", "SUBSCRIBE", "c"], Unread, 0),
    ("cli", "the reader leaves behind a line", &["-p", "{port}", "MONITOR"], ReadOnce, 0),
    ("cli", "an error", &["-p", "{port}", "GET", "s"], NOTHING, 1),
    ("cli", "a subscription is refused", &["-p", "{locked}", "--protocol", "resp2", "SUBSCRIBE", "c"], NOTHING, 1),
    ("cli", "an error among repetitions", &["-p", "{port}", "-r", "2", "GET", "s"], NOTHING, 1),
    ("cli", "an error in a script", &["-p", "{port}"], Given("GET s\nPING\n"), 1),
    ("cli", "an error in a script that goes on", &["-p", "{port}", "--keep-going"], Given("GET s\nPING\n"), 1),
    ("cli", "an error in a load", &["-p", "{port}", "--pipe"], Given("GET s\nPING\n"), 1),
    ("cli", "a load that ends inside a command", &["-p", "{port}", "--pipe"], Given("*2\r\n$3\r\nGET\r\n"), 1),
    ("cli", "INFO is refused", &["-p", "{locked}", "--protocol", "resp2", "--stat"], NOTHING, 1),
    ("cli", "PING is refused", &["-p", "{locked}", "--protocol", "resp2", "--latency"], NOTHING, 1),
    ("cli", "unknown flag", &["--nosuch", "PING"], NOTHING, 2),
    ("cli", "no port", &["-p", "0", "PING"], NOTHING, 2),
    ("cli", "port and socket", &["-p", "{port}", "-s", "{socket}", "PING"], NOTHING, 2),
    ("cli", "host and URL", &["-u", "redis://h", "-h", "h", "PING"], NOTHING, 2),
    ("cli", "no database in a URL", &["-u", "redis://127.0.0.1/abc", "PING"], NOTHING, 2),
    ("cli", "TLS", &["-u", "rediss://127.0.0.1", "PING"], NOTHING, 2),
    ("cli", "lines of what does not monitor", &["-p", "{port}", "--count", "1", "SUBSCRIBE", "c"], NOTHING, 2),
    ("cli", "keys of a script", &["-p", "{port}", "--key", "k"], Given("PING\n"), 2),
    ("cli", "clients of a load", &["-p", "{port}", "--client", "h", "--pipe"], Given("PING\n"), 2),
    ("cli", "databases of figures", &["-p", "{port}", "--db", "1", "--stat"], NOTHING, 2),
    ("cli", "no command to filter by", &["-p", "{port}", "--command", "", "MONITOR"], NOTHING, 2),
    ("cli", "no lines", &["-p", "{port}", "--count", "0", "MONITOR"], NOTHING, 2),
    ("cli", "no such tag", &["-p", "{port}", "-X", "TAG", "ECHO", "x"], NOTHING, 2),
    ("cli", "a pause without repetition", &["-p", "{port}", "-i", "1", "PING"], NOTHING, 2),
    ("cli", "replies turned off", &["-p", "{port}", "CLIENT", "REPLY", "OFF"], NOTHING, 2),
    ("cli", "messages in a script", &["-p", "{port}"], Given("SUBSCRIBE c\nPING\n"), 2),
    ("cli", "unbalanced quotes", &["-p", "{port}"], Given("PING\nECHO \"a\nPING\n"), 2),
    ("cli", "unbalanced quotes and going on", &["-p", "{port}", "--keep-going"], Given("ECHO \"a\nPING\n"), 2),
    ("cli", "nobody there", &["-p", "{nobody}", "PING"], NOTHING, 3),
    ("cli", "no such socket", &["-s", "/nonexistent.sock", "PING"], NOTHING, 3),
    ("cli", "no such ring", &["--ring=/nonexistent.ring", "PING"], NOTHING, 3),
    ("cli", "no such host", &["-h", "name.invalid", "PING"], NOTHING, 3),
    ("cli", "no such database", &["-p", "{port}", "-n", "99", "PING"], NOTHING, 3),
    ("cli", "a wrong password", &["-p", "{locked}", "PING"], With("REDISCLI_AUTH", "wrong"), 3),
    ("cli", "an unknown user", &["-p", "{port}", "--user", "nobody", "-a", "x", "PING"], NOTHING, 3),
    ("cli", "no server to load", &["-p", "{nobody}", "--pipe"], NOTHING, 3),
    ("cli", "nothing can be printed", &["-p", "{port}", "PING"], Full, 3),
    ("cli", "lost before the reply", &["-p", "{lost}", "GET", "k"], NOTHING, 4),
    ("cli", "lost inside a script", &["-p", "{port}"], Given("QUIT\nPING\n"), 4),
    ("cli", "lost inside a load", &["-p", "{lost}", "--pipe"], Given("PING\n"), 4),
    ("cli", "lost while measuring", &["-p", "{lost}", "--latency"], NOTHING, 4),
    ("cli", "lost while watching", &["-p", "{lost}", "--stat"], NOTHING, 4),
    ("cli", "lost inside a message", &["-p", "{cut}", "SUBSCRIBE", "c"], NOTHING, 4),
    ("cli", "no RESP", &["-p", "{alien}", "PING"], NOTHING, 4),
    ("cli", "a load without an answer", &["-p", "{silent}", "--pipe", "--pipe-timeout", "0.05"], Given("PING\n"), 5),
    ("cli", "interrupted between lines", &["-p", "{port}"], Signalled("INT", "PING\n"), 130),
    (
        "cli",
        "interrupted between repetitions",
        &["-p", "{port}", "-r", "-1", "-i", "60", "PING"],
        Signalled("INT", ""),
        130,
    ),
    ("cli", "interrupted between messages", &["-p", "{port}", "SUBSCRIBE", "c"], Signalled("INT", ""), 130),
    ("cli", "interrupted while monitoring", &["-p", "{port}", "MONITOR"], Signalled("INT", ""), 130),
    ("cli", "interrupted while measuring", &["-p", "{port}", "--latency", "-i", "0.05"], Signalled("INT", ""), 130),
    ("cli", "interrupted while watching", &["-p", "{port}", "--stat"], Signalled("INT", ""), 130),
    ("sub", "asked for help", &["--help"], NOTHING, 0),
    ("sub", "enough", &["-p", "{sent}", "--count", "1", "c"], NOTHING, 0),
    ("sub", "its time is over", &["-p", "{sent}", "--timeout", "1", "c"], NOTHING, 0),
    ("sub", "the reader has left", &["-p", "{port}", "c"], Unread, 0),
    ("sub", "the reader leaves behind a message", &["-p", "{sent}", "c"], ReadOnce, 0),
    ("sub", "refused", &["-p", "{locked}", "--protocol", "resp2", "c"], NOTHING, 1),
    ("sub", "no name", &[], NOTHING, 2),
    ("sub", "no messages", &["--count", "0", "c"], NOTHING, 2),
    ("sub", "no time", &["--timeout", "-1", "c"], NOTHING, 2),
    ("sub", "two forms", &["--raw", "--json", "c"], NOTHING, 2),
    ("sub", "shard patterns", &["--sharded", "--pattern", "c"], NOTHING, 2),
    ("sub", "bytes alone with times", &["--raw", "--timestamps", "c"], NOTHING, 2),
    ("sub", "a delimiter of lines", &["--delimiter", "x", "c"], NOTHING, 2),
    ("sub", "an impossible delimiter", &["--raw", "--delimiter", "\\q", "c"], NOTHING, 2),
    ("sub", "ready on standard output", &["--ready-fd", "1", "c"], NOTHING, 2),
    ("sub", "ready on no descriptor", &["--ready-fd", "999", "c"], NOTHING, 2),
    ("sub", "nobody there", &["-p", "{nobody}", "c"], NOTHING, 3),
    ("sub", "no such database", &["-p", "{port}", "-n", "99", "c"], NOTHING, 3),
    ("sub", "a wrong password", &["-p", "{locked}", "c"], With("GOBLIN_PASSWORD", "wrong"), 3),
    ("sub", "nothing can be printed", &["-p", "{sent}", "c"], Full, 3),
    ("sub", "lost before it is in force", &["-p", "{lost}", "--no-reconnect", "c"], NOTHING, 4),
    ("sub", "lost inside a message", &["-p", "{cut}", "--no-reconnect", "c"], NOTHING, 4),
    ("sub", "interrupted while counting", &["-p", "{port}", "--rate", "c"], Signalled("INT", ""), 130),
    ("sub", "no RESP", &["-p", "{alien}", "--no-reconnect", "c"], NOTHING, 4),
    ("sub", "nothing came", &["-p", "{port}", "--timeout", "0.05", "c"], NOTHING, 5),
    ("sub", "too little came", &["-p", "{sent}", "--timeout", "1", "--count", "2", "c"], NOTHING, 5),
    ("sub", "never in force", &["-p", "{silent}", "--timeout", "0.05", "c"], NOTHING, 5),
    ("sub", "interrupted", &["-p", "{port}", "c"], Signalled("INT", ""), 130),
    ("pub", "a message", &["-p", "{port}", "c", "m"], NOTHING, 0),
    ("pub", "several channels", &["-p", "{port}", "a", "b", "--", "m"], NOTHING, 0),
    ("pub", "no lines", &["-p", "{port}", "c", "-"], NOTHING, 0),
    ("pub", "lines at a rate", &["-p", "{port}", "--rate", "1000", "c", "-"], Given("m\nm\n"), 0),
    ("pub", "all of standard input", &["-p", "{port}", "--sharded", "c", "-x"], Given("m"), 0),
    ("pub", "a file", &["-p", "{port}", "--file", "/dev/null", "c"], NOTHING, 0),
    ("pub", "asked for help", &["--help"], NOTHING, 0),
    ("pub", "the reader has left", &["-p", "{port}", "c", "m"], Unread, 0),
    ("pub", "refused", &["-p", "{locked}", "--protocol", "resp2", "c", "m"], NOTHING, 1),
    ("pub", "lines refused", &["-p", "{locked}", "--protocol", "resp2", "c", "-"], Given("m\n"), 1),
    ("pub", "no message", &["c"], NOTHING, 2),
    ("pub", "several channels or several words", &["a", "b", "m"], NOTHING, 2),
    ("pub", "no channel", &["-x"], NOTHING, 2),
    ("pub", "no such file", &["-p", "{port}", "--file", "/nonexistent", "c"], NOTHING, 2),
    ("pub", "nothing to trim", &["--trim", "c", "m"], NOTHING, 2),
    ("pub", "no rate", &["--rate", "0", "c", "-"], NOTHING, 2),
    ("pub", "nobody there", &["-p", "{nobody}", "c", "m"], NOTHING, 3),
    ("pub", "nobody there for lines", &["-p", "{nobody}", "c", "-"], Given("m\n"), 3),
    ("pub", "a wrong password", &["-p", "{locked}", "c", "m"], With("GOBLIN_PASSWORD", "wrong"), 3),
    ("pub", "nothing can be printed", &["-p", "{port}", "c", "m"], Full, 3),
    ("pub", "lost before the answer", &["-p", "{lost}", "c", "m"], NOTHING, 4),
    ("pub", "lost between lines", &["-p", "{lost}", "c", "-"], Given("m\n"), 4),
    ("pub", "interrupted between lines", &["-p", "{port}", "c", "-"], Signalled("INT", "m\n"), 130),
    ("bench", "asked for help", &["--help"], NOTHING, 0),
    ("bench", "a few requests", &["ping", "--attach", "{url}", "--requests", "10", "--rounds", "1"], NOTHING, 0),
    ("bench", "the reader has left", &["ping", "--attach", "{url}", "--requests", "10", "--rounds", "1"], Unread, 0),
    ("bench", "a key of its own is there already", &["set", "--attach", "{url}", "--rounds", "1"], NOTHING, 1),
    ("bench", "nothing to measure", &[], NOTHING, 2),
    ("bench", "no engine", &["ping", "--engine", "nosuch"], NOTHING, 2),
    ("bench", "no address", &["ping", "--attach", "x=nosuch://h"], NOTHING, 2),
    ("bench", "two of one name", &["ping", "--engine", "goblin-uds", "--engine", "goblin-uds"], NOTHING, 2),
    ("bench", "an option that says nothing about it", &["pubsub", "--depth", "4"], NOTHING, 2),
    ("bench", "no such baseline", &["ping", "--baseline", "nosuch"], NOTHING, 2),
    ("bench", "no such processor", &["ping", "--client-cpu", "99999"], NOTHING, 2),
    ("bench", "nobody there", &["ping", "--attach", "{url-nobody}"], NOTHING, 3),
    ("bench", "no such program", &["ping", "--engine", "x=redis:/nonexistent"], NOTHING, 3),
    ("bench", "nothing can be printed", &["ping", "--attach", "{url}", "--requests", "10"], Full, 3),
    ("bench", "interrupted", &["ping", "--attach", "{url}", "--duration", "600"], Signalled("INT", ""), 130),
    ("completions", "a shell", &["zsh"], NOTHING, 0),
    ("completions", "the reader has left", &["zsh"], Unread, 0),
    ("completions", "no shell", &[], NOTHING, 2),
    ("completions", "an unknown shell", &["nosuch"], NOTHING, 2),
    ("completions", "nothing can be printed", &["zsh"], Full, 3),
    ("man", "a page", &["sub"], NOTHING, 0),
    ("man", "the page of commands", &["commands"], NOTHING, 0),
    ("man", "the page of rings", &["ring"], NOTHING, 0),
    ("man", "the page of SBE", &["sbe"], NOTHING, 0),
    ("man", "all pages", &["--all", "{folder}"], NOTHING, 0),
    ("man", "the reader has left", &["commands"], Unread, 0),
    ("man", "an unknown page", &["nosuch"], NOTHING, 2),
    ("man", "a page and all", &["sub", "--all", "{folder}"], NOTHING, 2),
    ("man", "no such folder", &["--all", "/nonexistent"], NOTHING, 3),
    ("man", "nothing can be printed", &["sub"], Full, 3),
    ("help", "this program", &[], NOTHING, 0),
    ("help", "a subcommand", &["serve"], NOTHING, 0),
    ("help", "a server command", &["CLIENT", "KILL"], NOTHING, 0),
    ("help", "a setting", &["config", "maxclients"], NOTHING, 0),
    ("help", "the reader has left", &["config"], Unread, 0),
    ("help", "an unknown name", &["nosuch"], NOTHING, 2),
    ("help", "an unknown setting", &["config", "nosuch"], NOTHING, 2),
    ("help", "nothing can be printed", &[], Full, 3),
    ("sbe-schema", "the schema", &[], NOTHING, 0),
    ("sbe-schema", "the reader has left", &[], Unread, 0),
    ("sbe-schema", "too many words", &["nosuch"], NOTHING, 2),
    ("sbe-schema", "nothing can be printed", &[], Full, 3),
    ("sbe-client", "a language", &["python"], NOTHING, 0),
    ("sbe-client", "the reader has left", &["python"], Unread, 0),
    ("sbe-client", "no language", &[], NOTHING, 2),
    ("sbe-client", "an unknown language", &["nosuch"], NOTHING, 2),
    ("sbe-client", "nothing can be printed", &["python"], Full, 3),
];

/// What the rows run against.
struct Places {
    server: Server,
    locked: Server,
    folder: Folder,
}

impl Places {
    fn new() -> Places {
        let server = Server::start();
        let mut connection = server.connect();
        connection.ask("SADD s a");
        connection.ask("SADD set:primary a");
        connection.call(&["SET", "large", &"x".repeat(1 << 20)]);
        Places { server, locked: Server::with(&["--requirepass", "secret"]), folder: Folder::new() }
    }

    fn word(&self, word: &str) -> String {
        const CONFIRMED: &str = ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n";
        let path = |path: &std::path::Path| path.to_str().expect("a path in UTF-8").to_owned();
        let confirmed = |rest: &str| Box::leak((CONFIRMED.to_owned() + rest).into_boxed_str()).as_bytes();
        match word {
            "{port}" => self.server.port().to_string(),
            "{url}" => format!("s=redis://127.0.0.1:{}", self.server.port()),
            "{url-nobody}" => format!("s=redis://127.0.0.1:{}", free_port()),
            "{socket}" => path(&self.server.socket()),
            "{locked}" => self.locked.port().to_string(),
            "{folder}" => path(self.folder.path()),
            "{nobody}" | "{free}" => free_port().to_string(),
            "{lost}" => scripted(&[HELLO, b""]),
            "{alien}" => scripted(&[HELLO, b"what?\r\n"]),
            "{cut}" => scripted(Box::leak(Box::new([HELLO, confirmed("$9\r\nhal")]))),
            "{sent}" => staying(vec![HELLO, confirmed("$1\r\nm\r\n")]),
            "{silent}" => staying(vec![HELLO]),
            word if word.starts_with('{') => panic!("{word} stands for nothing"),
            word => word.to_owned(),
        }
    }
}

/// A server that answers one read with one of these each, and then nothing more.
fn staying(answers: Vec<&'static [u8]>) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let port = listener.local_addr().expect("bound").port().to_string();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accept");
        for answer in answers {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer);
        }
        let _ = stream.read_to_end(&mut Vec::new());
    });
    port
}

fn every_row_ends_as_promised() {
    let places = Places::new();
    let mut wrong = Vec::new();
    for (subcommand, situation, words, way, status) in ROWS {
        let mut command = goblin();
        command.arg(subcommand).args(words.iter().map(|word| places.word(word)));
        command.env_remove("GOBLIN_PASSWORD").env_remove("REDISCLI_AUTH");
        let (ended, said) = run(command, *way);
        if ended != Some(*status) {
            wrong.push(format!("{subcommand}, {situation}: {ended:?} instead of {status}; {said}"));
        }
        let is_explained = match (status, way) {
            (0, Unread | ReadOnce) => said.lines().all(|line| line.starts_with("goblin: subscribed to ")),
            (0 | 1 | 130, _) => true,
            (4, _) => said.contains("connection lost") || said.contains("does not speak RESP"),
            _ => said.contains("goblin: ") || said.contains("error: "),
        };
        if !is_explained {
            wrong.push(format!("{subcommand}, {situation}: it says {said:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The status it ends with, and what it says on standard error.
fn run(mut command: Command, way: Way) -> (Option<i32>, String) {
    let (input, stdout) = match way {
        Given(input) => {
            let ended = finish(command, input.as_bytes());
            return (ended.status, ended.stderr);
        }
        With(name, value) => {
            command.env(name, value);
            let ended = finish(command, b"");
            return (ended.status, ended.stderr);
        }
        Signalled(signal, input) => return signalled(command, signal, input),
        ReadOnce | Unread => {
            let (reader, writer) = std::io::pipe().expect("pipe");
            ((way == ReadOnce).then_some(reader), Stdio::from(writer))
        }
        Full => (None, OpenOptions::new().write(true).open("/dev/full").expect("/dev/full").into()),
    };
    let mut child = command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).spawn().expect("start goblin");
    drop(command);
    if let Some(mut reader) = input {
        let mut byte = [0];
        while byte != *b"\n" {
            reader.read_exact(&mut byte).expect("a line");
        }
    }
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("what it says");
    (wait_for(&mut child).code(), said)
}

fn signalled(mut command: Command, signal: &str, input: &str) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().expect("pipe");
    command.stdin(Stdio::piped()).stdout(writer.try_clone().expect("pipe")).stderr(writer);
    let mut child = command.spawn().expect("start goblin");
    drop(command);
    let said = Log::follow(reader);
    child.stdin.as_mut().expect("piped").write_all(input.as_bytes()).expect("write a line");
    said.wait(|_| true);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &pid]).status().expect("run kill").success());
    // Standard input stays open until then.
    let status = wait_up_to_its_end(&mut child);
    said.wait(|_| false);
    (status, said.text())
}

fn wait_up_to_its_end(child: &mut Child) -> Option<i32> {
    let input = child.stdin.take();
    let status = wait_for(child).code();
    drop(input);
    status
}

fn every_status_of_every_manual_page_has_a_row() {
    let subcommands = subcommands();
    assert!(subcommands.contains("serve"), "{subcommands:?}");
    let named: BTreeSet<String> = ROWS.iter().map(|row| row.0.to_owned()).collect();
    assert_eq!(named, subcommands, "rows are about the subcommands there are");
    for subcommand in subcommands {
        let rows = || ROWS.iter().filter(|row| row.0 == subcommand);
        let promised = promised(&subcommand);
        let shown: BTreeSet<i32> = rows().map(|row| row.4).collect();
        let statuses: BTreeSet<i32> = promised.iter().map(|(status, _)| *status).collect();
        assert_eq!(shown, statuses, "{subcommand}: the statuses of its rows and of its manual page");
        let may_lose_its_reader = promised.iter().any(|(status, why)| *status == 0 && why.contains("standard output"));
        let loses_its_reader = rows().any(|row| matches!(row.3, Unread | ReadOnce) && row.4 == 0);
        assert_eq!(may_lose_its_reader, loses_its_reader, "{subcommand}: a closed pipe");
        let help = finished(&["help", &subcommand]);
        let lines = help.split_once("Status:\n").expect("statuses").1;
        let helped: BTreeSet<i32> =
            lines.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
        assert_eq!(helped, statuses, "{subcommand}: the statuses of its help and of its manual page");
    }
}

fn finished(words: &[&str]) -> String {
    let mut command = goblin();
    command.args(words);
    let ended = finish(command, b"");
    assert_eq!(ended.status, Some(0), "{words:?}: {}", ended.stderr);
    ended.stdout
}

/// The names that the program's help lists.
fn subcommands() -> BTreeSet<String> {
    let help = finished(&["--help"]);
    let list = help.split_once("Commands:\n").expect("a list of subcommands").1;
    list.lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| Some(line.split_whitespace().next()?.into()))
        .collect()
}

/// What a manual page says about statuses.
fn promised(subcommand: &str) -> Vec<(i32, String)> {
    let page = finished(&["man", subcommand]);
    let section = page.split_once(".SH \"EXIT STATUS\"\n").expect("statuses").1;
    let section = section.split(".SH").next().unwrap_or_default();
    let entries = section.split(".TP\n").filter_map(|entry| entry.split_once('\n'));
    entries.map(|(status, why)| (status.parse().expect("a number"), why.to_owned())).collect()
}

fn statuses_of_the_program_itself() {
    let rows: [(&[&str], i32); 4] = [(&["--version"], 0), (&["--help"], 0), (&[], 2), (&["nosuch"], 2)];
    for (words, status) in rows {
        let mut command = goblin();
        command.args(words);
        let ended = finish(command, b"");
        assert_eq!(ended.status, Some(status), "{words:?}: {} {}", ended.stdout, ended.stderr);
    }
    let unread = |words: &[&str]| {
        let mut command = goblin();
        command.args(words);
        run(command, Unread)
    };
    assert_eq!(unread(&["--help"]).0, Some(0));
}
