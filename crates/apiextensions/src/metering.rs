// SPDX-License-Identifier: Apache-2.0
//! Run-time cost of CEL expressions, and its limits.
//!
//! The interpreter does not measure cost, so an expression is rewritten before it is evaluated: each step of a loop
//! first charges the nodes that it evaluates and the copy of its item, each function charges the size of its arguments,
//! and functions whose result may be much larger than their arguments are replaced by functions that charge the result
//! before they compute it. An expression without loops is bounded by its own length.
//!
//! Source: k8s.io/apiserver pkg/apis/cel/config.go (limits); github.com/google/cel-go interpreter/runtimecost.go (units).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};
use cel::common::types::{CelBool, CelInt, CelString, DYN_TYPE, INT_TYPE, LIST_TYPE, STRING_TYPE};
use cel::common::value::{BuiltinRef, CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};
use regex::Regex;

use crate::pattern::{LARGEST, Pattern};

/// Cost limit of one evaluation of an expression.
pub(crate) const PER_CALL: u64 = 1_000_000;
/// Cost budget of all evaluations for one object.
pub(crate) const PER_OBJECT: u64 = 10_000_000;

/// Number of bytes of a text that cost one unit.
const TRAVERSAL: u64 = 10;
/// Number of nodes of an operand above which it is charged only when it is evaluated.
const LAZY: u64 = 8;
/// Compiled sizes of regular expressions, each with the cost of compiling one and the factor of matching it.
const REGEX_SIZES: [(usize, u64, u64); 2] = [(64 << 10, 100, 1), (LARGEST, 10_000, 16)];
/// Maximum number of small regular expressions that a thread keeps.
const KEPT_REGEXES: usize = 16;

/// Accumulator of the loops to which the macros of CEL expand; no expression can name it.
const ACCUMULATOR: &str = "@result";

thread_local! {
    /// Remaining cost of the present evaluation; `None`: the limit has been exceeded.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    /// Regular expressions of earlier evaluations.
    static REGEXES: RefCell<BTreeMap<String, Regex>> = const { RefCell::new(BTreeMap::new()) };
}

/// Evaluates with a cost limit; returns the result and its cost, or None if the cost exceeded the limit.
pub(crate) fn measured<T>(limit: u64, evaluate: impl FnOnce() -> T) -> (T, Option<u64>) {
    LEFT.set(Some(limit));
    let result = evaluate();
    (result, LEFT.take().map(|left| limit - left))
}

fn pay(cost: u64) -> Result<(), ExecutionError> {
    let left = LEFT.get().and_then(|left| left.checked_sub(cost));
    LEFT.set(left);
    left.map(|_| ())
        .ok_or_else(|| ExecutionError::function_error("cost", "operation cancelled: actual cost limit exceeded"))
}

fn traversal(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(TRAVERSAL)
}

/// Cost of a traversal of a value with all its parts.
fn weight(value: &dyn Val) -> u64 {
    match value.as_builtin() {
        BuiltinRef::String(text) => traversal(text.inner().len()),
        BuiltinRef::Bytes(bytes) => traversal(bytes.inner().len()),
        BuiltinRef::List(list) => list.inner().iter().map(|item| 1 + weight(&**item)).sum(),
        BuiltinRef::Map(map) => map.inner().iter().map(|(key, value)| 1 + weight(key.inner()) + weight(&**value)).sum(),
        BuiltinRef::Optional(value) => value.inner().map_or(0, weight),
        _ => 0,
    }
}

type Arguments<'b, 'v> = Vec<CowVal<'b, 'v>>;
type Evaluated<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

fn text<'a>(value: Option<&'a CowVal<'_, '_>>) -> &'a str {
    value.and_then(|value| value.as_ref().downcast_ref::<CelString>()).map_or("", |text| text.inner())
}

fn whole(value: Option<&CowVal<'_, '_>>) -> Option<i64> {
    value?.as_ref().downcast_ref::<CelInt>().map(|number| *number.inner())
}

fn yes_or_no<'b, 'v>(value: bool) -> CowVal<'b, 'v> {
    CowVal::Owned(Box::new(CelBool::from(value)))
}

