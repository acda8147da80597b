
use builtin;
use str;

set edit:completion:arg-completer[goblin] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'goblin'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'goblin'= {
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand serve 'Run the server'
            cand cli 'Send commands to a server'
            cand sub 'Print the messages of channels as they come'
            cand pub 'Publish messages to channels'
            cand bench 'Measure goblin and other engines side by side'
            cand help 'Explain a subcommand, a server command (SADD), a group of them (@set) or a setting'
            cand completions 'Print what a shell needs to complete goblin''s command line'
            cand man 'Print a manual page, or write all of them'
            cand sbe-schema 'Print the schema of the binary protocol, as XML of SBE 1.0'
            cand sbe-client 'Print a small client of the binary protocol in another language'
        }
        &'goblin;serve'= {
            cand --bind 'Addresses to listen on, repeated or separated by commas [default: 127.0.0.1 and ::1]'
            cand --port 'TCP port; 0 means no TCP [default: 6379]'
            cand --unixsocket 'Path of the Unix socket [default: $XDG_RUNTIME_DIR/goblin/PORT.sock or /tmp/goblin-UID/PORT.sock]'
            cand --unixsocketperm 'Mode of the Unix socket [default: 700]'
            cand --ring 'Ring in shared memory to serve, such as /dev/shm/goblin:64kb; may be repeated, the first one is looked at first'
            cand --ring-dir 'Folder for the files of rings on demand, which clients ask for that cannot receive descriptors [default: none]'
            cand --ring-perm 'Mode of the rings'' files [default: 600]'
            cand --wait 'How to wait for work [default: adaptive, which is block where only one processor may be used]'
            cand --cpu 'Processor the engine thread runs on [default: any]'
            cand --databases 'Number of databases [default: 16]'
            cand --maxclients 'Most connections at a time [default: 10000]'
            cand --timeout 'Seconds until an idle connection is closed; 0 means never [default: 0]'
            cand --tcp-keepalive 'Seconds between probes of a silent peer; 0 means none [default: 300]'
            cand --tcp-backlog 'Connections the kernel holds until they are accepted [default: 511]'
            cand --requirepass 'Password clients must give; others on this machine can see it here, a file or GOBLIN_REQUIREPASS is better'
            cand --requirepass-file 'File whose first line is the password'
            cand --protected-mode 'Refuse other machines while there is no password [default: yes]'
            cand --enable-debug-command 'Who may use DEBUG: no, yes, or local for connections from this machine [default: no]'
            cand --set 'Any other setting (see goblin help config); may be repeated'
            cand --config 'Settings from a file: TOML with the names of the flags, or a redis.conf; flags win over it'
            cand --no-unixsocket 'Do not listen on a Unix socket'
            cand --sbe 'Take SBE clients over TCP too, not only on the Unix socket'
            cand --config-lenient 'Note what goblin cannot follow in the file instead of refusing to start'
            cand --help 'Print help'
        }
        &'goblin;cli'= {
            cand -X 'Read each argument that is TAG from standard input'
            cand -r 'Send the command COUNT times, -1 for no end; with --stat and --latency, end after so many intervals'
            cand -i 'Pause between repetitions [default: 0]; interval of --stat and --latency [default: 1]'
            cand --pipe-timeout 'Give up --pipe when nothing was answered for so long, with status 5; 0 for never'
            cand --color 'Colours of the prompt, of what is typed there, and of errors'
            cand --command 'Show this command only, in any case: SET, CLIENT (each of its subcommands), "CLIENT KILL"; may be repeated'
            cand --key 'Show commands only that have a key like this, with * ? [] as in KEYS; may be repeated'
            cand --client 'Show this client only: its address as MONITOR tells it, its host, or a glob (10.*, unix:*); may be repeated'
            cand --db 'Show commands only that were sent to this database; may be repeated'
            cand --count 'End after N lines that were shown'
            cand -h 'Host [default: 127.0.0.1]'
            cand -p 'TCP port [default: 6379]; with --ring alone, that of the server whose socket is looked for'
            cand -s 'Unix socket'
            cand --ring 'By ring in shared memory: one that is asked for over the Unix socket, or with =PATH one that the server serves'
            cand -n 'Database [default: 0]'
            cand -u 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]'
            cand --url 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]'
            cand --user 'User [default: the server''s default user]'
            cand -a 'Password; others on this machine can see it here'
            cand --protocol 'Dialect [default: sbe by ring, else resp3, or resp2 where the server knows no other]'
            cand --raw 'Print replies as bare bytes, an item a line [default in a pipe]'
            cand --no-raw 'Print replies with types, numbers and quotes [default on a terminal]'
            cand --json 'Print replies as JSON, one a line; what is no UTF-8 is {"b64": "..."}, an error {"error": "..."}'
            cand --csv 'Print replies as values between commas, one a line'
            cand -x 'Read the last argument from standard input, to its end and with its line ends'
            cand --trim 'Without the line end at its end, with -x and -X'
            cand --keep-going 'Go on with a script after an error; the status is still 1, or 2 when lines were not understood'
            cand --pipe 'Send the commands on standard input without waiting for replies, and tell which lines had errors'
            cand --latency 'Measure round trips of PING and print percentiles for each interval, and of all at the end or at Ctrl-C'
            cand --stat 'Print a line of INFO''s figures for each interval'
            cand --yes 'Ask no questions before what destroys or holds up; without a terminal none are asked'
            cand --no-history 'Neither read nor write the lines typed before'
            cand --askpass 'Ask for the password on the terminal; a script sets GOBLIN_PASSWORD (or REDISCLI_AUTH) instead'
            cand --help 'Print help'
        }
        &'goblin;sub'= {
            cand --delimiter 'What follows each message; \n, \r, \t, \0, \\ and \xHH stand for bytes [default: a line end]'
            cand --count 'End after N messages'
            cand --timeout 'End after so long, with status 5 when nothing came, or less than --count'
            cand --ready-fd 'Write a line to this open descriptor once the subscription is in force'
            cand -h 'Host [default: 127.0.0.1]'
            cand -p 'TCP port [default: 6379]; with --ring alone, that of the server whose socket is looked for'
            cand -s 'Unix socket'
            cand --ring 'By ring in shared memory: one that is asked for over the Unix socket, or with =PATH one that the server serves'
            cand -n 'Database [default: 0]'
            cand -u 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]'
            cand --url 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]'
            cand --user 'User [default: the server''s default user]'
            cand -a 'Password; others on this machine can see it here'
            cand --protocol 'Dialect [default: sbe by ring, else resp3, or resp2 where the server knows no other]'
            cand --literal 'Take all names for channels, glob characters included'
            cand --pattern 'Take all names for patterns'
            cand --sharded 'Subscribe to shard channels (SSUBSCRIBE), which have no patterns'
            cand --raw 'Print the messages'' bytes alone, each followed by the delimiter'
            cand --json 'Print objects with "channel", "message" and perhaps "pattern"; what is no UTF-8 is {"b64": "..."}'
            cand --hex 'Print messages in hexadecimal digits'
            cand --timestamps 'Print when each message was received: UTC, to the microsecond'
            cand --delta 'Print the seconds since the message before'
            cand --rate 'Print to standard error, each second, messages and their bytes per second for each channel'
            cand --dedup 'Print a message once that several of the subscriptions give; without this, once for each, as the server sends it'
            cand --no-reconnect 'End with status 4 when the connection is lost'
            cand --askpass 'Ask for the password on the terminal; a script sets GOBLIN_PASSWORD (or REDISCLI_AUTH) instead'
            cand --help 'Print help'
        }
        &'goblin;pub'= {
            cand --file 'Read the message from a file, all of it'
            cand --rate 'Publish at most so many messages a second'
            cand -h 'Host [default: 127.0.0.1]'
            cand -p 'TCP port [default: 6379]; with --ring alone, that of the server whose socket is looked for'
            cand -s 'Unix socket'
            cand --ring 'By ring in shared memory: one that is asked for over the Unix socket, or with =PATH one that the server serves'
            cand -n 'Database [default: 0]'
            cand -u 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]'
            cand --url 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]'
            cand --user 'User [default: the server''s default user]'
            cand -a 'Password; others on this machine can see it here'
            cand --protocol 'Dialect [default: sbe by ring, else resp3, or resp2 where the server knows no other]'
            cand --sharded 'Publish to shard channels (SPUBLISH)'
            cand -x 'Read the message from standard input, to its end and with its line ends'
            cand --trim 'Leave out the line end that the message read with -x or --file ends with'
            cand --quiet 'Print no numbers'
            cand --askpass 'Ask for the password on the terminal; a script sets GOBLIN_PASSWORD (or REDISCLI_AUTH) instead'
            cand --help 'Print help'
        }
        &'goblin;bench'= {
            cand --engine 'Engine to start for each row; may be repeated'
            cand --attach 'Engine that runs already, such as NAME=redis://127.0.0.1:6379; may be repeated'
            cand --baseline 'Engine that ratios are relative to [default: the first]'
            cand --only 'Only rows whose names contain this'
            cand --rounds 'Rounds of each row [default: 5, of set 3]'
            cand --samples 'Samples of each round [default: each row''s own number, or what 60 ms allow]'
            cand --depth 'Requests that are sent together (ping, kv, mixed; set always has 256)'
            cand --rate 'Requests a second, sent at their time whatever the answers do; latency counts from then'
            cand --requests 'Requests of each round of ping, kv and mixed [default: what --duration allows]'
            cand --duration 'Seconds of each round of ping, kv and mixed [default: 1]'
            cand --warmup 'Seconds before that, which count for nothing [default: 0.1]'
            cand --clients 'Connections of ping, kv and mixed [default: 1]'
            cand --threads 'Threads that read what subscribers get, or among which connections are divided [default: one thread does it all]'
            cand --members 'Members of the large sets [default: 1000000]'
            cand --member-size 'Bytes of a member, or from least to most as in 8-64 [default: 16]'
            cand --server-cpu 'Processor of the servers [default: the first allowed]'
            cand --client-cpu 'Processor of the client [default: the second allowed]'
            cand --seed 'What random choices are made from [default: 1]'
            cand --csv 'CSV instead of tables, or with =FILE written there'
            cand --json 'JSON instead of tables, or with =FILE written there'
            cand --hdr 'Histograms of all times, in HdrHistogram''s percentile form'
            cand --html 'One page with charts that needs no network'
            cand --full 'Take as many samples as the published reports'
            cand --int 'Members that are decimal integers'
            cand --help 'Print help'
        }
        &'goblin;help'= {
            cand --help 'Print help'
        }
        &'goblin;completions'= {
            cand --help 'Print help'
        }
        &'goblin;man'= {
            cand --all 'Write every page into this folder instead'
            cand --help 'Print help'
        }
        &'goblin;sbe-schema'= {
            cand --help 'Print help'
        }
        &'goblin;sbe-client'= {
            cand --help 'Print help'
        }
    ]
    $completions[$command]
}
