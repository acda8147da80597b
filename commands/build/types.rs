//! Writes `src/command/types.rs`: one variant and one struct per command, and the parser from words to struct.
//!
//! Order of errors in every parser: too many words, then positional words from left to right, then the options, then
//! the values whose argument says `late`.

use std::fmt::Write;

use crate::spec::{Argument, Excess, Kind, Spec, camel_case};

const HEADER: &str = "\
// GENERATED from commands/*.toml by commands/build.rs; change a spec, then run: UPDATE=1 cargo build

use super::Args;
use super::options::*;
use super::parse::{Words, bounded, integer};
use super::spec::{CommandId, Spec};
use crate::reply::CommandError;

";

/// The text of the file.
pub fn generate(specs: &[Spec]) -> Result<String, Vec<String>> {
    let leaves: Vec<&Spec> = specs.iter().filter(|spec| !is_pure_container(spec, specs)).collect();
    let mut out = String::from(HEADER);
    out += "/// A request whose words were checked and sorted; it borrows them all.\n#[derive(Debug, Clone, Copy)]\n";
    out += "pub enum Command<'a> {\n";
    for spec in &leaves {
        writeln!(out, "    /// {}: {}", spec.title(), spec.summary).unwrap();
        let name = spec.type_name();
        let body = if spec.arguments.is_empty() { String::new() } else { format!("({name}{})", lifetime(spec)) };
        writeln!(out, "    {name}{body},").unwrap();
    }
    out += "}\n\nimpl<'a> Command<'a> {\n";
    out += "    /// Reads the words of a request whose spec was found and whose arity was checked.\n    ///\n";
    out += "    /// # Errors\n    /// The refusal to answer: options and numbers, not what depends on the keyspace.\n";
    out += "    pub fn parse(spec: &'static Spec, args: Args<'a>) -> Result<Self, CommandError> {\n";
    out += "        Ok(match spec.id {\n";
    for spec in &leaves {
        let constant = spec.constant();
        let name = spec.type_name();
        let body = if spec.arguments.is_empty() { String::new() } else { format!("({name}::parse(args)?)") };
        writeln!(out, "            CommandId::{constant} => Command::{name}{body},").unwrap();
    }
    out += "            _ => return Err(CommandError::WrongArity(spec.name)),\n        })\n    }\n}\n";
    let mut complaints = Vec::new();
    for spec in leaves.iter().filter(|spec| !spec.arguments.is_empty()) {
        match Parser::write(spec) {
            Ok(text) => out += &text,
            Err((argument, what)) => complaints.push(spec.complaint(&format!("{argument:?}"), &what)),
        }
    }
    if complaints.is_empty() { Ok(out) } else { Err(complaints) }
}

fn is_pure_container(spec: &Spec, specs: &[Spec]) -> bool {
    let contains = |other: &Spec| other.container.as_ref() == Some(&spec.name);
    spec.container.is_none() && spec.arity < -1 && specs.iter().any(contains)
}

/// `<'a>` when a field of the struct borrows.
fn lifetime(spec: &Spec) -> &'static str {
    // A rest takes all that comes after it.
    let fields =
        spec.arguments.iter().position(|argument| argument.rest.is_some()).map_or(spec.arguments.len(), |at| at + 1);
    let mut arguments = spec.arguments[..fields].iter();
    let borrows = arguments.any(|argument| match &argument.into {
        Some(into) => into.contains("'a"),
        None => argument.rest.is_some() || borrows(argument),
    });
    if borrows && !only_rest_is_owned(spec) { "<'a>" } else { "" }
}

/// True when what the struct holds is one parsed tail that borrows nothing.
fn only_rest_is_owned(spec: &Spec) -> bool {
    spec.arguments[0].into.as_ref().is_some_and(|into| !into.contains("'a"))
}

fn borrows(argument: &Argument) -> bool {
    let text = matches!(argument.kind, Kind::Key | Kind::String | Kind::Pattern | Kind::Block) && !argument.cursor;
    argument.multiple || text || argument.arguments.iter().any(borrows)
}

/// An argument that complains, and about what.
type Complaint = (String, String);

/// The parts of one struct and its parser while they grow.
struct Parser<'s> {
    spec: &'s Spec,
    name: String,
    fields: String,
    enums: String,
    body: String,
    late: String,
    built: Vec<String>,
}

impl<'s> Parser<'s> {
    fn write(spec: &'s Spec) -> Result<String, Complaint> {
        let mut parser = Parser {
            spec,
            name: spec.type_name(),
            fields: String::new(),
            enums: String::new(),
            body: String::new(),
            late: String::new(),
            built: Vec::new(),
        };
        parser.write_excess();
        parser.write_arguments()?;
        Ok(parser.finish())
    }