/// Charges the number in its first argument and the copy of its second argument, a loop's item; returns true.
fn step<'b, 'v>(arguments: Arguments<'b, 'v>) -> Evaluated<'b, 'v> {
    let mut arguments = arguments.into_iter();
    let nodes = whole(arguments.next().as_ref()).and_then(|nodes| u64::try_from(nodes).ok()).unwrap_or_default();
    let copied = arguments.next().map_or(0, |item| weight(item.as_ref()) / TRAVERSAL);
    pay(nodes.saturating_add(copied))?;
    Ok(yes_or_no(true))
}

/// Returns its argument and charges `cost` of it.
fn paid<'b, 'v>(mut arguments: Arguments<'b, 'v>, cost: impl FnOnce(&dyn Val) -> u64) -> Evaluated<'b, 'v> {
    let value = arguments.pop().ok_or_else(|| ExecutionError::invalid_argument_count(1, 0))?;
    pay(cost(value.as_ref()))?;
    Ok(value)
}

fn weigh<'b, 'v>(arguments: Arguments<'b, 'v>) -> Evaluated<'b, 'v> {
    paid(arguments, weight)
}

/// Charges a count of characters or items.
fn glance<'b, 'v>(arguments: Arguments<'b, 'v>) -> Evaluated<'b, 'v> {
    paid(arguments, |value| match value.as_builtin() {
        BuiltinRef::String(text) => traversal(text.inner().len()) / TRAVERSAL,
        _ => 0,
    })
}

/// Charges a function that creates a value for each character.
fn letters<'b, 'v>(arguments: Arguments<'b, 'v>) -> Evaluated<'b, 'v> {
    paid(arguments, |value| weight(value).saturating_mul(TRAVERSAL))
}

/// Charges a search for a text at each character of another.
fn needle<'b, 'v>(arguments: Arguments<'b, 'v>) -> Evaluated<'b, 'v> {
    paid(arguments, |value| weight(value).saturating_mul(weight(value)))
}

/// Charges the comparison of all pairs of a list's items.
fn pairs<'b, 'v>(arguments: Arguments<'b, 'v>) -> Evaluated<'b, 'v> {
    paid(arguments, |value| {
        let count = value.as_sizer().map_or(0, |sizer| u64::try_from(*sizer.size().inner()).unwrap_or_default());
        weight(value).saturating_mul(count).div_ceil(TRAVERSAL)
    })
}

/// Charges the creation of a number of values.
fn amount<'b, 'v>(arguments: Arguments<'b, 'v>) -> Evaluated<'b, 'v> {
    paid(arguments, |value| {
        value.downcast_ref::<CelInt>().map_or(0, |it| u64::try_from(*it.inner()).unwrap_or_default())
    })
}

fn matches<'b, 'v>(arguments: Arguments<'b, 'v>) -> Evaluated<'b, 'v> {
    let mut arguments = arguments.into_iter();
    let (value, pattern) = (arguments.next(), arguments.next());
    let (value, pattern) = (text(value.as_ref()), text(pattern.as_ref()));
    let cost = traversal(value.len() + 1).saturating_mul((pattern.len() as u64).div_ceil(4));
    pay(cost)?;
    let known = REGEXES.with_borrow(|known| known.get(pattern).cloned());
    let (regex, factor) = match known {
        Some(regex) => (regex, 1),
        None => compiled(pattern)?,
    };
    pay(cost.saturating_mul(factor - 1))?;
    Ok(yes_or_no(regex.is_match(value)))
}

/// Returns a compiled regular expression, and the cost factor of matching it.
fn compiled(pattern: &str) -> Result<(Regex, u64), ExecutionError> {
    let invalid = |error: &dyn std::fmt::Display| {
        ExecutionError::function_error("matches", format!("'{pattern}' not a valid regex:\n{error}"))
    };
    for (size, cost, factor) in REGEX_SIZES {
        pay(cost)?;
        match Pattern::compile(pattern, size) {
            Ok(Pattern { regex, .. }) => {
                if factor == 1 {
                    REGEXES.with_borrow_mut(|known| {
                        if known.len() >= KEPT_REGEXES {
                            known.clear();
                        }
                        known.insert(pattern.to_owned(), regex.clone());
                    });
                }
                return Ok((regex, factor));
            }
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(error) => return Err(invalid(&error)),
        }
    }
    Err(invalid(&"it is too large"))
}

