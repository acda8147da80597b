//! Why a setting was refused, worded.
//!
//! Invariant: the sentences of refusals that Redis knows too are Redis 8.2.3's, byte for byte.
//! Deliberately unknown here: which settings exist, and where a value came from.

use std::fmt;

use super::CommandError;

/// Why a value of a setting was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingFault {
    /// Neither yes nor no.
    NotBool,
    /// Not a decimal integer in canonical form.
    NotInteger,
    /// Not an octal number.
    NotOctal,
    /// Outside its range, both ends of which are allowed.
    Range {
        /// The smallest value.
        least: i64,
        /// The largest value.
        most: i64,
    },
    /// Below zero where that has no meaning, or past the largest signed integer.
    Negative,
    /// Not a number with an optional unit b, k, kb, m, mb, g or gb.
    NotMemory,
    /// Neither a memory value nor a percentage.
    NotMemoryOrPercent,
    /// More than all of it.
    PercentTooLarge,
    /// None of the words it may be.
    NotOneOf(&'static [&'static str]),
    /// It is decided when the server starts.
    Immutable,
    /// It needs `enable-protected-configs`.
    Protected,
    /// Named twice in one command.
    Duplicate,
    /// More or fewer words than it takes.
    WordCount,
    /// Output buffer limits not in groups of four.
    LimitArguments,
    /// Output buffer limits of a class that does not exist.
    LimitClass,
    /// Output buffer limits that are no numbers.
    LimitNumbers,
    /// Percentiles that are no numbers.
    Percentiles,
    /// Percentiles outside 0 to 100.
    PercentileRange,
    /// Save points that are no pairs of numbers.
    SavePoints,
    /// Not three scores.
    ScoreCount,
    /// Scores outside -2000 to 2000.
    ScoreRange,
    /// SAVE and NOSAVE together.
    SaveAndNosave,
    /// An unbalanced brace or unknown variable.
    ProcessTitle,
    /// An unknown event class.
    EventClass,
    /// A character that host names do not have.
    HostName,
    /// A host name longer than the domain name system allows.
    HostNameLength,
    /// A character that node names may not have.
    NodeName,
    /// A locale this system does not have.
    Locale,
    /// A path where a plain name is wanted; holds the setting's name, then whether it names a folder.
    PathNotName(&'static str, bool),
    /// More addresses than the server listens on.
    TooManyAddresses,
    /// The addresses cannot be listened on.
    Addresses,
    /// The port is taken, or is otherwise not to be had.
    PortTaken,
    /// Other addresses than those the server was started with.
    AddressesFixed,
    /// Another port than the one the server was started with.
    PortFixed,
    /// More clients than the process may have open files; holds how many it could serve.
    TooManyClients(u64),
    /// Not the number of a processor.
    Processor,
    /// A ring that cannot be.
    Ring,
    /// The folder does not exist.
    NoSuchFolder,
    /// It exists and is no folder.
    NotAFolder,
    /// It would promise what the server does not do.
    Promise(Absent),
}

/// What the server does not do, and therefore refuses to be told to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// Snapshots of the data on disk.
    Snapshots,
    /// A log of every write on disk.
    AppendOnlyFile,
    /// Following another server, or being followed.
    Replication,
    /// Redis Cluster.
    Cluster,
    /// Encrypted connections.
    Tls,
    /// Users other than the default one.
    Users,
    /// Detaching from the terminal.
    Daemon,
    /// Talking to a process supervisor.
    Supervision,
    /// A log file or syslog; the log goes to standard error.
    LogFile,
    /// A file with the process id.
    PidFile,
    /// A bound on the memory of all clients together.
    ClientMemoryLimit,
    /// Moving values to give memory back.
    Defragmentation,
    /// Telling the kernel whom to kill first.
    KillScore,
    /// Marking packets.
    SocketMark,
    /// Lists of processors; one can be chosen with `--cpu`.
    ProcessorLists,
}