    fn finish(self) -> String {
        let Parser { spec, name, fields, enums, body, late, built } = self;
        let lifetime = lifetime(spec);
        let title = spec.title();
        let args = if lifetime.is_empty() { "Args<'_>" } else { "Args<'a>" };
        let skip = if spec.container.is_some() { 2 } else { 1 };
        format!(
            "\n/// {title}: {summary}\n#[derive(Debug, Clone, Copy)]\npub struct {name}{lifetime} {{\n{fields}}}\n{enums}\n\
             impl{lifetime} {name}{lifetime} {{\n    fn parse(args: {args}) -> Result<Self, CommandError> {{\n\
             {body}{late}        Ok({name} {{ {built} }})\n    }}\n}}\n",
            summary = spec.summary,
            built = built.join(", "),
            body = body.replace("@WORDS", &format!("Words::new(args, {skip}, {:?})", spec.full_name())),
        )
    }

    fn write_excess(&mut self) {
        let spec = self.spec;
        let open = |argument: &Argument| argument.multiple || argument.rest.is_some() || is_option(argument);
        let words = spec.arguments.len() + if spec.container.is_some() { 2 } else { 1 };
        if spec.arity < 0 && !spec.arguments.iter().any(open) && spec.excess != Excess::Ignore {
            let error = match spec.excess {
                Excess::Syntax | Excess::Ignore => "CommandError::Syntax".into(),
                Excess::WrongArity => format!("CommandError::WrongArity({:?})", spec.full_name()),
                Excess::BadSubcommand => format!(
                    "CommandError::bad_subcommand({:?}, args.get(1).unwrap_or_default())",
                    spec.container.as_deref().unwrap_or(&spec.name)
                ),
            };
            writeln!(self.body, "        if args.len() > {words} {{\n            return Err({error});\n        }}")
                .unwrap();
        }
        self.body += "        let mut words = @WORDS;\n";
    }

    fn write_arguments(&mut self) -> Result<(), Complaint> {
        let arguments = &self.spec.arguments;
        for (index, argument) in arguments.iter().enumerate() {
            let rest = &arguments[index + 1..];
            if argument.rest.is_some() {
                self.write_rest(argument);
                return Ok(());
            }
            if argument.numkeys {
                continue;
            }
            if is_option(argument) {
                return self.write_options(&arguments[index..]);
            }
            if argument.multiple {
                let counted = index > 0 && arguments[index - 1].numkeys;
                self.write_multiple(argument, counted)?;
                if !counted && !rest.is_empty() {
                    return Err(complaint(argument, "nothing can follow an argument that takes all words"));
                }
            } else {
                let needed = rest.iter().filter(|later| !later.optional).count();
                self.write_positional(argument, needed)?;
            }
        }
        Ok(())
    }

    fn field(&mut self, name: &str, kind: &str, what: &str) {
        let name = field_name(name);
        writeln!(self.fields, "    /// {what}\n    pub {name}: {kind},").unwrap();
        self.built.push(name);
    }

    fn write_rest(&mut self, argument: &Argument) {
        let name = argument.rest.clone().unwrap_or_default();
        match (&argument.parser, &argument.into) {
            (Some(parser), Some(into)) => {
                writeln!(self.body, "        let {name} = {parser}(words.rest())?;").unwrap();
                self.field(&name, into, "What the words from here on say.");
            }
            _ => {
                writeln!(self.body, "        let {name} = words.rest();").unwrap();
                self.field(&name, "Args<'a>", "The words from here on, unread.");
            }
        }
    }

    fn write_multiple(&mut self, argument: &Argument, counted: bool) -> Result<(), Complaint> {
        let name = plural(&argument.name);
        if argument.token.is_some() {
            return Err(complaint(argument, "repeated options need a parser of their own: use `rest`"));
        }
        if counted {
            writeln!(self.body, "        let {name} = words.counted()?;").unwrap();
        } else {
            writeln!(self.body, "        let {name} = words.rest();").unwrap();
        }
        if argument.kind == Kind::Block {
            let width = argument.arguments.len();
            let error = match &argument.error {
                Some(error) => format!("CommandError::{error}"),
                None => format!("CommandError::WrongArity({:?})", self.spec.full_name()),
            };
            let test = format!("!{name}.len().is_multiple_of({width})");
            writeln!(self.body, "        if {test} {{\n            return Err({error});\n        }}").unwrap();
        }
        self.field(&name, "Args<'a>", &format!("{}.", describe(argument)));
        Ok(())
    }

