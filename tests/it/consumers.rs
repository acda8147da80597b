//! What is built on Redis clients, unmodified: web sockets, channels, caches, sessions; and clients few programs use.
//!
//! Each script does what a user of that library does first, on every road the library knows. `.ci/run` installs them; a
//! library that is absent is reported as ignored.

use std::process::Command;

use crate::clients::{present, script, succeed};
use crate::road::{Server, installed};
use crate::suite::Suite;

/// A library, its script, and what the script says when it is done.
struct Consumer {
    name: &'static str,
    runs: Runs,
    last_line: &'static str,
}

enum Runs {
    /// A script and the package it is about, installed for Node.
    Node(&'static str, &'static str),
    /// The same for Python.
    Python(&'static str, &'static str),
    /// A program built by `.ci/run`.
    Built(&'static str),
}

const CONSUMERS: &[Consumer] = &[
    Consumer {
        name: "socket_io_adapters",
        runs: Runs::Node("socket_io.js", "@socket.io/redis-adapter"),
        last_line: "ok socket.io sharded adapter redis-6 unix",
    },
    Consumer {
        name: "graphql_subscriptions",
        runs: Runs::Node("graphql_subscriptions.js", "graphql-redis-subscriptions"),
        last_line: "ok graphql-redis-subscriptions unix",
    },
    Consumer {
        name: "mqemitter",
        runs: Runs::Node("mqemitter.js", "mqemitter-redis"),
        last_line: "ok mqemitter-redis unix",
    },
    Consumer {
        name: "express_sessions",
        runs: Runs::Node("connect_redis.js", "connect-redis"),
        last_line: "ok connect-redis redis-6 unix",
    },
    Consumer { name: "keyv", runs: Runs::Node("keyv.js", "@keyv/redis"), last_line: "ok @keyv/redis unix" },
    Consumer {
        name: "django_channels",
        runs: Runs::Python("channels_layer.py", "channels_redis"),
        last_line: "ok channels_redis pubsub unix",
    },
    Consumer {
        name: "django_cache",
        runs: Runs::Python("django_cache.py", "django"),
        last_line: "ok django cache unix",
    },
    Consumer {
        name: "python_socketio",
        runs: Runs::Python("python_socketio.py", "socketio"),
        last_line: "ok python-socketio threaded unix",
    },
    Consumer {
        name: "valkey_py",
        runs: Runs::Python("valkey_py.py", "valkey"),
        last_line: "ok valkey-py unix protocol 3",
    },
    Consumer {
        name: "valkey_glide",
        runs: Runs::Python("valkey_glide.py", "glide"),
        last_line: "ok valkey-glide RESP3",
    },
    Consumer { name: "coredis", runs: Runs::Python("coredis_client.py", "coredis"), last_line: "ok coredis unix" },
    Consumer { name: "fred", runs: Runs::Built("fred/target/debug/goblin-fred"), last_line: "ok fred unix RESP3" },
];

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    for consumer in CONSUMERS {
        let needed = match consumer.runs {
            Runs::Node(_, package) => installed("node/node_modules").join(package),
            Runs::Python(_, package) => installed("python").join(package),
            Runs::Built(program) => installed(program),
        };
        suite.plain(module_path!(), consumer.name, present(&needed), || works(consumer));
    }
}

fn works(consumer: &Consumer) {
    let server = Server::start();
    let mut command = match consumer.runs {
        Runs::Node(name, _) => {
            let mut node = Command::new("node");
            node.arg(script(name)).arg(installed("node"));
            node
        }
        Runs::Python(name, _) => {
            let mut python = Command::new("python3");
            python.args(["-W", "ignore"]).arg(script(name));
            python.env("PYTHONPATH", installed("python")).env("PYTHONDONTWRITEBYTECODE", "1");
            python
        }
        Runs::Built(program) => Command::new(installed(program)),
    };
    command.arg(server.port().to_string()).arg(server.socket());
    let said = succeed(command, b"");
    assert_eq!(said.lines().last(), Some(consumer.last_line), "{said}");
}