/// Replaces all occurrences of a text, or a number of the first ones, by another text.
fn replace<'b, 'v>(arguments: Arguments<'b, 'v>) -> Evaluated<'b, 'v> {
    let mut arguments = arguments.into_iter();
    let (value, old, new) = (arguments.next(), arguments.next(), arguments.next());
    let (value, old, new) = (text(value.as_ref()), text(old.as_ref()), text(new.as_ref()));
    let most = whole(arguments.next().as_ref()).and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    pay(traversal(value.len()).saturating_mul(2))?;
    let count = value.matches(old).take(most).count();
    pay(traversal(count.saturating_mul(new.len())))?;
    Ok(CowVal::Owned(Box::new(CelString::from(value.replacen(old, new, most)))))
}

fn join<'b, 'v>(arguments: Arguments<'b, 'v>) -> Evaluated<'b, 'v> {
    let unfit = || ExecutionError::no_such_member_overload("join", vec!["list".to_owned()]);
    let mut arguments = arguments.into_iter();
    let (list, separator) = (arguments.next().ok_or_else(unfit)?, arguments.next());
    let separator = text(separator.as_ref());
    let mut items = list.as_iterable().ok_or_else(unfit)?.iter();
    let mut parts = Vec::new();
    while let Some(item) = items.next() {
        let part = item.downcast_ref::<CelString>().ok_or_else(unfit)?.inner();
        pay(1 + traversal(part.len() + separator.len()))?;
        parts.push(part);
    }
    Ok(CowVal::Owned(Box::new(CelString::from(parts.join(separator)))))
}

/// Adds the functions that rewritten expressions call.
pub(crate) fn functions(environment: &mut Env) -> Result<(), DeclarationError> {
    environment.add_overload("@step", "@step_int", vec![INT_TYPE], step)?;
    environment.add_overload("@step", "@step_int_dyn", vec![INT_TYPE, DYN_TYPE], step)?;
    for (name, function) in [
        ("@weigh", weigh as cel::common::functions::Function),
        ("@glance", glance),
        ("@letters", letters),
        ("@needle", needle),
        ("@pairs", pairs),
        ("@amount", amount),
    ] {
        environment.add_overload(name, name, vec![DYN_TYPE], function)?;
    }
    environment.add_overload("@matches", "@matches", vec![STRING_TYPE, STRING_TYPE], matches)?;
    environment.add_member_overload("@matches", "@matches_string", STRING_TYPE, vec![STRING_TYPE], matches)?;
    let two = vec![STRING_TYPE, STRING_TYPE];
    environment.add_member_overload("@replace", "@replace", STRING_TYPE, two, replace)?;
    let three = vec![STRING_TYPE, STRING_TYPE, INT_TYPE];
    environment.add_member_overload("@replace", "@replace_some", STRING_TYPE, three, replace)?;
    environment.add_member_overload("@join", "@join", LIST_TYPE, vec![], join)?;
    environment.add_member_overload("@join", "@join_separator", LIST_TYPE, vec![STRING_TYPE], join)
}

/// Functions that are replaced as a whole.
const REPLACED: [(&str, &str); 3] = [("matches", "@matches"), ("replace", "@replace"), ("join", "@join")];

/// Formats an error with the names that the author of the expression used, cut to the maximum length of a message.
pub(crate) fn readable(error: &ExecutionError) -> String {
    const LONGEST: usize = 1024;
    let mut text = error.to_string();
    for (known, ours) in REPLACED {
        text = text.replace(ours, known);
    }
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Returns the expression with payments; `variables` are the names of values.
pub(crate) fn metered(expression: &IdedExpr, variables: &[&str]) -> IdedExpr {
    let mut expression = expression.clone();
    Meter { variables: variables.iter().map(|&name| name.to_owned()).collect() }.rewrite(&mut expression);
    expression
}

struct Meter {
    /// Names of values, including those of loops.
    variables: Vec<String>,
}

fn call(id: u64, name: &str, arguments: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr { id, expr: Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args: arguments }) }
}

fn literal(id: u64, value: LiteralValue) -> IdedExpr {
    IdedExpr { id, expr: Expr::Literal(value) }
}

fn is_variable(expression: &IdedExpr, name: &str) -> bool {
    matches!(&expression.expr, Expr::Ident(known) if known == name)
}

