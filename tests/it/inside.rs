//! The engine as a library: no server, no listener, just `Engine`, the codecs and a host made of plain structs.
//!
//! A thread of its own owns the engine and serves the far ends of socket pairs, so that a transcript speaks to it as it
//! speaks to a process. What the engine answers and pushes here needs none of `goblin::server` but its settings.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use goblin::command::{Args, Request, Spec};
use goblin::engine::{
    Caller, ClientFacts, ClientId, CommandStats, Engine, EngineSettings, Executed, Facts, Handled, Host, MadeRing, Now,
    ProcessRequest, PushRules, SubscriberId, Taken, Took,
};
use goblin::protocol::resp::reply::{encode, protocol_error, push};
use goblin::protocol::resp::{Decoded, Decoder, Limits};
use goblin::reply::{CommandError, Push, Reply, RingRefusal};
use goblin::server::settings::Settings;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::wire::Connection;

/// Milliseconds between two looks for expired keys.
const EXPIRE_EVERY_MS: u16 = 20;

/// A running engine.
pub struct Inside {
    arrivals: Sender<UnixStream>,
    bell: UnixStream,
}

impl Inside {
    /// Starts an engine with default settings.
    pub fn start() -> Inside {
        let (bell, heard) = UnixStream::pair().expect("a socket pair");
        let (arrivals, waiting) = channel();
        thread::spawn(move || Surroundings::default().serve(&waiting, &heard));
        Inside { arrivals, bell }
    }

    /// A new connection, RESP2.
    pub fn connect(&self) -> Connection {
        let (near, far) = UnixStream::pair().expect("a socket pair");
        self.arrivals.send(far).expect("the engine's thread runs");
        (&self.bell).write_all(b"!").expect("the engine's thread runs");
        Connection::over(near)
    }
}

/// One connection as the engine's surroundings see it.
struct Session {
    stream: UnixStream,
    caller: Option<Caller>,
    decoder: Decoder,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// RESP version pushes are encoded in.
    resp: u8,
    /// Watches the commands of all.
    monitor: bool,
    ended: bool,
}

/// Everything the engine asks for, as plain data.
#[derive(Default)]
struct Surroundings {
    sessions: Vec<Session>,
    settings: Settings,
    /// The session whose command runs, and pushes to itself: they go after its reply.
    running: usize,
    own: Vec<u8>,
}

impl Surroundings {
    fn serve(mut self, arrivals: &Receiver<UnixStream>, bell: &UnixStream) {
        self.settings.start("enable-debug-command", &[b"yes"]).expect("a known setting");
        let mut engine = Engine::new([1, 2], self.settings.engine());
        while self.wait(bell) {
            for stream in arrivals.try_iter() {
                self.admit(stream);
            }
            for at in 0..self.sessions.len() {
                self.read(at);
                self.turn(&mut engine, at);
            }
            self.running = usize::MAX;
            while engine.expire_some(now(), &mut self, 512) {}
            self.send();
        }
    }

    /// Waits for anything to read or to send, or for the next look at expired keys; false once the test has let go.
    fn wait(&self, bell: &UnixStream) -> bool {
        let events = |session: &Session| match session.outbox.is_empty() {
            true => PollFlags::POLLIN,
            false => PollFlags::POLLIN | PollFlags::POLLOUT,
        };
        let open = self.sessions.iter().filter(|session| !session.ended);
        let mut wanted: Vec<PollFd<'_>> = open.map(|one| PollFd::new(one.stream.as_fd(), events(one))).collect();
        wanted.push(PollFd::new(bell.as_fd(), PollFlags::POLLIN));
        poll(&mut wanted, PollTimeout::from(EXPIRE_EVERY_MS)).expect("poll");
        let rang = wanted.last().and_then(PollFd::revents).is_some_and(|events| !events.is_empty());
        !rang || matches!({ bell }.read(&mut [0; 64]), Ok(1..))
    }

