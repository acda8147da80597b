
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'goblin' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'goblin'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'goblin' {
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Run the server')
            [CompletionResult]::new('cli', 'cli', [CompletionResultType]::ParameterValue, 'Send commands to a server')
            [CompletionResult]::new('sub', 'sub', [CompletionResultType]::ParameterValue, 'Print the messages of channels as they come')
            [CompletionResult]::new('pub', 'pub', [CompletionResultType]::ParameterValue, 'Publish messages to channels')
            [CompletionResult]::new('bench', 'bench', [CompletionResultType]::ParameterValue, 'Measure goblin and other engines side by side')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Explain a subcommand, a server command (SADD), a group of them (@set) or a setting')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print what a shell needs to complete goblin''s command line')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print a manual page, or write all of them')
            [CompletionResult]::new('sbe-schema', 'sbe-schema', [CompletionResultType]::ParameterValue, 'Print the schema of the binary protocol, as XML of SBE 1.0')
            [CompletionResult]::new('sbe-client', 'sbe-client', [CompletionResultType]::ParameterValue, 'Print a small client of the binary protocol in another language')
            break
        }
        'goblin;serve' {
            [CompletionResult]::new('--bind', '--bind', [CompletionResultType]::ParameterName, 'Addresses to listen on, repeated or separated by commas [default: 127.0.0.1 and ::1]')
            [CompletionResult]::new('--port', '--port', [CompletionResultType]::ParameterName, 'TCP port; 0 means no TCP [default: 6379]')
            [CompletionResult]::new('--unixsocket', '--unixsocket', [CompletionResultType]::ParameterName, 'Path of the Unix socket [default: $XDG_RUNTIME_DIR/goblin/PORT.sock or /tmp/goblin-UID/PORT.sock]')
            [CompletionResult]::new('--unixsocketperm', '--unixsocketperm', [CompletionResultType]::ParameterName, 'Mode of the Unix socket [default: 700]')
            [CompletionResult]::new('--ring', '--ring', [CompletionResultType]::ParameterName, 'Ring in shared memory to serve, such as /dev/shm/goblin:64kb; may be repeated, the first one is looked at first')
            [CompletionResult]::new('--ring-dir', '--ring-dir', [CompletionResultType]::ParameterName, 'Folder for the files of rings on demand, which clients ask for that cannot receive descriptors [default: none]')
            [CompletionResult]::new('--ring-perm', '--ring-perm', [CompletionResultType]::ParameterName, 'Mode of the rings'' files [default: 600]')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'How to wait for work [default: adaptive, which is block where only one processor may be used]')
            [CompletionResult]::new('--cpu', '--cpu', [CompletionResultType]::ParameterName, 'Processor the engine thread runs on [default: any]')
            [CompletionResult]::new('--databases', '--databases', [CompletionResultType]::ParameterName, 'Number of databases [default: 16]')
            [CompletionResult]::new('--maxclients', '--maxclients', [CompletionResultType]::ParameterName, 'Most connections at a time [default: 10000]')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Seconds until an idle connection is closed; 0 means never [default: 0]')
            [CompletionResult]::new('--tcp-keepalive', '--tcp-keepalive', [CompletionResultType]::ParameterName, 'Seconds between probes of a silent peer; 0 means none [default: 300]')
            [CompletionResult]::new('--tcp-backlog', '--tcp-backlog', [CompletionResultType]::ParameterName, 'Connections the kernel holds until they are accepted [default: 511]')
            [CompletionResult]::new('--requirepass', '--requirepass', [CompletionResultType]::ParameterName, 'Password clients must give; others on this machine can see it here, a file or GOBLIN_REQUIREPASS is better')
            [CompletionResult]::new('--requirepass-file', '--requirepass-file', [CompletionResultType]::ParameterName, 'File whose first line is the password')
            [CompletionResult]::new('--protected-mode', '--protected-mode', [CompletionResultType]::ParameterName, 'Refuse other machines while there is no password [default: yes]')
            [CompletionResult]::new('--enable-debug-command', '--enable-debug-command', [CompletionResultType]::ParameterName, 'Who may use DEBUG: no, yes, or local for connections from this machine [default: no]')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Any other setting (see goblin help config); may be repeated')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Settings from a file: TOML with the names of the flags, or a redis.conf; flags win over it')
            [CompletionResult]::new('--no-unixsocket', '--no-unixsocket', [CompletionResultType]::ParameterName, 'Do not listen on a Unix socket')
            [CompletionResult]::new('--sbe', '--sbe', [CompletionResultType]::ParameterName, 'Take SBE clients over TCP too, not only on the Unix socket')
            [CompletionResult]::new('--config-lenient', '--config-lenient', [CompletionResultType]::ParameterName, 'Note what goblin cannot follow in the file instead of refusing to start')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'goblin;cli' {
            [CompletionResult]::new('-X', '-X ', [CompletionResultType]::ParameterName, 'Read each argument that is TAG from standard input')
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Send the command COUNT times, -1 for no end; with --stat and --latency, end after so many intervals')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Pause between repetitions [default: 0]; interval of --stat and --latency [default: 1]')
            [CompletionResult]::new('--pipe-timeout', '--pipe-timeout', [CompletionResultType]::ParameterName, 'Give up --pipe when nothing was answered for so long, with status 5; 0 for never')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colours of the prompt, of what is typed there, and of errors')
            [CompletionResult]::new('--command', '--command', [CompletionResultType]::ParameterName, 'Show this command only, in any case: SET, CLIENT (each of its subcommands), "CLIENT KILL"; may be repeated')
            [CompletionResult]::new('--key', '--key', [CompletionResultType]::ParameterName, 'Show commands only that have a key like this, with * ? [] as in KEYS; may be repeated')
            [CompletionResult]::new('--client', '--client', [CompletionResultType]::ParameterName, 'Show this client only: its address as MONITOR tells it, its host, or a glob (10.*, unix:*); may be repeated')
            [CompletionResult]::new('--db', '--db', [CompletionResultType]::ParameterName, 'Show commands only that were sent to this database; may be repeated')
            [CompletionResult]::new('--count', '--count', [CompletionResultType]::ParameterName, 'End after N lines that were shown')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Host [default: 127.0.0.1]')
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'TCP port [default: 6379]; with --ring alone, that of the server whose socket is looked for')
            [CompletionResult]::new('-s', '-s', [CompletionResultType]::ParameterName, 'Unix socket')
            [CompletionResult]::new('--ring', '--ring', [CompletionResultType]::ParameterName, 'By ring in shared memory: one that is asked for over the Unix socket, or with =PATH one that the server serves')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Database [default: 0]')
            [CompletionResult]::new('-u', '-u', [CompletionResultType]::ParameterName, 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]')
            [CompletionResult]::new('--url', '--url', [CompletionResultType]::ParameterName, 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]')
            [CompletionResult]::new('--user', '--user', [CompletionResultType]::ParameterName, 'User [default: the server''s default user]')
            [CompletionResult]::new('-a', '-a', [CompletionResultType]::ParameterName, 'Password; others on this machine can see it here')
            [CompletionResult]::new('--protocol', '--protocol', [CompletionResultType]::ParameterName, 'Dialect [default: sbe by ring, else resp3, or resp2 where the server knows no other]')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Print replies as bare bytes, an item a line [default in a pipe]')
            [CompletionResult]::new('--no-raw', '--no-raw', [CompletionResultType]::ParameterName, 'Print replies with types, numbers and quotes [default on a terminal]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print replies as JSON, one a line; what is no UTF-8 is {"b64": "..."}, an error {"error": "..."}')
            [CompletionResult]::new('--csv', '--csv', [CompletionResultType]::ParameterName, 'Print replies as values between commas, one a line')
            [CompletionResult]::new('-x', '-x', [CompletionResultType]::ParameterName, 'Read the last argument from standard input, to its end and with its line ends')
            [CompletionResult]::new('--trim', '--trim', [CompletionResultType]::ParameterName, 'Without the line end at its end, with -x and -X')
            [CompletionResult]::new('--keep-going', '--keep-going', [CompletionResultType]::ParameterName, 'Go on with a script after an error; the status is still 1, or 2 when lines were not understood')
            [CompletionResult]::new('--pipe', '--pipe', [CompletionResultType]::ParameterName, 'Send the commands on standard input without waiting for replies, and tell which lines had errors')
            [CompletionResult]::new('--latency', '--latency', [CompletionResultType]::ParameterName, 'Measure round trips of PING and print percentiles for each interval, and of all at the end or at Ctrl-C')
            [CompletionResult]::new('--stat', '--stat', [CompletionResultType]::ParameterName, 'Print a line of INFO''s figures for each interval')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Ask no questions before what destroys or holds up; without a terminal none are asked')
            [CompletionResult]::new('--no-history', '--no-history', [CompletionResultType]::ParameterName, 'Neither read nor write the lines typed before')
            [CompletionResult]::new('--askpass', '--askpass', [CompletionResultType]::ParameterName, 'Ask for the password on the terminal; a script sets GOBLIN_PASSWORD (or REDISCLI_AUTH) instead')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'goblin;sub' {
            [CompletionResult]::new('--delimiter', '--delimiter', [CompletionResultType]::ParameterName, 'What follows each message; \n, \r, \t, \0, \\ and \xHH stand for bytes [default: a line end]')
            [CompletionResult]::new('--count', '--count', [CompletionResultType]::ParameterName, 'End after N messages')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'End after so long, with status 5 when nothing came, or less than --count')
            [CompletionResult]::new('--ready-fd', '--ready-fd', [CompletionResultType]::ParameterName, 'Write a line to this open descriptor once the subscription is in force')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Host [default: 127.0.0.1]')
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'TCP port [default: 6379]; with --ring alone, that of the server whose socket is looked for')
            [CompletionResult]::new('-s', '-s', [CompletionResultType]::ParameterName, 'Unix socket')
            [CompletionResult]::new('--ring', '--ring', [CompletionResultType]::ParameterName, 'By ring in shared memory: one that is asked for over the Unix socket, or with =PATH one that the server serves')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Database [default: 0]')
            [CompletionResult]::new('-u', '-u', [CompletionResultType]::ParameterName, 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]')
            [CompletionResult]::new('--url', '--url', [CompletionResultType]::ParameterName, 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]')
            [CompletionResult]::new('--user', '--user', [CompletionResultType]::ParameterName, 'User [default: the server''s default user]')
            [CompletionResult]::new('-a', '-a', [CompletionResultType]::ParameterName, 'Password; others on this machine can see it here')
            [CompletionResult]::new('--protocol', '--protocol', [CompletionResultType]::ParameterName, 'Dialect [default: sbe by ring, else resp3, or resp2 where the server knows no other]')
            [CompletionResult]::new('--literal', '--literal', [CompletionResultType]::ParameterName, 'Take all names for channels, glob characters included')
            [CompletionResult]::new('--pattern', '--pattern', [CompletionResultType]::ParameterName, 'Take all names for patterns')
            [CompletionResult]::new('--sharded', '--sharded', [CompletionResultType]::ParameterName, 'Subscribe to shard channels (SSUBSCRIBE), which have no patterns')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Print the messages'' bytes alone, each followed by the delimiter')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print objects with "channel", "message" and perhaps "pattern"; what is no UTF-8 is {"b64": "..."}')
            [CompletionResult]::new('--hex', '--hex', [CompletionResultType]::ParameterName, 'Print messages in hexadecimal digits')
            [CompletionResult]::new('--timestamps', '--timestamps', [CompletionResultType]::ParameterName, 'Print when each message was received: UTC, to the microsecond')
            [CompletionResult]::new('--delta', '--delta', [CompletionResultType]::ParameterName, 'Print the seconds since the message before')
            [CompletionResult]::new('--rate', '--rate', [CompletionResultType]::ParameterName, 'Print to standard error, each second, messages and their bytes per second for each channel')
            [CompletionResult]::new('--dedup', '--dedup', [CompletionResultType]::ParameterName, 'Print a message once that several of the subscriptions give; without this, once for each, as the server sends it')
            [CompletionResult]::new('--no-reconnect', '--no-reconnect', [CompletionResultType]::ParameterName, 'End with status 4 when the connection is lost')
            [CompletionResult]::new('--askpass', '--askpass', [CompletionResultType]::ParameterName, 'Ask for the password on the terminal; a script sets GOBLIN_PASSWORD (or REDISCLI_AUTH) instead')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'goblin;pub' {
            [CompletionResult]::new('--file', '--file', [CompletionResultType]::ParameterName, 'Read the message from a file, all of it')
            [CompletionResult]::new('--rate', '--rate', [CompletionResultType]::ParameterName, 'Publish at most so many messages a second')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Host [default: 127.0.0.1]')
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'TCP port [default: 6379]; with --ring alone, that of the server whose socket is looked for')
            [CompletionResult]::new('-s', '-s', [CompletionResultType]::ParameterName, 'Unix socket')
            [CompletionResult]::new('--ring', '--ring', [CompletionResultType]::ParameterName, 'By ring in shared memory: one that is asked for over the Unix socket, or with =PATH one that the server serves')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Database [default: 0]')
            [CompletionResult]::new('-u', '-u', [CompletionResultType]::ParameterName, 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]')
            [CompletionResult]::new('--url', '--url', [CompletionResultType]::ParameterName, 'Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]')
            [CompletionResult]::new('--user', '--user', [CompletionResultType]::ParameterName, 'User [default: the server''s default user]')
            [CompletionResult]::new('-a', '-a', [CompletionResultType]::ParameterName, 'Password; others on this machine can see it here')
            [CompletionResult]::new('--protocol', '--protocol', [CompletionResultType]::ParameterName, 'Dialect [default: sbe by ring, else resp3, or resp2 where the server knows no other]')
            [CompletionResult]::new('--sharded', '--sharded', [CompletionResultType]::ParameterName, 'Publish to shard channels (SPUBLISH)')
            [CompletionResult]::new('-x', '-x', [CompletionResultType]::ParameterName, 'Read the message from standard input, to its end and with its line ends')
            [CompletionResult]::new('--trim', '--trim', [CompletionResultType]::ParameterName, 'Leave out the line end that the message read with -x or --file ends with')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no numbers')
            [CompletionResult]::new('--askpass', '--askpass', [CompletionResultType]::ParameterName, 'Ask for the password on the terminal; a script sets GOBLIN_PASSWORD (or REDISCLI_AUTH) instead')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'goblin;bench' {
            [CompletionResult]::new('--engine', '--engine', [CompletionResultType]::ParameterName, 'Engine to start for each row; may be repeated')
            [CompletionResult]::new('--attach', '--attach', [CompletionResultType]::ParameterName, 'Engine that runs already, such as NAME=redis://127.0.0.1:6379; may be repeated')
            [CompletionResult]::new('--baseline', '--baseline', [CompletionResultType]::ParameterName, 'Engine that ratios are relative to [default: the first]')
            [CompletionResult]::new('--only', '--only', [CompletionResultType]::ParameterName, 'Only rows whose names contain this')
            [CompletionResult]::new('--rounds', '--rounds', [CompletionResultType]::ParameterName, 'Rounds of each row [default: 5, of set 3]')
            [CompletionResult]::new('--samples', '--samples', [CompletionResultType]::ParameterName, 'Samples of each round [default: each row''s own number, or what 60 ms allow]')
            [CompletionResult]::new('--depth', '--depth', [CompletionResultType]::ParameterName, 'Requests that are sent together (ping, kv, mixed; set always has 256)')
            [CompletionResult]::new('--rate', '--rate', [CompletionResultType]::ParameterName, 'Requests a second, sent at their time whatever the answers do; latency counts from then')
            [CompletionResult]::new('--requests', '--requests', [CompletionResultType]::ParameterName, 'Requests of each round of ping, kv and mixed [default: what --duration allows]')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'Seconds of each round of ping, kv and mixed [default: 1]')
            [CompletionResult]::new('--warmup', '--warmup', [CompletionResultType]::ParameterName, 'Seconds before that, which count for nothing [default: 0.1]')
            [CompletionResult]::new('--clients', '--clients', [CompletionResultType]::ParameterName, 'Connections of ping, kv and mixed [default: 1]')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Threads that read what subscribers get, or among which connections are divided [default: one thread does it all]')
            [CompletionResult]::new('--members', '--members', [CompletionResultType]::ParameterName, 'Members of the large sets [default: 1000000]')
            [CompletionResult]::new('--member-size', '--member-size', [CompletionResultType]::ParameterName, 'Bytes of a member, or from least to most as in 8-64 [default: 16]')
            [CompletionResult]::new('--server-cpu', '--server-cpu', [CompletionResultType]::ParameterName, 'Processor of the servers [default: the first allowed]')
            [CompletionResult]::new('--client-cpu', '--client-cpu', [CompletionResultType]::ParameterName, 'Processor of the client [default: the second allowed]')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'What random choices are made from [default: 1]')
            [CompletionResult]::new('--csv', '--csv', [CompletionResultType]::ParameterName, 'CSV instead of tables, or with =FILE written there')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'JSON instead of tables, or with =FILE written there')
            [CompletionResult]::new('--hdr', '--hdr', [CompletionResultType]::ParameterName, 'Histograms of all times, in HdrHistogram''s percentile form')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'One page with charts that needs no network')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Take as many samples as the published reports')
            [CompletionResult]::new('--int', '--int', [CompletionResultType]::ParameterName, 'Members that are decimal integers')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'goblin;help' {
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'goblin;completions' {
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'goblin;man' {
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Write every page into this folder instead')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'goblin;sbe-schema' {
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'goblin;sbe-client' {
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
