# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_goblin_global_optspecs
    string join \n help V/version
end

function __fish_goblin_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_goblin_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_goblin_using_subcommand
    set -l cmd (__fish_goblin_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c goblin -n "__fish_goblin_needs_command" -l help -d 'Print help'
complete -c goblin -n "__fish_goblin_needs_command" -s V -l version -d 'Print version'
complete -c goblin -n "__fish_goblin_needs_command" -f -a "serve" -d 'Run the server'
complete -c goblin -n "__fish_goblin_needs_command" -f -a "cli" -d 'Send commands to a server'
complete -c goblin -n "__fish_goblin_needs_command" -f -a "sub" -d 'Print the messages of channels as they come'
complete -c goblin -n "__fish_goblin_needs_command" -f -a "pub" -d 'Publish messages to channels'
complete -c goblin -n "__fish_goblin_needs_command" -f -a "bench" -d 'Measure goblin and other engines side by side'
complete -c goblin -n "__fish_goblin_needs_command" -f -a "help" -d 'Explain a subcommand, a server command (SADD), a group of them (@set) or a setting'
complete -c goblin -n "__fish_goblin_needs_command" -f -a "completions" -d 'Print what a shell needs to complete goblin\'s command line'
complete -c goblin -n "__fish_goblin_needs_command" -f -a "man" -d 'Print a manual page, or write all of them'
complete -c goblin -n "__fish_goblin_needs_command" -f -a "sbe-schema" -d 'Print the schema of the binary protocol, as XML of SBE 1.0'
complete -c goblin -n "__fish_goblin_needs_command" -f -a "sbe-client" -d 'Print a small client of the binary protocol in another language'
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l bind -d 'Addresses to listen on, repeated or separated by commas [default: 127.0.0.1 and ::1]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l port -d 'TCP port; 0 means no TCP [default: 6379]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l unixsocket -d 'Path of the Unix socket [default: $XDG_RUNTIME_DIR/goblin/PORT.sock or /tmp/goblin-UID/PORT.sock]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l unixsocketperm -d 'Mode of the Unix socket [default: 700]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l ring -d 'Ring in shared memory to serve, such as /dev/shm/goblin:64kb; may be repeated, the first one is looked at first' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l ring-dir -d 'Folder for the files of rings on demand, which clients ask for that cannot receive descriptors [default: none]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l ring-perm -d 'Mode of the rings\' files [default: 600]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l wait -d 'How to wait for work [default: adaptive, which is block where only one processor may be used]' -r -f -a "spin\t''
adaptive\t''
block\t''"
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l cpu -d 'Processor the engine thread runs on [default: any]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l databases -d 'Number of databases [default: 16]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l maxclients -d 'Most connections at a time [default: 10000]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l timeout -d 'Seconds until an idle connection is closed; 0 means never [default: 0]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l tcp-keepalive -d 'Seconds between probes of a silent peer; 0 means none [default: 300]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l tcp-backlog -d 'Connections the kernel holds until they are accepted [default: 511]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l requirepass -d 'Password clients must give; others on this machine can see it here, a file or GOBLIN_REQUIREPASS is better' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l requirepass-file -d 'File whose first line is the password' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l protected-mode -d 'Refuse other machines while there is no password [default: yes]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l enable-debug-command -d 'Who may use DEBUG: no, yes, or local for connections from this machine [default: no]' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l set -d 'Any other setting (see goblin help config); may be repeated' -r
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l config -d 'Settings from a file: TOML with the names of the flags, or a redis.conf; flags win over it' -r -F
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l no-unixsocket -d 'Do not listen on a Unix socket'
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l sbe -d 'Take SBE clients over TCP too, not only on the Unix socket'
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l config-lenient -d 'Note what goblin cannot follow in the file instead of refusing to start'
complete -c goblin -n "__fish_goblin_using_subcommand serve" -l help -d 'Print help'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -s X -d 'Read each argument that is TAG from standard input' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -s r -d 'Send the command COUNT times, -1 for no end; with --stat and --latency, end after so many intervals' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -s i -d 'Pause between repetitions [default: 0]; interval of --stat and --latency [default: 1]' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l pipe-timeout -d 'Give up --pipe when nothing was answered for so long, with status 5; 0 for never' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l color -d 'Colours of the prompt, of what is typed there, and of errors' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Whatever reads them'
never\t'Nowhere'"
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l command -d 'Show this command only, in any case: SET, CLIENT (each of its subcommands), "CLIENT KILL"; may be repeated' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l key -d 'Show commands only that have a key like this, with * ? [] as in KEYS; may be repeated' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l client -d 'Show this client only: its address as MONITOR tells it, its host, or a glob (10.*, unix:*); may be repeated' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l db -d 'Show commands only that were sent to this database; may be repeated' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l count -d 'End after N lines that were shown' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -s h -d 'Host [default: 127.0.0.1]' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -s p -d 'TCP port [default: 6379]; with --ring alone, that of the server whose socket is looked for' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -s s -d 'Unix socket' -r -F
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l ring -d 'By ring in shared memory: one that is asked for over the Unix socket, or with =PATH one that the server serves' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -s n -d 'Database [default: 0]' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -s u -l url -d 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l user -d 'User [default: the server\'s default user]' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -s a -d 'Password; others on this machine can see it here' -r
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l protocol -d 'Dialect [default: sbe by ring, else resp3, or resp2 where the server knows no other]' -r -f -a "resp2\t''
resp3\t''
sbe\t''"
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l raw -d 'Print replies as bare bytes, an item a line [default in a pipe]'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l no-raw -d 'Print replies with types, numbers and quotes [default on a terminal]'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l json -d 'Print replies as JSON, one a line; what is no UTF-8 is {"b64": "..."}, an error {"error": "..."}'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l csv -d 'Print replies as values between commas, one a line'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -s x -d 'Read the last argument from standard input, to its end and with its line ends'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l trim -d 'Without the line end at its end, with -x and -X'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l keep-going -d 'Go on with a script after an error; the status is still 1, or 2 when lines were not understood'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l pipe -d 'Send the commands on standard input without waiting for replies, and tell which lines had errors'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l latency -d 'Measure round trips of PING and print percentiles for each interval, and of all at the end or at Ctrl-C'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l stat -d 'Print a line of INFO\'s figures for each interval'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l yes -d 'Ask no questions before what destroys or holds up; without a terminal none are asked'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l no-history -d 'Neither read nor write the lines typed before'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l askpass -d 'Ask for the password on the terminal; a script sets GOBLIN_PASSWORD (or REDISCLI_AUTH) instead'
complete -c goblin -n "__fish_goblin_using_subcommand cli" -l help -d 'Print help'
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l delimiter -d 'What follows each message; \\n, \\r, \\t, \\0, \\\\ and \\xHH stand for bytes [default: a line end]' -r
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l count -d 'End after N messages' -r
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l timeout -d 'End after so long, with status 5 when nothing came, or less than --count' -r
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l ready-fd -d 'Write a line to this open descriptor once the subscription is in force' -r
complete -c goblin -n "__fish_goblin_using_subcommand sub" -s h -d 'Host [default: 127.0.0.1]' -r
complete -c goblin -n "__fish_goblin_using_subcommand sub" -s p -d 'TCP port [default: 6379]; with --ring alone, that of the server whose socket is looked for' -r
complete -c goblin -n "__fish_goblin_using_subcommand sub" -s s -d 'Unix socket' -r -F
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l ring -d 'By ring in shared memory: one that is asked for over the Unix socket, or with =PATH one that the server serves' -r
complete -c goblin -n "__fish_goblin_using_subcommand sub" -s n -d 'Database [default: 0]' -r
complete -c goblin -n "__fish_goblin_using_subcommand sub" -s u -l url -d 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]' -r
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l user -d 'User [default: the server\'s default user]' -r
complete -c goblin -n "__fish_goblin_using_subcommand sub" -s a -d 'Password; others on this machine can see it here' -r
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l protocol -d 'Dialect [default: sbe by ring, else resp3, or resp2 where the server knows no other]' -r -f -a "resp2\t''
resp3\t''
sbe\t''"
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l literal -d 'Take all names for channels, glob characters included'
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l pattern -d 'Take all names for patterns'
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l sharded -d 'Subscribe to shard channels (SSUBSCRIBE), which have no patterns'
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l raw -d 'Print the messages\' bytes alone, each followed by the delimiter'
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l json -d 'Print objects with "channel", "message" and perhaps "pattern"; what is no UTF-8 is {"b64": "..."}'
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l hex -d 'Print messages in hexadecimal digits'
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l timestamps -d 'Print when each message was received: UTC, to the microsecond'
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l delta -d 'Print the seconds since the message before'
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l rate -d 'Print to standard error, each second, messages and their bytes per second for each channel'
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l dedup -d 'Print a message once that several of the subscriptions give; without this, once for each, as the server sends it'
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l no-reconnect -d 'End with status 4 when the connection is lost'
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l askpass -d 'Ask for the password on the terminal; a script sets GOBLIN_PASSWORD (or REDISCLI_AUTH) instead'
complete -c goblin -n "__fish_goblin_using_subcommand sub" -l help -d 'Print help'
complete -c goblin -n "__fish_goblin_using_subcommand pub" -l file -d 'Read the message from a file, all of it' -r -F
complete -c goblin -n "__fish_goblin_using_subcommand pub" -l rate -d 'Publish at most so many messages a second' -r
complete -c goblin -n "__fish_goblin_using_subcommand pub" -s h -d 'Host [default: 127.0.0.1]' -r
complete -c goblin -n "__fish_goblin_using_subcommand pub" -s p -d 'TCP port [default: 6379]; with --ring alone, that of the server whose socket is looked for' -r
complete -c goblin -n "__fish_goblin_using_subcommand pub" -s s -d 'Unix socket' -r -F
complete -c goblin -n "__fish_goblin_using_subcommand pub" -l ring -d 'By ring in shared memory: one that is asked for over the Unix socket, or with =PATH one that the server serves' -r
complete -c goblin -n "__fish_goblin_using_subcommand pub" -s n -d 'Database [default: 0]' -r
complete -c goblin -n "__fish_goblin_using_subcommand pub" -s u -l url -d 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]' -r
complete -c goblin -n "__fish_goblin_using_subcommand pub" -l user -d 'User [default: the server\'s default user]' -r
complete -c goblin -n "__fish_goblin_using_subcommand pub" -s a -d 'Password; others on this machine can see it here' -r
complete -c goblin -n "__fish_goblin_using_subcommand pub" -l protocol -d 'Dialect [default: sbe by ring, else resp3, or resp2 where the server knows no other]' -r -f -a "resp2\t''
resp3\t''
sbe\t''"
complete -c goblin -n "__fish_goblin_using_subcommand pub" -l sharded -d 'Publish to shard channels (SPUBLISH)'
complete -c goblin -n "__fish_goblin_using_subcommand pub" -s x -d 'Read the message from standard input, to its end and with its line ends'
complete -c goblin -n "__fish_goblin_using_subcommand pub" -l trim -d 'Leave out the line end that the message read with -x or --file ends with'
complete -c goblin -n "__fish_goblin_using_subcommand pub" -l quiet -d 'Print no numbers'
complete -c goblin -n "__fish_goblin_using_subcommand pub" -l askpass -d 'Ask for the password on the terminal; a script sets GOBLIN_PASSWORD (or REDISCLI_AUTH) instead'
complete -c goblin -n "__fish_goblin_using_subcommand pub" -l help -d 'Print help'
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l engine -d 'Engine to start for each row; may be repeated' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l attach -d 'Engine that runs already, such as NAME=redis://127.0.0.1:6379; may be repeated' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l baseline -d 'Engine that ratios are relative to [default: the first]' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l only -d 'Only rows whose names contain this' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l rounds -d 'Rounds of each row [default: 5, of set 3]' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l samples -d 'Samples of each round [default: each row\'s own number, or what 60 ms allow]' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l depth -d 'Requests that are sent together (ping, kv, mixed; set always has 256)' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l rate -d 'Requests a second, sent at their time whatever the answers do; latency counts from then' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l requests -d 'Requests of each round of ping, kv and mixed [default: what --duration allows]' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l duration -d 'Seconds of each round of ping, kv and mixed [default: 1]' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l warmup -d 'Seconds before that, which count for nothing [default: 0.1]' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l clients -d 'Connections of ping, kv and mixed [default: 1]' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l threads -d 'Threads that read what subscribers get, or among which connections are divided [default: one thread does it all]' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l members -d 'Members of the large sets [default: 1000000]' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l member-size -d 'Bytes of a member, or from least to most as in 8-64 [default: 16]' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l server-cpu -d 'Processor of the servers [default: the first allowed]' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l client-cpu -d 'Processor of the client [default: the second allowed]' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l seed -d 'What random choices are made from [default: 1]' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l csv -d 'CSV instead of tables, or with =FILE written there' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l json -d 'JSON instead of tables, or with =FILE written there' -r
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l hdr -d 'Histograms of all times, in HdrHistogram\'s percentile form' -r -F
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l html -d 'One page with charts that needs no network' -r -F
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l full -d 'Take as many samples as the published reports'
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l int -d 'Members that are decimal integers'
complete -c goblin -n "__fish_goblin_using_subcommand bench" -l help -d 'Print help'
complete -c goblin -n "__fish_goblin_using_subcommand help" -l help -d 'Print help'
complete -c goblin -n "__fish_goblin_using_subcommand completions" -l help -d 'Print help'
complete -c goblin -n "__fish_goblin_using_subcommand man" -l all -d 'Write every page into this folder instead' -r -F
complete -c goblin -n "__fish_goblin_using_subcommand man" -l help -d 'Print help'
complete -c goblin -n "__fish_goblin_using_subcommand sbe-schema" -l help -d 'Print help'
complete -c goblin -n "__fish_goblin_using_subcommand sbe-client" -l help -d 'Print help'
