//! The list of tests and what each of them needs; what is missing is reported as ignored, with the reason.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use libtest_mimic::{Completion, Failed, Trial};

use crate::road::{Program, Road, Server};
use crate::talk::Talk;

/// What a test may need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// Nothing: any server of this protocol.
    Nothing,
    /// goblin itself: its command line, or an answer where Redis is known to be wrong.
    Goblin,
    /// Something from outside that may be absent, with the sentence that says so.
    Present(Result<(), String>),
}

impl Need {
    /// The reason to leave a test out, if any.
    fn missing(&self) -> Option<String> {
        match self {
            Need::Nothing => None,
            Need::Goblin if Program::under_test() == Program::Goblin => None,
            Need::Goblin => Some("asks for goblin itself".into()),
            Need::Present(Ok(())) => None,
            Need::Present(Err(reason)) => Some(reason.clone()),
        }
    }
}

/// True when absent peers and clients must fail: `GOBLIN_PEERS=required`.
pub fn peers_required() -> bool {
    std::env::var("GOBLIN_PEERS").is_ok_and(|value| value == "required")
}

/// All tests, in the order they were named.
#[derive(Default)]
pub struct Suite {
    trials: Vec<Trial>,
}

impl Suite {
    /// A transcript: once on each road, each time on a server or an engine of its own.
    pub fn on_every_road(&mut self, module: &str, name: &str, need: Need, test: fn(&mut Talk)) {
        self.on_every_road_to_a_server(module, name, need, test);
        for road in Road::INSIDE {
            self.inside(road, module, name, test);
        }
    }

    /// A transcript that needs a process: once on each road to a server, each time on one of its own.
    pub fn on_every_road_to_a_server(&mut self, module: &str, name: &str, need: Need, test: fn(&mut Talk)) {
        for road in Road::TO_SERVERS {
            self.on_road(road, module, name, need.clone(), test);
        }
    }

    /// A transcript about rings, each time to a server of its own that serves some.
    pub fn on_every_ring(&mut self, module: &str, name: &str, need: Need, test: fn(&mut Talk)) {
        for road in Road::TO_SERVERS.into_iter().filter(|road| road.is_ring()) {
            self.on_road(road, module, name, need.clone(), test);
        }
    }

    /// A transcript about RESP's own bytes or words: once on each road that speaks it.
    pub fn on_every_resp_road(&mut self, module: &str, name: &str, need: Need, test: fn(&mut Talk)) {
        self.on_every_resp_road_to_a_server(module, name, need, test);
        for road in Road::INSIDE {
            self.inside(road, module, name, test);
        }
    }

    /// The same for a transcript that needs a process.
    pub fn on_every_resp_road_to_a_server(&mut self, module: &str, name: &str, need: Need, test: fn(&mut Talk)) {
        for road in Road::TO_SERVERS.into_iter().filter(|road| road.resp() > 0) {
            self.on_road(road, module, name, need.clone(), test);
        }
    }

    fn inside(&mut self, road: Road, module: &str, name: &str, test: fn(&mut Talk)) {
        let name = format!("{name}::{}", road.name());
        self.plain(module, &name, Need::Goblin, move || test(&mut Talk::inside(road)));
    }

    fn on_road(&mut self, road: Road, module: &str, name: &str, need: Need, test: fn(&mut Talk)) {
        let name = format!("{name}::{}", road.name());
        // No other server speaks SBE or serves rings.
        let need = if (road.resp() == 0 || road.is_ring()) && need == Need::Nothing { Need::Goblin } else { need };
        self.plain(module, &name, need, move || test(&mut Talk::new(Arc::new(road.start()), road)));
    }

    /// A test that asks for one server with default settings.
    pub fn with_server(&mut self, module: &str, name: &str, need: Need, test: fn(&Server)) {
        self.plain(module, name, need, move || test(&Server::start()));
    }

    /// Any other test.
    pub fn plain(&mut self, module: &str, name: &str, need: Need, test: impl FnOnce() + Send + 'static) {
        let module = module.strip_prefix("it::").unwrap_or(module);
        let name = format!("{module}::{name}");
        let runner = move || match need.missing() {
            None => run(test).map(|()| Completion::Completed),
            Some(reason) if matches!(need, Need::Present(_)) && peers_required() => {
                Err(format!("GOBLIN_PEERS=required, but {reason}").into())
            }
            Some(reason) => Ok(Completion::ignored_with(reason)),
        };
        self.trials.push(Trial::ignorable_test(name, runner));
    }

    /// The tests for the runner.
    pub fn into_trials(self) -> Vec<Trial> {
        self.trials
    }
}

thread_local! {
    /// The last panic of this thread: where and why.
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panic messages for the report instead of printing them in between.
pub fn catch_panic_messages() {
    panic::set_hook(Box::new(|info| LAST_PANIC.with(|last| *last.borrow_mut() = info.to_string())));
}

/// Runs a test and turns its panic into a failure.
fn run(test: impl FnOnce()) -> Result<(), Failed> {
    panic::catch_unwind(AssertUnwindSafe(test)).map_err(|_| LAST_PANIC.with(|last| last.borrow().clone()).into())
}

/// Registers tests by name: `tests!(suite, on_every_road, Need::Nothing; first, second)`.
macro_rules! tests {
    ($suite:expr, $kind:ident, $need:expr; $($name:ident),+ $(,)?) => {
        $( $suite.$kind(module_path!(), stringify!($name), $need, $name); )+
    };
}
pub(crate) use tests;