    fn admit(&mut self, stream: UnixStream) {
        stream.set_nonblocking(true).expect("non-blocking");
        let at = self.sessions.len();
        let mut caller = Caller::new(ClientId(at as u64 + 1), SubscriberId(at as u32));
        caller.local = true;
        self.sessions.push(Session {
            stream,
            caller: Some(caller),
            decoder: Decoder::default(),
            inbox: Vec::new(),
            outbox: Vec::new(),
            resp: 2,
            monitor: false,
            ended: false,
        });
    }

    fn read(&mut self, at: usize) {
        let session = &mut self.sessions[at];
        let mut bytes = [0; 16 * 1024];
        while !session.ended {
            match session.stream.read(&mut bytes) {
                Ok(0) => session.ended = true,
                Ok(count) => session.inbox.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => session.ended = true,
            }
        }
    }

    /// Executes all that is complete, one request at a time.
    fn turn(&mut self, engine: &mut Engine, at: usize) {
        self.running = at;
        let session = &mut self.sessions[at];
        let Some(mut caller) = session.caller.take() else { return };
        let mut decoder = std::mem::take(&mut session.decoder);
        let inbox = std::mem::take(&mut session.inbox);
        let mut from = 0;
        while !caller.closing && !self.sessions[at].ended {
            let mut spans = Vec::new();
            match decoder.decode(&inbox, from, &Limits::default(), &mut spans) {
                Ok(Decoded::Request { end, .. }) => {
                    self.run(engine, &mut caller, Args::new(&inbox, &spans));
                    from = end;
                }
                Ok(Decoded::Inline { end, args }) => {
                    self.run(engine, &mut caller, args.as_args());
                    from = end;
                }
                Ok(Decoded::Incomplete { start }) => {
                    from = start;
                    break;
                }
                Err(broken) => {
                    protocol_error(broken, &mut self.sessions[at].outbox);
                    caller.closing = true;
                }
            }
        }
        let session = &mut self.sessions[at];
        session.inbox = inbox[from..].to_vec();
        session.decoder = decoder;
        if session.ended || caller.closing {
            engine.disconnect(&mut caller);
            session.inbox.clear();
            // Its last replies are still sent, then the stream is shut.
        } else {
            session.caller = Some(caller);
        }
    }

    fn run(&mut self, engine: &mut Engine, caller: &mut Caller, args: Args<'_>) {
        let now = now();
        let mut replies = Vec::new();
        self.sessions[self.running].resp = caller.resp;
        let request = Request::resolve(args);
        let began = Instant::now();
        let Handled { executed, reply } = engine.handle(caller, &request, now, self);
        let silent = caller.replies.is_silent();
        let confirms = matches!(reply, Reply::Confirmations(_));
        encode(&reply, caller.resp, &mut replies);
        if matches!(reply, Reply::Pending) {
            drop(reply);
            while caller.work.is_some() {
                if let Some((_, _, reply)) = engine.go_on(caller, now, self) {
                    encode(&reply, caller.resp, &mut replies);
                }
            }
        } else if matches!(reply, Reply::Exec(_)) {
            drop(reply);
            loop {
                let began = Instant::now();
                let Some((spec, args, reply)) = engine.exec_next(caller, now, self) else { break };
                encode(&reply, caller.resp, &mut replies);
                drop(reply);
                engine.took(caller, &took(spec, args.as_args(), began), now, self);
            }
        } else {
            drop(reply);
        }
        if let (Executed::Ran, Some(spec)) = (executed, request.counted()) {
            engine.took(caller, &took(spec, args, began), now, self);
        }
        if silent && !confirms {
            replies.clear();
        }
        let session = &mut self.sessions[self.running];
        session.resp = caller.resp;
        session.outbox.append(&mut replies);
        session.outbox.append(&mut self.own);
        caller.replies = caller.replies.after_command();
    }