/// Returns the payment for a number of nodes, and for the copy of a loop's item.
fn payment(id: u64, nodes: u64, item: Option<&str>) -> IdedExpr {
    let nodes = literal(id, LiteralValue::Int(CelInt::from(i64::try_from(nodes).unwrap_or(i64::MAX))));
    let item = item.map(|name| IdedExpr { id, expr: Expr::Ident(name.to_owned()) });
    call(id, "@step", std::iter::once(nodes).chain(item).collect())
}

/// Evaluates an expression after a payment; a payment that fails is the error of both.
fn after(payment: IdedExpr, expression: &mut IdedExpr, otherwise: IdedExpr) {
    let id = expression.id;
    let evaluated = std::mem::take(expression);
    *expression = call(id, operators::CONDITIONAL, vec![payment, evaluated, otherwise]);
}

fn no(id: u64) -> IdedExpr {
    literal(id, LiteralValue::Boolean(false.into()))
}

impl Meter {
    /// Adds payments below an expression; returns the cost of its own evaluation that is not charged below.
    fn rewrite(&mut self, expression: &mut IdedExpr) -> u64 {
        match &mut expression.expr {
            Expr::Unspecified | Expr::Literal(_) => 0,
            Expr::Ident(_) => 1,
            Expr::Select(select) => self.rewrite(&mut select.operand) + u64::from(!select.test),
            Expr::List(list) => 10 + list.elements.iter_mut().map(|item| self.rewrite(item)).sum::<u64>(),
            Expr::Map(map) => 30 + self.rewrite_entries(map.entries.iter_mut().map(|entry| &mut entry.expr)),
            Expr::Struct(fields) => 40 + self.rewrite_entries(fields.entries.iter_mut().map(|entry| &mut entry.expr)),
            Expr::Call(call) => self.rewrite_call(call),
            Expr::Comprehension(comprehension) => self.rewrite_loop(comprehension),
        }
    }