    fn write_positional(&mut self, argument: &Argument, needed_after: usize) -> Result<(), Complaint> {
        let name = field_name(&argument.name);
        let word = match (argument.optional, needed_after) {
            (false, _) => "words.word()?".to_owned(),
            (true, 0) => "words.next()".to_owned(),
            (true, needed) => format!("if words.left() > {needed} {{ words.next() }} else {{ None }}"),
        };
        writeln!(self.body, "        let {name} = {word};").unwrap();
        let kind = self.value_type(argument)?;
        let body = match (self.conversion(argument, "word"), argument.optional) {
            (None, _) => String::new(),
            (Some(conversion), false) => format!("        let {name} = {};\n", replace_word(&conversion, &name)),
            (Some(conversion), true) => format!(
                "        let {name} = match {name} {{\n            Some(word) => Some({conversion}),\n            \
                 None => None,\n        }};\n"
            ),
        };
        if argument.late {
            self.late += &body
        } else {
            self.body += &body
        }
        let kind = if argument.optional { format!("Option<{kind}>") } else { kind };
        self.field(&argument.name, &kind, &format!("{}.", describe(argument)));
        Ok(())
    }

    /// Options in any order until the words end.
    fn write_options(&mut self, options: &[Argument]) -> Result<(), Complaint> {
        let mut arms = Vec::new();
        for option in options {
            if !is_option(option) {
                return Err(complaint(option, "an argument with its place cannot follow options"));
            }
            let name = field_name(&option.name);
            match option.kind {
                Kind::PureToken => {
                    writeln!(self.body, "        let mut {name} = false;").unwrap();
                    arms.push((format!("is(b{:?})", token(option)), format!("{name} = true;")));
                    self.field(&option.name, "bool", &format!("{}.", describe(option)));
                }
                Kind::OneOf => self.write_choice(option, &name, &mut arms)?,
                _ => {
                    writeln!(self.body, "        let mut {name} = None;").unwrap();
                    let conversion = self.conversion(option, "words.value()?").unwrap_or("words.value()?".into());
                    let (taken, converted) =
                        if option.late { ("words.value()?".into(), true) } else { (conversion, false) };
                    arms.push((format!("is(b{:?})", token(option)), format!("{name} = Some({taken});")));
                    if converted && let Some(conversion) = self.conversion(option, "word") {
                        let body = format!(
                            "        let {name} = match {name} {{\n            Some(word) => Some({conversion}),\n            \
                             None => None,\n        }};\n"
                        );
                        self.late += &body;
                    }
                    let kind = format!("Option<{}>", self.value_type(option)?);
                    self.field(&option.name, &kind, &format!("{}.", describe(option)));
                }
            }
        }
        self.body += "        while let Some(word) = words.next() {\n";
        self.body += "            let is = |token: &[u8]| word.eq_ignore_ascii_case(token);\n            ";
        for (condition, action) in arms {
            write!(self.body, "if {condition} {{\n                {action}\n            }} else ").unwrap();
        }
        self.body += "{\n                return Err(CommandError::Syntax);\n            }\n        }\n";
        Ok(())
    }

    /// One of several option words: the same one may come again, another is a conflict. Values are always converted
    /// after the loop, from the branch taken and its word.
    fn write_choice(
        &mut self,
        option: &Argument,
        name: &str,
        arms: &mut Vec<(String, String)>,
    ) -> Result<(), Complaint> {
        let kind = self.write_enum(option)?;
        let valued = option.arguments.iter().any(|branch| branch.kind != Kind::PureToken);
        if valued && !option.late {
            return Err(complaint(option, "a choice between options with values is `late`"));
        }
        writeln!(self.body, "        let mut {name} = None;").unwrap();
        let mut cases = String::new();
        for (index, branch) in option.arguments.iter().enumerate() {
            let variant = format!("{kind}::{}", camel_case(&branch.name));
            let test = format!("is(b{:?})", token(branch));
            if !valued {
                arms.push((
                    format!("{test} && matches!({name}, None | Some({variant}))"),
                    format!("{name} = Some({variant});"),
                ));
                continue;
            }
            let pure = branch.kind == Kind::PureToken;
            let taken = if pure { "&b\"\"[..]" } else { "words.value()?" };
            let free = format!("matches!({name}, None | Some(({index}, _)))");
            arms.push((format!("{test} && {free}"), format!("{name} = Some(({index}, {taken}));")));
            let built = match (pure, self.conversion(branch, "word")) {
                (true, _) => variant,
                (false, Some(conversion)) => format!("{variant}({conversion})"),
                (false, None) => format!("{variant}(word)"),
            };
            let pattern = if index + 1 == option.arguments.len() { "_".to_owned() } else { index.to_string() };
            let word = if built.contains("word") { "word" } else { "_" };
            writeln!(cases, "            Some(({pattern}, {word})) => Some({built}),").unwrap();
        }
        if valued {
            write!(self.late, "        let {name} = match {name} {{\n            None => None,\n{cases}        }};\n")
                .unwrap();
        }
        let lifetime = if option.arguments.iter().any(borrows) { "<'a>" } else { "" };
        self.field(&option.name, &format!("Option<{kind}{lifetime}>"), &format!("{}.", describe(option)));
        Ok(())
    }

