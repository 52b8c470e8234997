// SPDX-License-Identifier: Apache-2.0
//! Label selectors.

use crate::meta::TextMap;
use std::collections::BTreeSet;
use std::fmt;

use super::demand::Demands;
use crate::field::{FieldError, Path};
use crate::meta::LabelSelector;
use crate::validation;

/// A parsed label selector; the empty one matches everything.
///
/// Requirements are sorted by key, values are sorted and unique.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    requirements: Vec<Requirement>,
    demands: Demands,
}

/// One requirement of [`Labels`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Label key.
    pub key: String,
    /// Operator and its values.
    pub operator: Operator,
}

/// Operators of the label selector grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `key in (a,b)`, `key=a`
    In(Vec<String>),
    /// `key notin (a,b)`, `key!=a`: also matches objects without the key
    NotIn(Vec<String>),
    /// Requirement of the form `key`.
    Exists,
    /// Requirement of the form `!key`.
    DoesNotExist,
    /// Requirement of the form `key>1`.
    GreaterThan(i64),
    /// Requirement of the form `key<1`.
    LessThan(i64),
}

impl Labels {
    /// Parses `a=b,c in (d,e),!f`.
    ///
    /// # Errors
    /// The text of the real API's parser.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { tokens: tokens(text), at: 0 };
        Ok(Self::of(parser.selector()?))
    }

    /// Creates a selector from the structured form.
    ///
    /// # Errors
    /// An unknown operator, or values for an operator without values.
    pub fn from_selector(selector: &LabelSelector) -> Result<Self, String> {
        let mut requirements = Vec::new();
        for (key, value) in &selector.match_labels {
            requirements.push(requirement(key, Kind::In, vec![value.clone()])?);
        }
        for expression in &selector.match_expressions {
            let kind = match expression.operator.as_str() {
                "In" => Kind::In,
                "NotIn" => Kind::NotIn,
                "Exists" => Kind::Exists,
                "DoesNotExist" => Kind::DoesNotExist,
                other => {
                    return Err(format!("{} is not a valid label selector operator", crate::go::quote(other)));
                }
            };
            requirements.push(requirement(&expression.key, kind, expression.values.clone())?);
        }
        Ok(Self::of(requirements))
    }

    /// Creates a selector for exact values.
    pub fn exact<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let requirements = pairs
            .into_iter()
            .map(|(key, value)| Requirement { key: key.to_owned(), operator: Operator::In(vec![value.to_owned()]) });
        Self::of(requirements.collect())
    }

    /// True if there is no requirement, so that every object matches.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns the requirements, sorted by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// True if labels satisfy every requirement.
    pub fn matches(&self, labels: &TextMap) -> bool {
        self.demands.allow(labels)
    }

    fn of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|left, right| left.key.cmp(&right.key));
        Self { demands: Demands::of(&requirements), requirements }
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Requirement { key, operator }) in self.requirements.iter().enumerate() {
            f.write_str(if index > 0 { "," } else { "" })?;
            match operator {
                Operator::In(values) if values.len() == 1 => write!(f, "{key}={}", values[0])?,
                Operator::NotIn(values) if values.len() == 1 => write!(f, "{key}!={}", values[0])?,
                Operator::In(values) => write!(f, "{key} in ({})", values.join(","))?,
                Operator::NotIn(values) => write!(f, "{key} notin ({})", values.join(","))?,
                Operator::Exists => f.write_str(key)?,
                Operator::DoesNotExist => write!(f, "!{key}")?,
                Operator::GreaterThan(bound) => write!(f, "{key}>{bound}")?,
                Operator::LessThan(bound) => write!(f, "{key}<{bound}")?,
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

fn check_key(key: &str, path: &Path) -> Result<(), String> {
    let errors = validation::qualified_name(key);
    if errors.is_empty() { Ok(()) } else { Err(FieldError::invalid(path, key, &errors.join("; ")).to_string()) }
}

/// Creates a requirement, if key and values are valid.
fn requirement(key: &str, kind: Kind, values: Vec<String>) -> Result<Requirement, String> {
    check_key(key, &Path::new("key"))?;
    let path = Path::new("values");
    let refuse = |detail: &str| Err(FieldError::invalid(&path, &values, detail).to_string());
    match kind {
        Kind::In | Kind::NotIn if values.is_empty() => {
            return refuse("for 'in', 'notin' operators, values set can't be empty");
        }
        Kind::Exists | Kind::DoesNotExist if !values.is_empty() => {
            return refuse("values set must be empty for exists and does not exist");
        }
        _ => {}
    }
    let mut number = 0;
    for (index, value) in values.iter().enumerate() {
        let path = path.index(index);
        if matches!(kind, Kind::GreaterThan | Kind::LessThan) {
            let Ok(parsed) = value.parse() else {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                return Err(FieldError::invalid(&path, value, detail).to_string());
            };
            number = parsed;
        }
        let errors = validation::label_value(value);
        if !errors.is_empty() {
            return Err(FieldError::invalid(&path.key(key), value, &errors.join("; ")).to_string());
        }
    }
    let sorted = || values.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let operator = match kind {
        Kind::In => Operator::In(sorted()),
        Kind::NotIn => Operator::NotIn(sorted()),
        Kind::Exists => Operator::Exists,
        Kind::DoesNotExist => Operator::DoesNotExist,
        Kind::GreaterThan => Operator::GreaterThan(number),
        Kind::LessThan => Operator::LessThan(number),
    };
    Ok(Requirement { key: key.to_owned(), operator })
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'a str),
    End,
}

impl Token<'_> {
    fn text(&self) -> String {
        match self {
            Token::Word(text) | Token::Symbol(text) => (*text).to_owned(),
            Token::End => String::new(),
        }
    }
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', '\r', '\n']);
    while !rest.is_empty() {
        let length = if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            tokens.push(Token::Symbol(&rest[..symbol.len()]));
            symbol.len()
        } else {
            let end = rest.find([' ', '\t', '\r', '\n', '=', '!', '(', ')', ',', '>', '<']).unwrap_or(rest.len());
            tokens.push(Token::Word(&rest[..end]));
            end
        };
        rest = rest[length..].trim_start_matches([' ', '\t', '\r', '\n']);
    }
    tokens
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.at).copied().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::Word(_) | Token::Symbol("!") => {
                    let parsed = self.requirement().map_err(|error| format!("unable to parse requirement: {error}"))?;
                    requirements.push(parsed);
                }
                Token::End => return Ok(requirements),
                other @ Token::Symbol(_) => {
                    return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text()));
                }
            }
            match self.next() {
                Token::End => return Ok(requirements),
                Token::Symbol(",") => match self.peek() {
                    Token::Word(_) | Token::Symbol("!") => {}
                    other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
                },
                other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.next();
        let absent = token == Token::Symbol("!");
        if absent {
            token = self.next();
        }
        let Token::Word(key) = token else {
            return Err(format!("found '{}', expected: identifier", token.text()));
        };
        check_key(key, &Path::default())?;
        if absent {
            return requirement(key, Kind::DoesNotExist, Vec::new());
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return requirement(key, Kind::Exists, Vec::new());
        }
        let kind = match self.next() {
            Token::Word("in") => return requirement(key, Kind::In, self.values()?),
            Token::Word("notin") => return requirement(key, Kind::NotIn, self.values()?),
            Token::Symbol("=" | "==") => Kind::In,
            Token::Symbol("!=") => Kind::NotIn,
            Token::Symbol(">") => Kind::GreaterThan,
            Token::Symbol("<") => Kind::LessThan,
            other => return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text())),
        };
        let value = match self.peek() {
            Token::End | Token::Symbol(",") => String::new(),
            Token::Word(value) => {
                self.at += 1;
                value.to_owned()
            }
            other @ Token::Symbol(_) => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        requirement(key, kind, vec![value])
    }

    /// Parses `(a, b)`; a gap is the empty text.
    fn values(&mut self) -> Result<Vec<String>, String> {
        let opening = self.next();
        if opening != Token::Symbol("(") {
            return Err(format!("found '{}' expected: '('", opening.text()));
        }
        let mut values = BTreeSet::new();
        match self.peek() {
            Token::Word(_) | Token::Symbol(",") => {}
            Token::Symbol(")") => {
                self.at += 1;
                return Ok(vec![String::new()]);
            }
            other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
        }
        loop {
            match self.next() {
                Token::Word(value) => {
                    values.insert(value.to_owned());
                    match self.peek() {
                        Token::Symbol("," | ")") => {}
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                Token::Symbol(",") => {
                    if values.is_empty() || matches!(self.peek(), Token::Symbol("," | ")")) {
                        values.insert(String::new());
                    }
                }
                Token::Symbol(")") => return Ok(values.into_iter().collect()),
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::LabelSelectorRequirement;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(Labels::parse(text).map_or_else(|error| error, |labels| labels.to_string()), expected, "{text}");
    }

    #[test]
    fn texts_become_canonical() {
        check("", "");
        check(" a = b , c!=d ", "a=b,c!=d");
        check("a==b", "a=b");
        check("x in (b, a,b),!y,z", "x in (a,b),!y,z");
        check("x in (,a)", "x in (,a)");
        check("x notin ()", "x!=");
        check("a=", "a=");
        check("a>1,b<2", "a>1,b<2");
        check("in in (in)", "in=in");
    }

    #[test]
    fn wrong_texts_are_refused_in_upstreams_words() {
        check("=a", "found '=', expected: !, identifier, or 'end of string'");
        check("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
        check("a=b c", "found 'c', expected: ',' or 'end of string'");
        check("a,", "found '', expected: identifier after ','");
        check("a in b", "unable to parse requirement: found 'b' expected: '('");
        check("a in (b", "unable to parse requirement: found '', expected: ',' or ')'");
        check(
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must \
             be an integer",
        );
        check("/a=b", "unable to parse requirement: <nil>: Invalid value: \"/a\": prefix part must be non-empty");
    }

    #[test]
    fn absence_satisfies_the_negative_operators() {
        let labels: TextMap = [("a".to_owned(), "1".to_owned())].into();
        let matches = |text: &str| Labels::parse(text).expect("parses").matches(&labels);
        assert!(matches("a=1") && matches("b!=1") && matches("b notin (1)") && matches("!b") && matches("a"));
        assert!(matches("a>0") && matches("a<2") && !matches("a>1") && !matches("b>0"));
        assert!(!matches("a!=1") && !matches("!a") && !matches("b"));
    }

    /// Compares each requirement alone with all of them together, for all labels with few keys and values.
    #[test]
    fn requirements_hold_together_as_each_of_them() {
        let all = ["a", "!a", "a=1", "a!=1", "a in (1,2)", "a notin (1,3)", "a>1", "a<3", "b", "!b", "b=1", "b!=2"];
        let few = ["", "a=1", "a=2", "a=3", "a=x", "b=1", "b=2", "a=1,b=1", "a=2,b=2", "a=2,b=1,c=1,d=1"];
        for labels in few {
            let pairs = labels.split(',').filter_map(|pair| pair.split_once('='));
            let labels: TextMap = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            let matches = |text: &str| Labels::parse(text).expect("parses").matches(&labels);
            for first in all {
                for second in all {
                    for third in all {
                        let expected = [first, second, third].into_iter().all(matches);
                        assert_eq!(matches(&[first, second, third].join(",")), expected, "{first},{second},{third}");
                    }
                }
            }
        }
        assert!(!Labels::parse("a,b,c").expect("parses").matches(&TextMap::new()));
    }

    /// A selector as long as the head of a request, and as many objects as a landscape has.
    #[test]
    fn the_cost_of_a_match_is_independent_of_the_selector() {
        let labels: TextMap = [("a".to_owned(), "x".to_owned())].into();
        let distinct: Vec<String> = (0..20_000).map(|index| format!("!k{index}")).collect();
        let same: Vec<String> = (0..20_000).map(|index| format!("a!=v{index}")).collect();
        let values: Vec<String> = (0..20_000).map(|index| format!("v{index}")).collect();
        for (text, expected) in [
            (distinct.join(","), true),
            (same.join(","), true),
            (format!("a notin ({})", values.join(",")), true),
            (format!("a in ({})", values.join(",")), false),
        ] {
            let selector = Labels::parse(&text).expect("parses");
            // With a step for each requirement these would be 4 thousand million steps.
            assert!((0..200_000).all(|_| selector.matches(&labels) == expected));
        }
    }

    #[test]
    fn the_structured_form_means_the_same() {
        let expression = |operator: &str, values: &[&str]| LabelSelector {
            match_labels: [("a".to_owned(), "b".to_owned())].into(),
            match_expressions: vec![LabelSelectorRequirement {
                key: "k".to_owned(),
                operator: operator.to_owned(),
                values: values.iter().map(|value| (*value).to_owned()).collect(),
            }],
        };
        let text = |selector| Labels::from_selector(&selector).map_or_else(|error| error, |labels| labels.to_string());
        assert_eq!(text(expression("In", &["x", "y"])), "a=b,k in (x,y)");
        assert_eq!(text(expression("DoesNotExist", &[])), "a=b,!k");
        assert_eq!(text(expression("Near", &[])), "\"Near\" is not a valid label selector operator");
        assert_eq!(
            text(expression("In", &[])),
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
        );
    }
}