    fn rewrite_entries<'a>(&mut self, entries: impl Iterator<Item = &'a mut EntryExpr>) -> u64 {
        let cost = |entry: &mut EntryExpr| match entry {
            EntryExpr::MapEntry(entry) => self.rewrite(&mut entry.key) + self.rewrite(&mut entry.value),
            EntryExpr::StructField(field) => self.rewrite(&mut field.value),
        };
        entries.map(cost).sum()
    }

    /// Rewrites, as [`Self::rewrite`], an operand that may not be evaluated.
    fn rewrite_lazy(&mut self, operand: &mut IdedExpr) -> u64 {
        let cost = self.rewrite(operand);
        if cost < LAZY {
            return cost;
        }
        let id = operand.id;
        after(payment(id, cost, None), operand, no(id));
        1
    }

    fn rewrite_call(&mut self, call: &mut CallExpr) -> u64 {
        match (call.func_name.as_str(), call.args.as_mut_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, [left, right]) => {
                self.rewrite(left) + self.rewrite_lazy(right)
            }
            (operators::CONDITIONAL, [condition, yes, no]) => {
                self.rewrite(condition) + self.rewrite_lazy(yes).max(self.rewrite_lazy(no))
            }
            (
                operators::INDEX
                | operators::OPT_INDEX
                | operators::OPT_SELECT
                | operators::LOGICAL_NOT
                | operators::NEGATE
                | operators::NOT_STRICTLY_FALSE,
                arguments,
            ) => 1 + arguments.iter_mut().map(|argument| self.rewrite(argument)).sum::<u64>(),
            _ => self.rewrite_function(call),
        }
    }

    fn rewrite_function(&mut self, call: &mut CallExpr) -> u64 {
        let name = call.func_name.clone();
        let replaced = REPLACED.iter().find(|(known, _)| *known == name);
        let mut cost = 1;
        if let Some(target) = call.target.as_mut().filter(|target| self.is_value(target)) {
            cost += self.rewrite(target);
            match name.as_str() {
                _ if replaced.is_some() => {}
                "size" => wrap("@glance", target),
                "split" => wrap("@letters", target),
                "distinct" => wrap("@pairs", target),
                _ => wrap("@weigh", target),
            }
        }
        for (index, argument) in call.args.iter_mut().enumerate() {
            cost += self.rewrite(argument);
            match name.as_str() {
                _ if replaced.is_some() => {}
                "size" => wrap("@glance", argument),
                "range" => wrap("@amount", argument),
                "indexOf" | "lastIndexOf" if index == 0 => wrap("@needle", argument),
                _ => wrap("@weigh", argument),
            }
        }
        if let Some((_, ours)) = replaced {
            (*ours).clone_into(&mut call.func_name);
        }
        cost
    }

    /// True unless an expression is the first part of a function's name, as in `math.greatest`.
    fn is_value(&self, expression: &IdedExpr) -> bool {
        match &expression.expr {
            Expr::Ident(name) => self.variables.contains(name),
            Expr::Select(select) if !select.test => self.is_value(&select.operand),
            _ => true,
        }
    }

    fn rewrite_loop(&mut self, comprehension: &mut ComprehensionExpr) -> u64 {
        let mut cost = 1 + self.rewrite(&mut comprehension.iter_range) + self.rewrite(&mut comprehension.accu_init);
        let known = self.variables.len();
        let names = [Some(&comprehension.iter_var), comprehension.iter_var2.as_ref(), Some(&comprehension.accu_var)];
        self.variables.extend(names.into_iter().flatten().cloned());
        let condition = self.rewrite(&mut comprehension.loop_cond);
        cost += self.rewrite(&mut comprehension.result);
        self.rewrite_step(comprehension, condition);
        self.variables.truncate(known);
        cost
    }

    /// Adds a payment before a loop's step. The interpreter recognizes some steps by their form, so they keep it.
    fn rewrite_step(&mut self, comprehension: &mut ComprehensionExpr, condition: u64) {
        let ComprehensionExpr { iter_var, accu_var, loop_step, .. } = comprehension;
        let id = loop_step.id;
        let pay = |nodes: u64| payment(id, 1 + condition + nodes, Some(iter_var));
        let accumulator = IdedExpr { id, expr: Expr::Ident(accu_var.clone()) };
        if let Expr::Call(call) = &mut loop_step.expr {
            match (call.func_name.as_str(), call.args.as_mut_slice()) {
                (operators::LOGICAL_AND | operators::LOGICAL_OR, [left, right]) if is_variable(left, accu_var) => {
                    let nodes = 1 + self.rewrite(right);
                    return after(pay(nodes), right, no(id));
                }
                (operators::CONDITIONAL, [guard, made, otherwise]) if is_variable(otherwise, accu_var) => {
                    let nodes = self.rewrite(guard) + self.rewrite_addition(made, accu_var);
                    return after(pay(nodes), guard, no(id));
                }
                (operators::ADD, [left, _]) if is_variable(left, accu_var) => {
                    let nodes = self.rewrite_addition(loop_step, accu_var);
                    return after(pay(nodes), loop_step, accumulator);
                }
                _ => {}
            }
        }
        let nodes = self.rewrite(loop_step);
        after(pay(nodes), loop_step, accumulator);
    }

    /// Rewrites, as [`Self::rewrite`], the addition to a loop's accumulator: the accumulator itself is not copied.
    fn rewrite_addition(&mut self, addition: &mut IdedExpr, accumulator: &str) -> u64 {
        if let Expr::Call(call) = &mut addition.expr
            && let [left, right] = call.args.as_mut_slice()
            && call.func_name == operators::ADD
            && is_variable(left, accumulator)
            && matches!(right.expr, Expr::List(_) | Expr::Literal(_))
        {
            return 2 + self.rewrite(right);
        }
        self.rewrite(addition)
    }
}

