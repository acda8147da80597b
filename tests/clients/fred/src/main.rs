//! What users of the crate `fred` do first, over TCP and a Unix socket: goblin-fred PORT SOCKET.
//!
//! Prints one `ok` line per road and protocol; the first failure ends it with a panic.

use std::collections::{BTreeSet, HashMap};

use fred::clients::SubscriberClient;
use fred::prelude::*;
use fred::types::{Expiration, MessageKind, RespVersion, SetOptions};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, socket] = &arguments[..] else { panic!("usage: goblin-fred PORT SOCKET") };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for (road, url) in [("tcp", format!("redis://127.0.0.1:{port}")), ("unix", format!("redis+unix://{socket}"))] {
        for version in [RespVersion::RESP2, RespVersion::RESP3] {
            let mut config = Config::from_url(&url).expect("a URL");
            config.version = version.clone();
            runtime.block_on(scenarios(config)).unwrap_or_else(|error| panic!("{url}: {error:?}"));
            println!("ok fred {road} {version:?}");
        }
    }
}

async fn scenarios(config: Config) -> Result<(), Error> {
    let client = Builder::from_config(config.clone()).build()?;
    let subscriber = Builder::from_config(config).build_subscriber_client()?;
    client.init().await?;
    subscriber.init().await?;
    client.flushall::<()>(false).await?;
    keys_and_sets(&client).await?;
    transactions(&client).await?;
    messages(&client, &subscriber).await?;
    client.quit().await?;
    subscriber.quit().await
}

async fn keys_and_sets(client: &Client) -> Result<(), Error> {
    assert_eq!(client.ping::<String>(None).await?, "PONG");
    client.set::<(), _, _>("k", "v", None, None, false).await?;
    assert_eq!(client.get::<String, _>("k").await?, "v");
    assert_eq!(client.get::<Option<String>, _>("absent").await?, None);
    assert_eq!(client.set::<Option<String>, _, _>("k", "w", None, Some(SetOptions::NX), false).await?, None);
    client.set::<(), _, _>("k", "w", Some(Expiration::EX(100)), None, false).await?;
    assert!((91..=100).contains(&client.ttl::<i64, _>("k").await?));
    client.mset(HashMap::from([("a", 1), ("b", 2)])).await?;
    assert_eq!(client.mget::<Vec<Option<i64>>, _>(vec!["a", "b", "absent"]).await?, [Some(1), Some(2), None]);
    assert_eq!(client.incr_by::<i64, _>("a", 41).await?, 42);
    assert_eq!(client.del::<i64, _>(vec!["a", "b", "absent"]).await?, 2);

    assert_eq!(client.sadd::<i64, _, _>("s", vec!["a", "b", "c"]).await?, 3);
    assert_eq!(client.sadd::<i64, _, _>("t", vec!["b", "z"]).await?, 2);
    assert_eq!(client.sinter::<BTreeSet<String>, _>(vec!["s", "t"]).await?, BTreeSet::from(["b".to_owned()]));
    assert_eq!(client.sunionstore::<i64, _, _>("u", vec!["s", "t"]).await?, 4);
    assert_eq!(client.smembers::<BTreeSet<String>, _>("u").await?.len(), 4);
    assert!(client.sismember::<bool, _, _>("s", "a").await?);
    let refused = client.sadd::<i64, _, _>("k", "a").await.expect_err("a string");
    assert!(refused.details().starts_with("WRONGTYPE"), "{refused:?}");
    Ok(())
}

async fn transactions(client: &Client) -> Result<(), Error> {
    let transaction = client.multi();
    transaction.set::<(), _, _>("x", 1, None, None, false).await?;
    transaction.incr::<(), _>("x").await?;
    transaction.sadd::<(), _, _>("xs", vec!["a", "b"]).await?;
    assert_eq!(transaction.exec::<(String, i64, i64)>(true).await?, ("OK".to_owned(), 2, 2));
    let pipeline = client.pipeline();
    for _ in 0..200 {
        pipeline.incr::<(), _>("counter").await?;
    }
    assert_eq!(pipeline.all::<Vec<i64>>().await?, (1..=200).collect::<Vec<i64>>());
    Ok(())
}

async fn messages(client: &Client, subscriber: &SubscriberClient) -> Result<(), Error> {
    let mut heard = subscriber.message_rx();
    subscriber.subscribe("news").await?;
    subscriber.psubscribe("n*").await?;
    assert_eq!(client.publish::<i64, _, _>("news", "hello").await?, 2);
    for kind in [MessageKind::Message, MessageKind::PMessage] {
        let message = heard.recv().await.expect("a message");
        assert_eq!(message.kind, kind);
        assert_eq!((&*message.channel, message.value), ("news", "hello".into()));
    }
    for n in 0..200 {
        assert_eq!(client.publish::<i64, _, _>("news", n).await?, 2);
        for _ in 0..2 {
            assert_eq!(heard.recv().await.expect("a message").value.convert::<i64>()?, n);
        }
    }
    subscriber.unsubscribe("news").await?;
    subscriber.punsubscribe("n*").await?;
    assert_eq!(client.publish::<i64, _, _>("news", "nobody").await?, 0);
    Ok(())
}