    fn send(&mut self) {
        for session in &mut self.sessions {
            let mut sent = 0;
            while sent < session.outbox.len() {
                match session.stream.write(&session.outbox[sent..]) {
                    Ok(count) => sent += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(_) => sent = session.outbox.len(),
                }
            }
            session.outbox.drain(..sent);
            if session.caller.is_none() && session.outbox.is_empty() {
                let _ = session.stream.shutdown(std::net::Shutdown::Both);
                session.ended = true;
            }
        }
    }
}

fn took<'a>(spec: &'static Spec, args: Args<'a>, began: Instant) -> Took<'a> {
    Took { spec, args, us: began.elapsed().as_micros() as u64 }
}

fn now() -> Now {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock past 1970");
    Now { unix_us: since.as_micros() as u64 }
}

impl Host for Surroundings {
    fn push(&mut self, to: SubscriberId, message: &Push<'_>) -> Taken {
        let at = to.0 as usize;
        let resp = self.sessions[at].resp;
        match at == self.running {
            true => push(&message.kind, resp, &mut self.own),
            false if self.sessions[at].ended => return Taken::Closing,
            false => push(&message.kind, resp, &mut self.sessions[at].outbox),
        }
        Taken::Queued
    }

    fn clients(&self) -> Vec<ClientFacts> {
        Vec::new()
    }

    fn used_bytes(&self) -> u64 {
        0
    }

    fn own_facts(&self) -> ClientFacts {
        ClientFacts::default()
    }

    fn kill(&mut self, _: &mut dyn FnMut(&ClientFacts) -> bool) -> usize {
        0
    }

    fn set_push_rules(&mut self, _: PushRules) {}

    fn make_ring(&mut self, _: u64, _: bool) -> Result<MadeRing, RingRefusal> {
        Err(RingRefusal::NotUnix)
    }

    fn facts(&self) -> Facts {
        Facts::default()
    }

    fn settings(&self, wanted: &mut dyn FnMut(&str) -> bool) -> Vec<(&'static str, String)> {
        self.settings.get(wanted)
    }

    fn set(&mut self, changes: &[(&[u8], &[u8])]) -> Result<EngineSettings, CommandError> {
        self.settings.set(changes)?;
        Ok(self.settings.engine())
    }

    fn command_stats(&self) -> Vec<(&'static Spec, CommandStats)> {
        Vec::new()
    }

    fn error_stats(&self) -> Vec<(String, u64)> {
        Vec::new()
    }

    fn duration_steps(&self, _: &mut dyn FnMut(&'static Spec) -> bool) -> Vec<(&'static Spec, Vec<(u64, u64)>)> {
        Vec::new()
    }

    fn duration_percentiles(&self, _: &[f64]) -> Vec<(&'static Spec, Vec<u64>)> {
        Vec::new()
    }

    fn has_monitors(&self) -> bool {
        self.sessions.iter().any(|session| session.monitor)
    }

    fn set_monitor(&mut self, on: bool) {
        self.sessions[self.running].monitor = on;
    }

    fn show_command(&mut self, db: u16, words: &[u8]) {
        let now_us = now().unix_us;
        let head = format!("+{}.{:06} [{db} inside] ", now_us / 1_000_000, now_us % 1_000_000);
        let line = [head.as_bytes(), words, b"\r\n"].concat();
        for (at, session) in self.sessions.iter_mut().enumerate().filter(|(_, session)| session.monitor) {
            let outbox = if at == self.running { &mut self.own } else { &mut session.outbox };
            outbox.extend_from_slice(&line);
        }
    }

    fn allocator_report(&self) -> String {
        String::new()
    }

    fn ask(&mut self, request: ProcessRequest) -> Result<(), CommandError> {
        match request {
            ProcessRequest::Sleep { us } => thread::sleep(std::time::Duration::from_micros(us)),
            ProcessRequest::RewriteConfig => return Err(CommandError::NoConfigFile),
            ProcessRequest::PurgeMemory | ProcessRequest::ResetStats => {}
            other => panic!("no transcript that runs inside asks for {other:?}"),
        }
        Ok(())
    }
}