    /// Declares the enum of a oneof and answers its name.
    fn write_enum(&mut self, argument: &Argument) -> Result<String, Complaint> {
        let name = format!("{}{}", self.name, camel_case(&argument.name));
        let lifetime = if argument.arguments.iter().any(borrows) { "<'a>" } else { "" };
        let title = self.spec.title();
        write!(self.enums, "\n/// {title}: {}.\n#[derive(Debug, Clone, Copy, PartialEq, Eq)]\n", describe(argument))
            .unwrap();
        writeln!(self.enums, "pub enum {name}{lifetime} {{").unwrap();
        for branch in &argument.arguments {
            let value = match branch.kind {
                Kind::PureToken => String::new(),
                _ => format!("({})", self.value_type(branch)?),
            };
            writeln!(self.enums, "    /// `{}`\n    {}{value},", token(branch), camel_case(&branch.name)).unwrap();
        }
        self.enums += "}\n";
        Ok(name)
    }

    fn value_type(&mut self, argument: &Argument) -> Result<String, Complaint> {
        Ok(match argument.kind {
            _ if argument.cursor => "u64".into(),
            Kind::Key | Kind::String | Kind::Pattern => "&'a [u8]".into(),
            Kind::Integer | Kind::UnixTime => "i64".into(),
            Kind::Double => "f64".into(),
            Kind::OneOf => self.write_enum(argument)?,
            Kind::PureToken | Kind::Block => return Err(complaint(argument, "needs a parser of its own: use `rest`")),
        })
    }

    /// The expression that makes a value of `word`; none when the word itself is the value.
    fn conversion(&self, argument: &Argument, word: &str) -> Option<String> {
        let error = |default: &str| format!("CommandError::{}", argument.error.as_deref().unwrap_or(default));
        Some(match argument.kind {
            _ if argument.cursor => format!("super::parse_cursor({word}).ok_or(CommandError::InvalidCursor)?"),
            Kind::Integer | Kind::UnixTime => {
                let range = (argument.minimum, argument.maximum);
                let (minimum, maximum) = (limit(range.0, "i64::MIN"), limit(range.1, "i64::MAX"));
                match (range, &argument.error) {
                    ((None, None), _) => format!("integer({word}).ok_or({})?", error("NotInteger")),
                    (_, None) => format!("bounded({word}, {minimum}, {maximum})?"),
                    (_, Some(_)) => format!("bounded({word}, {minimum}, {maximum}).map_err(|_| {})?", error("")),
                }
            }
            Kind::Double => format!("super::parse_double({word}).ok_or({})?", error("NotFloat")),
            Kind::OneOf => {
                let name = format!("{}{}", self.name, camel_case(&argument.name));
                let arms: Vec<String> = argument
                    .arguments
                    .iter()
                    .map(|branch| {
                        let variant = camel_case(&branch.name);
                        format!("word if word.eq_ignore_ascii_case(b{:?}) => {name}::{variant}", token(branch))
                    })
                    .collect();
                format!("match {word} {{ {}, _ => return Err({}) }}", arms.join(", "), error("Syntax"))
            }
            _ => return None,
        })
    }
}

fn limit(value: Option<i64>, default: &str) -> String {
    value.map_or(default.into(), |value| value.to_string())
}

fn replace_word(conversion: &str, name: &str) -> String {
    conversion.replacen("word", name, 1)
}

fn complaint(argument: &Argument, what: &str) -> Complaint {
    (argument.name.clone(), format!("argument {:?}: {what}", argument.name))
}

/// An optional argument introduced by a word of its own, in any order.
fn is_option(argument: &Argument) -> bool {
    let named = |argument: &Argument| argument.token.is_some();
    argument.optional && !argument.positional && (named(argument) || argument.kind == Kind::OneOf)
}

fn token(argument: &Argument) -> &str {
    argument.token.as_deref().unwrap_or(&argument.name)
}

fn field_name(name: &str) -> String {
    name.replace(['-', ':'], "_")
}

fn plural(name: &str) -> String {
    match field_name(name).as_str() {
        "data" => "pairs".into(),
        name => format!("{name}s"),
    }
}

/// `` `key` (key) ``: the name clients see, and the type.
fn describe(argument: &Argument) -> String {
    let kind = match argument.kind {
        Kind::Key => "a key",
        Kind::String => "bytes",
        Kind::Pattern => "a glob",
        Kind::Integer => "an integer",
        Kind::UnixTime => "a Unix time",
        Kind::Double => "a number",
        Kind::PureToken => "an option word",
        Kind::OneOf => "a choice",
        Kind::Block => "a group of words",
    };
    let several = if argument.multiple { ", several" } else { "" };
    format!("`{}`: {kind}{several}", argument.token.as_deref().unwrap_or(&argument.name))
}