/// Charges the size of an argument, unless it is known to be small.
fn wrap(function: &str, argument: &mut IdedExpr) {
    let is_small =
        matches!(argument.expr, Expr::Literal(_)) && function == "@weigh" || is_variable(argument, ACCUMULATOR);
    if !is_small {
        let id = argument.id;
        let value = std::mem::take(argument);
        *argument = call(id, function, vec![value]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> std::sync::Arc<Env> {
        crate::rule::ENVIRONMENT.clone()
    }

    /// Evaluates an expression with a list of `count` numbers; returns result and cost.
    fn evaluated(expression: &str, count: i64) -> (Result<cel::Value, ExecutionError>, Option<u64>) {
        let environment = environment();
        let parsed = environment.parser().parse(expression).expect("an expression");
        let parsed = metered(&parsed, &["self"]);
        let mut context = cel::Context::with_env(environment);
        context.add_variable_from_value("self", (0..count).collect::<Vec<i64>>());
        measured(PER_CALL, || cel::Value::resolve(&parsed, &context))
    }

    #[track_caller]
    fn check(expression: &str, expected: impl Into<cel::Value>) {
        assert_eq!(evaluated(expression, 3).0, Ok(expected.into()), "{expression}");
    }

    #[test]
    fn payments_change_no_result() {
        check("self.map(x, x + 1) == [1, 2, 3]", true);
        check("self.map(x, x > 0, x * 2).size() == 2", true);
        check("self.filter(x, x != 1) == [0, 2]", true);
        check("self.exists_one(x, x == 1) && !self.exists_one(x, x < 2)", true);
        check("self.exists(x, x == 2) ? 'yes' : 'no'", "yes");
        check("self.all(x, self.all(y, x + y < 5))", true);
        check("self.all(x, 1 / x > 0)", false);
        check("self.exists(x, 1 / x == 1)", true);
        check("math.greatest(self) == 2 && math.greatest(1, 2) == 2", true);
        check("lists.range(3) == self && self.reverse().sort() == self && [1, 1].distinct() == [1]", true);
        check("self.sortBy(x, 0 - x) == [2, 1, 0]", true);
        check("'a-b-c'.replace('-', '_') + 'aaa'.replace('a', 'bb', 2) + 'ab'.replace('', '-')", "a_b_cbbbba-a-b-");
        check("['a', 'b'].join('-') + ['c'].join()", "a-bc");
        check("'abc'.matches('^[a-c]+$') && matches('x', 'x') && !'b'.matches('a')", true);
        check("'a,b'.split(',') == ['a', 'b'] && 'abc'.indexOf('c') == 2 && size('abc') == 3", true);
        check("{'a': 1}.all(k, k == 'a') && {'a': [1]}['a'][0] == 1 && has({'a': 1}.a)", true);
        check("optional.of(1).hasValue() && '%s'.format(['a']) == 'a' && type(1) == int", true);
    }

    #[test]
    fn loops_and_functions_pay_for_their_work() {
        let cost = |expression: &str, count| evaluated(expression, count).1;
        assert_eq!(cost("self.all(x, self.all(y, self.all(z, true)))", 600), None);
        assert_eq!(cost("self.all(x, self.exists(y, 1 / 0 == 1))", 3000), None);
        assert_eq!(cost("self.all(x, self.all(y, y in self)) || true", 300), None, "an error that `||` hides");
        assert!(cost("self.all(x, self.all(y, true))", 100).is_some_and(|cost| (40_000..100_000).contains(&cost)));
        assert_eq!(cost("self.size() > 2", 1_000_000), Some(0));
        let double = ".map(x, x + x)".repeat(40);
        assert_eq!(cost(&format!("['aaaaaaaa']{double}.size() > 0"), 0), None);
        let lists = ".map(x, x + x)".repeat(40);
        assert_eq!(cost(&format!("[[1]]{lists}.size() > 0"), 0), None);
        assert_eq!(cost("lists.range(1000000).size() > 0 && lists.range(1000000).size() > 0", 0), None);
        let long = ".replace('a', 'aaaaaaaaaaaaaaaa')".repeat(20);
        assert_eq!(cost(&format!("'a'{long} == ''"), 0), None);
        assert_eq!(cost("lists.range(400000).map(x, 'aaaaaaaaaaaaaaaaaaaaaa').join('bbbbbbbbbb') == ''", 0), None);
        assert_eq!(cost("lists.range(9000).distinct().size() == 9000", 0), None);
        assert_eq!(cost("self.exists(x, 'a'.matches('^b{5000}' + string(x) + '$'))", 600), None);
    }

    #[test]
    fn errors_are_short_and_name_known_functions() {
        let (result, _) = evaluated("self.matches('a')", 3);
        let text = readable(&result.expect_err("a list does not match"));
        assert!(text.contains("'matches'") && !text.contains('@'), "{text}");
        let (result, _) = evaluated("self - self", 3_000);
        assert!(readable(&result.expect_err("lists have no difference")).len() < 1100);
    }
}
