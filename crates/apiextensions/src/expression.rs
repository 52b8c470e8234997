// SPDX-License-Identifier: Apache-2.0
//! Expressions over named values, outside of definitions: with the functions and the cost limits of rules.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::{Context, Value as Cel};
use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::metering::{self, PER_CALL};
use crate::rule::{ENVIRONMENT, LONGEST, with_stack};
use crate::schema::Schema;

/// Names that are no variables: types, and prefixes of functions (`math.greatest`).
const RESERVED: [&str; 15] = [
    "bool",
    "bytes",
    "double",
    "dyn",
    "int",
    "list",
    "lists",
    "map",
    "math",
    "null_type",
    "optional",
    "string",
    "strings",
    "type",
    "uint",
];

/// An expression that can be evaluated.
#[derive(Clone)]
pub struct Expression {
    text: String,
    metered: IdedExpr,
    /// Variables that it uses.
    variables: BTreeSet<String>,
}

/// Value of a variable.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// A tree. Whole numbers are `int`, instants are texts.
    Tree(&'a Value),
    /// A `timestamp`.
    Instant(DateTime<Utc>),
}

/// Reason for which a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpressionError {
    /// The text is too long or cannot be parsed.
    Invalid(String),
    /// The name of a variable that does not exist.
    UnknownVariable(String),
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(text) => f.write_str(text),
            Self::UnknownVariable(name) => write!(f, "there is no variable `{name}`"),
        }
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Expression {
    /// Compiles an expression over some of these variables.
    ///
    /// # Errors
    /// The text cannot be parsed, or uses another variable. Names of functions are checked by [`Expression::evaluate`].
    pub fn compile(text: &str, variables: &[&str]) -> Result<Self, ExpressionError> {
        if text.len() > LONGEST {
            let what = format!("an expression may not be longer than {LONGEST} bytes");
            return Err(ExpressionError::Invalid(what));
        }
        let compiled = || {
            let parsed = ENVIRONMENT.parser().parse(text).map_err(|error| first_line(&error.to_string()))?;
            let mut names = Names { scopes: Vec::new(), free: BTreeSet::new() };
            names.collect(&parsed);
            Ok::<_, String>((metering::metered(&parsed, variables), names.free))
        };
        let (metered, free) = guarded(|| with_stack(text.len(), compiled)).map_err(ExpressionError::Invalid)?;
        match free.iter().find(|name| !variables.contains(&name.as_str()) && !RESERVED.contains(&name.as_str())) {
            Some(name) => Err(ExpressionError::UnknownVariable(name.clone())),
            None => Ok(Self { text: text.to_owned(), metered, variables: free }),
        }
    }

    /// Text of the expression.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if the expression uses a variable.
    pub fn uses(&self, variable: &str) -> bool {
        self.variables.contains(variable)
    }

    /// Evaluates the expression to true or false; variables that it does not use may be left out.
    ///
    /// # Errors
    /// The evaluation fails (a field does not exist, a function is unknown) or costs too much, or the result is neither
    /// true nor false.
    pub fn evaluate(&self, variables: &[(&str, Argument<'_>)]) -> Result<bool, String> {
        let mut context = Context::with_env(ENVIRONMENT.clone());
        for (name, value) in variables.iter().filter(|(name, _)| self.uses(name)) {
            let value = match value {
                Argument::Tree(tree) => Schema::default().cel(tree),
                Argument::Instant(instant) => Cel::Timestamp(instant.fixed_offset()),
            };
            context.add_variable_from_value(*name, value);
        }
        let evaluate = || Cel::resolve(&self.metered, &context);
        let evaluated = || Ok(with_stack(self.text.len(), || metering::measured(PER_CALL, evaluate)));
        let (result, cost) = guarded(evaluated)?;
        match result {
            _ if cost.is_none() => Err("its evaluation costs too much".to_owned()),
            Ok(Cel::Bool(value)) => Ok(value),
            Ok(other) => Err(format!("its value is neither true nor false, but of type {}", other.type_of())),
            Err(error) => Err(metering::readable(&error)),
        }
    }
}

/// Runs the library; its panic is an error.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("it cannot be evaluated".to_owned()))
}

/// First line of an error of the parser, which shows the text below: `LINE:COLUMN: …`.
fn first_line(error: &str) -> String {
    let line = error.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    line.strip_prefix("ERROR: <input>:").unwrap_or(line).to_owned()
}

/// Names that an expression uses and does not define.
struct Names {
    /// Names of the surrounding loops.
    scopes: Vec<String>,
    free: BTreeSet<String>,
}

impl Names {
    fn collect(&mut self, expression: &IdedExpr) {
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(name) => {
                if !self.scopes.contains(name) {
                    self.free.insert(name.clone());
                }
            }
            Expr::Select(select) => self.collect(&select.operand),
            Expr::List(list) => list.elements.iter().for_each(|item| self.collect(item)),
            Expr::Map(map) => map.entries.iter().for_each(|entry| self.collect_entry(&entry.expr)),
            Expr::Struct(fields) => fields.entries.iter().for_each(|entry| self.collect_entry(&entry.expr)),
            Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).for_each(|it| self.collect(it)),
            Expr::Comprehension(comprehension) => {
                self.collect(&comprehension.iter_range);
                self.collect(&comprehension.accu_init);
                let outer = self.scopes.len();
                let names =
                    [Some(&comprehension.iter_var), comprehension.iter_var2.as_ref(), Some(&comprehension.accu_var)];
                self.scopes.extend(names.into_iter().flatten().cloned());
                for part in [&comprehension.loop_cond, &comprehension.loop_step, &comprehension.result] {
                    self.collect(part);
                }
                self.scopes.truncate(outer);
            }
        }
    }

    fn collect_entry(&mut self, entry: &EntryExpr) {
        match entry {
            EntryExpr::MapEntry(entry) => {
                self.collect(&entry.key);
                self.collect(&entry.value);
            }
            EntryExpr::StructField(field) => self.collect(&field.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn expressions_are_evaluated_over_their_variables() {
        let tree = json!({ "size": 3, "at": "2025-01-01T00:00:00Z", "items": [{ "name": "a" }, { "name": "b" }] });
        let now = "2025-01-02T00:00:00Z".parse().expect("an instant");
        let variables = [("object", Argument::Tree(&tree)), ("now", Argument::Instant(now))];
        for (text, expected) in [
            ("object.size == 3 && object.size / 2 == 1", true),
            ("timestamp(object.at) < now", true),
            ("now - timestamp(object.at) > duration('24h')", false),
            ("object.items.all(i, i.name in ['a', 'b']) && object.items.exists(i, i.name == 'b')", true),
            ("math.greatest(object.size, 2) == 3 && type(object.size) == int", true),
            ("has(object.missing)", false),
        ] {
            let expression = Expression::compile(text, &["object", "now"]).expect(text);
            assert_eq!(expression.evaluate(&variables), Ok(expected), "{text}");
        }
        for (text, part) in [
            ("object.missing == 1", "missing"),
            ("object.size", "neither true nor false"),
            ("unknown(object)", "unknown"),
            ("[1,2,3,4,5,6,7,8,9,10].map(x, lists.range(100000)).size() > 0", "costs too much"),
        ] {
            let refused = Expression::compile(text, &["object"]).expect(text).evaluate(&variables);
            assert!(refused.as_ref().is_err_and(|error| error.contains(part)), "{text}: {refused:?}");
        }
    }

    #[test]
    fn invalid_expressions_are_refused_before_they_are_evaluated() {
        let unknown = |name: &str| ExpressionError::UnknownVariable(name.to_owned());
        for (text, expected) in [
            ("objekt.size == 1", unknown("objekt")),
            ("object.items.all(i, j.name == 'a')", unknown("j")),
            ("object.items.all(i, true) && i == 1", unknown("i")),
            ("{'a': x}.size() == 1", unknown("x")),
        ] {
            assert_eq!(Expression::compile(text, &["object"]), Err(expected), "{text}");
        }
        for text in ["object.", "1 +", "object.size = 3", "(", ""] {
            let refused = Expression::compile(text, &["object"]).expect_err(text);
            let shown = refused.to_string();
            assert!(matches!(refused, ExpressionError::Invalid(_)) && shown.lines().count() == 1, "{text}: {shown}");
        }
        assert!(Expression::compile(&"a".repeat(LONGEST + 1), &[]).is_err());
        assert!(Expression::compile("object.x == 1 && object.y", &["object", "now"]).is_ok_and(|it| !it.uses("now")));
    }
}