impl Absent {
    /// What is missing, as the subject of a refusal.
    pub const fn sentence(self) -> &'static str {
        match self {
            Absent::Snapshots => "goblin does not write snapshots",
            Absent::AppendOnlyFile => "goblin has no append-only file",
            Absent::Replication => "goblin does not replicate",
            Absent::Cluster => "goblin has no cluster mode",
            Absent::Tls => "goblin does not speak TLS",
            Absent::Users => "goblin has no users but the default one",
            Absent::Daemon => "goblin stays in the foreground",
            Absent::Supervision => "goblin does not talk to a supervisor",
            Absent::LogFile => "goblin logs to standard error only",
            Absent::PidFile => "goblin writes no pid file",
            Absent::ClientMemoryLimit => "goblin does not limit the memory of all clients together",
            Absent::Defragmentation => "goblin does not defragment by itself",
            Absent::KillScore => "goblin leaves its kill score alone",
            Absent::SocketMark => "goblin does not mark its packets",
            Absent::ProcessorLists => "goblin runs on one processor, chosen with --cpu",
        }
    }
}

impl fmt::Display for SettingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            SettingFault::NotBool => "argument must be 'yes' or 'no'",
            SettingFault::NotInteger => "argument couldn't be parsed into an integer",
            SettingFault::NotOctal => "argument couldn't be parsed as an octal number",
            SettingFault::Negative => "argument must be greater or equal to 0",
            SettingFault::NotMemory => "argument must be a memory value",
            SettingFault::NotMemoryOrPercent => "argument must be a memory or percent value",
            SettingFault::PercentTooLarge => "percentage argument must be less or equal to 100",
            SettingFault::Immutable => "can't set immutable config",
            SettingFault::Protected => "can't set protected config",
            SettingFault::Duplicate => "duplicate parameter",
            SettingFault::WordCount | SettingFault::ScoreCount => "wrong number of arguments",
            SettingFault::LimitArguments => "Wrong number of arguments in buffer limit configuration.",
            SettingFault::LimitClass => "Invalid client class specified in buffer limit configuration.",
            SettingFault::LimitNumbers => "Error in hard, soft or soft_seconds setting in buffer limit configuration.",
            SettingFault::Percentiles => "Invalid latency-tracking-info-percentiles parameters",
            SettingFault::PercentileRange => {
                "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"
            }
            SettingFault::SavePoints => "Invalid save parameters",
            SettingFault::ScoreRange => "Invalid oom-score-adj-values, elements must be between -2000 and 2000.",
            SettingFault::SaveAndNosave => "shutdown options SAVE and NOSAVE can't be used simultaneously",
            SettingFault::ProcessTitle => "template format is invalid or contains unknown variables",
            SettingFault::EventClass => "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.",
            SettingFault::HostName => "Hostnames may only contain alphanumeric characters, hyphens or dots",
            SettingFault::HostNameLength => "Hostnames must be less than 256 characters",
            SettingFault::NodeName => "Announced human node name contained invalid character",
            SettingFault::Locale => "Invalid locale name",
            SettingFault::TooManyAddresses => "Too many bind addresses specified.",
            SettingFault::Addresses => "Failed to bind to specified addresses.",
            SettingFault::PortTaken => "Unable to listen on this port. Check server logs.",
            SettingFault::AddressesFixed => "goblin takes other addresses only when it starts",
            SettingFault::PortFixed => "Unable to listen on this port: goblin takes another one only when it starts",
            SettingFault::Processor => "argument must be the number of a processor",
            SettingFault::Ring => "argument must be PATH:SIZE, such as /dev/shm/goblin:64kb, of at most 1gb",
            SettingFault::NoSuchFolder => "No such file or directory",
            SettingFault::NotAFolder => "Not a directory",
            SettingFault::Range { least, most } => {
                return write!(f, "argument must be between {least} and {most} inclusive");
            }
            SettingFault::NotOneOf(words) => {
                return write!(f, "argument(s) must be one of the following: {}", words.join(", "));
            }
            SettingFault::PathNotName(name, folder) => {
                let kind = if *folder { "dirname" } else { "filename" };
                return write!(f, "{name} can't be a path, just a {kind}");
            }
            SettingFault::TooManyClients(most) => {
                return write!(
                    f,
                    "The operating system is not able to handle the specified number of clients, try with {most}"
                );
            }
            SettingFault::Promise(absent) => return f.write_str(absent.sentence()),
        };
        f.write_str(text)
    }
}

impl CommandError {
    /// CONFIG SET refused: which setting, by the name it was found under, and why.
    pub fn setting(name: &str, fault: &SettingFault) -> Self {
        let sentence = format!("CONFIG SET failed (possibly related to argument '{name}') - {fault}");
        CommandError::Setting(sentence.into_boxed_str())
    }
}
