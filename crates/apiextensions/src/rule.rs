// SPDX-License-Identifier: Apache-2.0
//! A rule in the Common Expression Language, and its compilation.

use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use cel::common::ast::IdedExpr;
use cel::{Env, extensions};
use serde::Deserialize;

use crate::metering;

/// Environment with the functions that rules may call.
pub(crate) static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut environment = Env::stdlib();
    for extension in [extensions::strings, extensions::lists, extensions::math, metering::functions] {
        if let Err(error) = environment.add_extension(extension) {
            panic!("the extensions of the library fit its environment: {error}");
        }
    }
    Arc::new(environment)
});

/// Maximum length of an expression, in bytes: it bounds the cost of an expression without loops.
pub(crate) const LONGEST: usize = 4096;
/// Length of an expression in bytes up to which its nesting always fits on a thread's stack.
const SHORT: usize = 512;
/// Size in bytes of the stack for longer expressions. Each nested parenthesis takes about a kilobyte of it.
const STACK: usize = 16 << 20;

/// A rule in the Common Expression Language.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Rule {
    /// Expression over `self` and `oldSelf`; must be true.
    pub rule: String,
    /// Text of a violation; empty: the rule itself.
    pub message: String,
    /// Expression that computes the text of a violation.
    pub message_expression: String,
    /// `FieldValueInvalid` (default), `FieldValueForbidden`, `FieldValueRequired`, `FieldValueDuplicate`.
    pub reason: String,
    /// Path of the invalid field, relative to the rule: `.spec.replicas`.
    pub field_path: String,
    /// True if the rule uses `oldSelf` and also applies to values that have no old value.
    pub optional_old_self: bool,
    #[serde(skip)]
    pub(crate) compiled: OnceLock<Result<Arc<Compiled>, String>>,
}

/// Runs the parsing or evaluation of expressions of at most `length` bytes on a sufficiently large stack.
pub(crate) fn with_stack<T>(length: usize, work: impl FnOnce() -> T) -> T {
    if length > SHORT { stacker::grow(STACK, work) } else { work() }
}

/// A rule that can be evaluated.
pub(crate) struct Compiled {
    /// The rule as it was written.
    pub(crate) rule: IdedExpr,
    /// The expression of its message as it was written.
    pub(crate) message: Option<IdedExpr>,
    /// Rule and message with payments, for evaluation.
    pub(crate) metered: (IdedExpr, Option<IdedExpr>),
    /// Length of the longer expression.
    pub(crate) length: usize,
    /// True if it uses the old value.
    pub(crate) is_transition: bool,
    pub(crate) is_old_optional: bool,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").field("is_transition", &self.is_transition).finish_non_exhaustive()
    }
}

impl Rule {
    /// Compiles rule and message expression.
    ///
    /// # Errors
    /// `rule` or `message_expression` cannot be parsed.
    pub(crate) fn compile(&self) -> Result<Arc<Compiled>, String> {
        let length = self.rule.len().max(self.message_expression.len());
        let parsed = |text: &str| {
            if text.len() > LONGEST {
                return Err(format!("an expression may not be longer than {LONGEST} bytes"));
            }
            ENVIRONMENT.parser().parse(text).map_err(|error| error.to_string())
        };
        let metered = |expression: &IdedExpr| metering::metered(expression, &["self", "oldSelf"]);
        let make = || {
            let rule = parsed(&self.rule)?;
            let is_transition = rule.references().has_variable("oldSelf");
            let message =
                if self.message_expression.is_empty() { None } else { Some(parsed(&self.message_expression)?) };
            let metered = (metered(&rule), message.as_ref().map(metered));
            let is_old_optional = self.optional_old_self;
            Ok(Arc::new(Compiled { rule, message, metered, length, is_transition, is_old_optional }))
        };
        self.compiled.get_or_init(|| with_stack(length, make)).clone()
    }

    /// Returns the text of the rule in messages about its evaluation.
    pub(crate) fn shown(&self) -> &str {
        if self.message.is_empty() { self.rule.trim() } else { self.message.trim() }
    }
}
