// SPDX-License-Identifier: Apache-2.0
//! Estimated cost of CEL rules: a definition whose rules may cost too much is refused.
//!
//! The estimate is that of the largest object that the schema allows, so that limits of lists, maps and texts lower it.
//!
//! Source: k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation; github.com/google/cel-go checker/cost.go;
//! k8s.io/apiserver pkg/cel/library/cost.go.

use apimachinery::field::{FieldError, Path};
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use crate::declared::{Declared, KEY, Kind, REQUEST};
use crate::rule::{Compiled, with_stack};
use crate::schema::{Additional, Schema};

/// Cost limit of an expression, for all values of an object together.
const LIMIT: u64 = 10_000_000;
/// Cost limit of all expressions of a schema.
const TOTAL_LIMIT: u64 = 100_000_000;
/// Number of expressions that are named when all together cost too much.
const NAMED: usize = 4;

/// Cost of reading one byte of a text, and of a regular expression.
const TRAVERSAL: f64 = 0.1;
const REGEX: f64 = 0.25;

impl Schema {
    /// Returns refusals of the rules of a kind's schema that may cost too much. `is_each_limited`: each expression also
    /// has its own limit.
    pub(crate) fn excessive_costs(&self, path: &Path, is_each_limited: bool) -> Vec<FieldError> {
        let mut costs = Costs { is_each_limited, total: 0, largest: Vec::new(), errors: Vec::new() };
        costs.add(self, Declared::of(self, true).as_ref(), Some(1), path);
        if costs.total > TOTAL_LIMIT {
            costs.largest.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
            for (_, path) in costs.largest.iter().take(NAMED) {
                let text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
                costs.errors.push(FieldError::forbidden(path, text));
            }
            let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
            costs.errors.push(FieldError::forbidden(path, &excess(name, costs.total, TOTAL_LIMIT)));
        }
        costs.errors
    }
}

/// Formats a cost above its limit.
fn excess(name: &str, cost: u64, limit: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        // One decimal would show 1.0x.
        _ if factor < 1.5 => format!("{factor:.6}x"),
        _ if factor > 100.0 => "more than 100x".to_owned(),
        _ => format!("{factor:.1}x"),
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

struct Costs {
    is_each_limited: bool,
    total: u64,
    /// Expressions that use at least a hundredth of the total limit.
    largest: Vec<(u64, Path)>,
    errors: Vec<FieldError>,
}

impl Costs {
    /// Adds the rules of a schema and of all below it. `count`: largest number of its values in an object; None if only
    /// the size of a request limits it.
    fn add(&mut self, schema: &Schema, declared: Option<&Declared>, count: Option<u64>, path: &Path) {
        if let Some(declared) = declared {
            let count = count.unwrap_or(REQUEST / (declared.smallest + 1));
            for (index, rule) in schema.rules.iter().enumerate() {
                let Ok(compiled) = rule.compile() else { continue };
                let path = path.child("x-kubernetes-validations").index(index);
                let cost = estimate(&compiled, &compiled.rule, declared).saturating_mul(count);
                self.observe("estimated rule cost", cost, path.child("rule"));
                if let Some(message) = &compiled.message {
                    let cost = estimate(&compiled, message, declared);
                    self.observe("estimated messageExpression cost", cost, path.child("messageExpression"));
                }
            }
        }
        let times = |most: Option<usize>| count.zip(most).map(|(count, most)| count.saturating_mul(most as u64));
        for (name, property) in &schema.properties {
            let declared = declared.and_then(|declared| declared.fields.get(name));
            self.add(property, declared, count, &path.child("properties").key(name));
        }
        let items = declared.and_then(|declared| declared.items.as_deref());
        if let Some(Additional::Schema(value)) = &schema.additional_properties {
            self.add(value, items, times(schema.max_properties), &path.child("additionalProperties"));
        }
        if let Some(item) = &schema.items {
            self.add(item, items, times(schema.max_items), &path.child("items"));
        }
    }

    fn observe(&mut self, name: &str, cost: u64, path: Path) {
        if self.is_each_limited && cost > LIMIT {
            self.errors.push(FieldError::forbidden(&path, &excess(name, cost, LIMIT)));
        }
        self.total = self.total.saturating_add(cost);
        if cost >= TOTAL_LIMIT / 100 {
            self.largest.push((cost, path));
        }
    }
}

/// Returns the maximum cost of one evaluation of an expression for a value of the declared type.
fn estimate(rule: &Compiled, expression: &IdedExpr, declared: &Declared) -> u64 {
    let mut estimator = Estimator { root: declared, is_old_optional: rule.is_old_optional, variables: Vec::new() };
    with_stack(rule.length, || estimator.node(expression).cost)
}

/// Bounds of a number of items, entries or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    least: u64,
    most: u64,
}

impl Size {
    const UNKNOWN: Self = Self { least: 0, most: u64::MAX };

    const fn exactly(number: u64) -> Self {
        Self { least: number, most: number }
    }

    fn or(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    fn plus(self, other: Self) -> Self {
        Self { least: self.least.saturating_add(other.least), most: self.most.saturating_add(other.most) }
    }

    fn times(self, other: Self) -> Self {
        Self { least: self.least.saturating_mul(other.least), most: self.most.saturating_mul(other.most) }
    }

    /// Returns the cost if each unit costs `each`.
    fn cost(self, each: f64) -> u64 {
        scaled(self.most, each)
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as upstream: a rounded, positive number that saturates"
)]
fn scaled(number: u64, factor: f64) -> u64 {
    (number as f64 * factor).ceil() as u64
}

/// Type of an expression.
#[derive(Clone, Debug)]
enum Type<'a> {
    Plain(Kind),
    Declared(&'a Declared),
    List(Box<Type<'a>>),
    Map(Box<Type<'a>>, Box<Type<'a>>),
    Optional(Box<Type<'a>>),
}

impl Type<'_> {
    fn kind(&self) -> Kind {
        match self {
            Self::Plain(kind) => *kind,
            Self::Declared(declared) => declared.kind,
            Self::List(_) => Kind::List,
            Self::Map(..) => Kind::Map,
            Self::Optional(_) => Kind::Other,
        }
    }

    /// Returns the type of the values of a list or map.
    fn value(&self) -> Self {
        match self {
            Self::List(value) | Self::Map(_, value) => (**value).clone(),
            Self::Declared(declared) => declared.items.as_deref().map_or(Self::Plain(Kind::Dyn), Self::Declared),
            _ => Self::Plain(Kind::Dyn),
        }
    }

    /// Returns the type of the variable of a loop.
    fn iterated(&self) -> Self {
        match self {
            Self::Map(key, _) => (**key).clone(),
            _ if self.kind() == Kind::Map => Self::Plain(Kind::String),
            _ => self.value(),
        }
    }

    fn or(self, other: &Self) -> Self {
        if self.kind() == other.kind() { self } else { Self::Plain(Kind::Dyn) }
    }

    fn is_of_one_size(&self) -> bool {
        match self {
            Self::Optional(value) => value.is_of_one_size(),
            _ => matches!(
                self.kind(),
                Kind::Bool | Kind::Int | Kind::Uint | Kind::Double | Kind::Timestamp | Kind::Duration
            ),
        }
    }
}

/// Place of a value in the schema, which defines its size.
#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    /// The value was computed.
    Computed,
    At(&'a Declared),
    /// The schema does not name it.
    Unknown,
}

/// An expression, or a variable.
#[derive(Clone, Debug)]
struct Node<'a> {
    cost: u64,
    type_: Type<'a>,
    place: Place<'a>,
    size: Option<Size>,
    /// Size of the values of a computed list or map.
    value: Option<Size>,
    /// Size of the keys of a computed map.
    key: Option<Size>,
}

impl<'a> Node<'a> {
    fn new(cost: u64, type_: Type<'a>) -> Self {
        Self { cost, type_, place: Place::Computed, size: None, value: None, key: None }
    }

    fn size(&self) -> Size {
        self.size.unwrap_or(Size::UNKNOWN)
    }

    /// Sets an unknown size from the place or the type.
    fn sized(mut self) -> Self {
        self.size = self.size.or_else(|| match self.place {
            Place::At(declared) => Some(Size { least: 0, most: declared.most }),
            _ if self.type_.is_of_one_size() => Some(Size::exactly(1)),
            _ => None,
        });
        self
    }
}

struct Estimator<'a> {
    root: &'a Declared,
    is_old_optional: bool,
    variables: Vec<(String, Node<'a>)>,
}

impl<'a> Estimator<'a> {
    /// Returns the place of a part of a value; a computed value counts as one outside of the schema, as upstream.
    fn below(&self, place: Place<'a>, part: impl FnOnce(&'a Declared) -> Option<&'a Declared>) -> Place<'a> {
        match place {
            Place::Computed => Place::At(self.root),
            Place::At(declared) => part(declared).map_or(Place::Unknown, Place::At),
            Place::Unknown => Place::Unknown,
        }
    }

    fn node(&mut self, expression: &IdedExpr) -> Node<'a> {
        match &expression.expr {
            Expr::Unspecified => Node::new(0, Type::Plain(Kind::Dyn)),
            Expr::Literal(value) => literal(value),
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => {
                let operand = self.node(&select.operand);
                if select.test {
                    return Node::new(operand.cost, Type::Plain(Kind::Bool)).sized();
                }
                let is_counted = matches!(operand.type_.kind(), Kind::Map | Kind::Object);
                let type_ = match &operand.type_ {
                    Type::Declared(declared) if declared.kind == Kind::Object => {
                        declared.fields.get(&select.field).map_or(Type::Plain(Kind::Dyn), Type::Declared)
                    }
                    type_ => type_.value(),
                };
                // A field of this name, or none, as upstream: values of maps are known when they are indexed.
                let place = self.below(operand.place, |declared| declared.fields.get(&select.field));
                Node { place, ..Node::new(operand.cost + u64::from(is_counted), type_) }.sized()
            }
            Expr::List(list) => {
                let items: Vec<Node> = list.elements.iter().map(|item| self.node(item)).collect();
                let type_ = items.iter().map(|item| item.type_.clone()).reduce(|one, other| one.or(&other));
                let type_ = Type::List(Box::new(type_.unwrap_or(Type::Plain(Kind::Dyn))));
                let value = items.iter().map(Node::size).reduce(Size::or).unwrap_or(Size::exactly(0));
                let cost = items.iter().fold(10, |cost: u64, item| cost.saturating_add(item.cost));
                let size = Some(Size::exactly(items.len() as u64));
                Node { size, value: Some(value), key: Some(Size::exactly(1)), ..Node::new(cost, type_) }
            }
            Expr::Map(map) => self.map(map.entries.iter().map(|entry| &entry.expr)),
            Expr::Struct(fields) => {
                let node = self.map(fields.entries.iter().map(|entry| &entry.expr));
                Node::new(node.cost.saturating_add(10), Type::Plain(Kind::Dyn))
            }
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    fn map<'e>(&mut self, entries: impl Iterator<Item = &'e EntryExpr>) -> Node<'a> {
        let (mut cost, mut count) = (30_u64, 0);
        let (mut key, mut value): (Option<Size>, Option<Size>) = (None, None);
        let mut type_: Option<Type> = None;
        for entry in entries {
            count += 1;
            let (name, node) = match entry {
                EntryExpr::MapEntry(entry) => (Some(self.node(&entry.key)), self.node(&entry.value)),
                EntryExpr::StructField(field) => (None, self.node(&field.value)),
            };
            cost = cost.saturating_add(node.cost).saturating_add(name.as_ref().map_or(0, |name| name.cost));
            let or = |known: Option<Size>, size: Size| Some(known.map_or(size, |known| known.or(size)));
            key = or(key, name.map_or(Size::UNKNOWN, |name| name.size()));
            value = or(value, node.size());
            type_ = Some(type_.map_or_else(|| node.type_.clone(), |known| known.or(&node.type_)));
        }
        let value_type = Box::new(type_.unwrap_or(Type::Plain(Kind::Dyn)));
        let node = Node::new(cost, Type::Map(Box::new(Type::Plain(Kind::Dyn)), value_type));
        let (key, value) = (key.unwrap_or(Size::exactly(0)), value.unwrap_or(Size::exactly(0)));
        Node { size: Some(Size::exactly(count)), key: Some(key), value: Some(value), ..node }
    }

    fn variable(&self, name: &str) -> Node<'a> {
        if let Some((_, known)) = self.variables.iter().rev().find(|(known, _)| known == name) {
            return Node { cost: 1, ..known.clone() };
        }
        let own = Type::Declared(self.root);
        let type_ = match name {
            "self" => own,
            "oldSelf" if self.is_old_optional => Type::Optional(Box::new(own)),
            "oldSelf" => own,
            _ => Type::Plain(Kind::Other),
        };
        Node { place: Place::At(self.root), ..Node::new(1, type_) }.sized()
    }

    fn comprehension(&mut self, comprehension: &ComprehensionExpr) -> Node<'a> {
        let range = self.node(&comprehension.iter_range);
        let start = self.node(&comprehension.accu_init);
        let known = self.variables.len();
        self.variables.push((comprehension.accu_var.clone(), start.clone()));
        let is_map = range.type_.kind() == Kind::Map;
        let keys = Node {
            place: self.below(range.place, |declared| (declared.kind == Kind::Map).then_some(&KEY)),
            size: None,
            ..Node::new(0, range.type_.iterated())
        };
        let values = Node {
            place: self.below(range.place, |declared| declared.items.as_deref()),
            size: None,
            ..Node::new(0, range.type_.value())
        };
        let sized = |node: Node<'a>, computed: Option<Size>| {
            let node = node.sized();
            Node { size: node.size.or(computed), ..node }
        };
        let (keys, values) = (sized(keys, range.key), sized(values, range.value));
        match &comprehension.iter_var2 {
            Some(second) => {
                let first = if is_map { keys } else { Node::new(0, Type::Plain(Kind::Int)).sized() };
                self.variables.push((comprehension.iter_var.clone(), first));
                self.variables.push((second.clone(), values));
            }
            None => self.variables.push((comprehension.iter_var.clone(), if is_map { keys } else { values })),
        }
        let condition = self.node(&comprehension.loop_cond);
        let step = self.node(&comprehension.loop_step);
        self.variables.truncate(known + 1);
        self.variables[known].1.type_ = step.type_.clone();
        let result = self.node(&comprehension.result);
        self.variables.truncate(known);

        let count = range.size();
        let loops = count.most.saturating_mul(condition.cost.saturating_add(step.cost));
        let costs = [range.cost, start.cost, result.cost, loops];
        let cost = costs.into_iter().fold(0, u64::saturating_add);
        let mut node = Node::new(cost, result.type_.clone());
        match &comprehension.accu_init.expr {
            // A binding of a name to a value: the loop is never entered.
            _ if is_binding(comprehension) => {
                (node.size, node.value, node.key) = (result.size, result.value, result.key);
            }
            Expr::Literal(_) => node.size = start.size,
            Expr::List(_) | Expr::Map(_) => (node.size, node.value, node.key) = (Some(count), step.value, step.key),
            _ => {}
        }
        node.sized()
    }

    fn call(&mut self, call: &CallExpr) -> Node<'a> {
        let arguments: Vec<Node> = call.args.iter().map(|argument| self.node(argument)).collect();
        let target = call.target.as_ref().filter(|target| self.is_value(target)).map(|target| self.node(target));
        let operands = arguments.iter().chain(&target).fold(0, |cost: u64, operand| cost.saturating_add(operand.cost));
        let name = call.func_name.as_str();
        let mut node = match (name, arguments.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, [_, _]) => {
                return Node::new(operands, Type::Plain(Kind::Bool)).sized();
            }
            (operators::CONDITIONAL, [condition, yes, no]) => {
                let both = |one: Option<Size>, other: Option<Size>| Some(one?.or(other?));
                let cost = condition.cost.saturating_add(yes.cost.max(no.cost));
                let node = Node::new(cost, yes.type_.clone().or(&no.type_));
                let (value, key) = (both(yes.value, no.value), both(yes.key, no.key));
                return Node { size: Some(yes.size().or(no.size())), value, key, ..node };
            }
            ("dyn", [argument]) => {
                Node { cost: 1, place: Place::Computed, type_: Type::Plain(Kind::Dyn), ..argument.clone() }
            }
            (operators::INDEX, [container, _]) => {
                let place = self.below(container.place, |declared| declared.items.as_deref());
                Node { place, size: container.value, ..Node::new(1, container.type_.value()) }
            }
            (operators::ADD, [left, right]) => addition(left, right),
            _ => function(name, target.as_ref(), &arguments),
        };
        node.cost = node.cost.saturating_add(operands);
        node.sized()
    }

    /// True unless an expression is the first part of a function's name, as in `math.greatest`.
    fn is_value(&self, expression: &IdedExpr) -> bool {
        match &expression.expr {
            Expr::Ident(name) => {
                matches!(name.as_str(), "self" | "oldSelf") || self.variables.iter().any(|(known, _)| known == name)
            }
            Expr::Select(select) if !select.test => self.is_value(&select.operand),
            _ => true,
        }
    }
}

fn is_binding(comprehension: &ComprehensionExpr) -> bool {
    matches!(&comprehension.iter_range.expr, Expr::List(list) if list.elements.is_empty())
        && matches!(&comprehension.loop_cond.expr, Expr::Literal(LiteralValue::Boolean(it)) if !*it.inner())
}

fn literal<'a>(value: &LiteralValue) -> Node<'a> {
    let (kind, size) = match value {
        LiteralValue::String(text) => (Kind::String, text.inner().chars().count() as u64),
        LiteralValue::Bytes(bytes) => (Kind::Bytes, bytes.inner().len() as u64),
        LiteralValue::Boolean(_) => (Kind::Bool, 1),
        LiteralValue::Double(_) => (Kind::Double, 1),
        LiteralValue::Int(_) => (Kind::Int, 1),
        LiteralValue::UInt(_) => (Kind::Uint, 1),
        LiteralValue::Null => (Kind::Other, 1),
    };
    Node { size: Some(Size::exactly(size)), ..Node::new(0, Type::Plain(kind)) }
}

/// Returns a sum, or the concatenation of texts or lists.
fn addition<'a>(left: &Node<'a>, right: &Node<'a>) -> Node<'a> {
    let type_ = if left.type_.kind() == Kind::Dyn { right.type_.clone() } else { left.type_.clone() };
    let size = left.size().plus(right.size());
    let both = |one: Option<Size>, other: Option<Size>| Some(one?.or(other?));
    match type_.kind() {
        Kind::String | Kind::Bytes => Node { size: Some(size), ..Node::new(size.cost(TRAVERSAL), type_) },
        Kind::Dyn => Node { size: Some(size), ..Node::new(size.cost(TRAVERSAL).max(1), type_) },
        Kind::List => {
            let item = left.type_.value();
            let is_empty = left.size == Some(Size::exactly(0));
            let item = if is_empty { right.type_.value() } else { item };
            let (value, key) = (both(left.value, right.value), both(left.key, right.key));
            Node { size: Some(size), value, key, ..Node::new(1, Type::List(Box::new(item))) }
        }
        _ => Node::new(1, type_),
    }
}

/// Returns the result of any other function or operator, without the cost of its operands.
fn function<'a>(name: &str, target: Option<&Node<'a>>, arguments: &[Node<'a>]) -> Node<'a> {
    let text = |cost: u64, size: Option<Size>| Node { size, ..Node::new(cost, Type::Plain(Kind::String)) };
    let plain = |cost: u64, kind: Kind| Node::new(cost, Type::Plain(kind));
    let dynamic = |kind: Kind, known: &[Kind]| known.contains(&kind) || kind == Kind::Dyn;
    match (name, target, arguments) {
        (operators::EQUALS | operators::NOT_EQUALS, _, [left, right]) => {
            plain(scaled(left.size().most.min(right.size().most), TRAVERSAL), Kind::Bool)
        }
        (
            operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS,
            _,
            [left, right],
        ) => {
            let kind = if left.type_.kind() == Kind::Dyn { right.type_.kind() } else { left.type_.kind() };
            let texts = scaled(left.size().most.min(right.size().most), TRAVERSAL);
            let cost = match kind {
                Kind::String | Kind::Bytes => texts,
                Kind::Dyn => texts.max(1),
                _ => 1,
            };
            plain(cost, Kind::Bool)
        }
        (operators::IN, _, [_, container]) => match container.type_.kind() {
            Kind::List => plain(container.size().most, Kind::Bool),
            Kind::Dyn => plain(container.size().most.max(1), Kind::Bool),
            _ => plain(1, Kind::Bool),
        },
        ("startsWith" | "endsWith", Some(_), [part]) => plain(part.size().cost(TRAVERSAL), Kind::Bool),
        ("contains", Some(target), [part]) => {
            plain(target.size().cost(TRAVERSAL).saturating_mul(part.size().cost(TRAVERSAL)), Kind::Bool)
        }
        ("matches", Some(target), [pattern]) => {
            let read = target.size().plus(Size::exactly(1)).cost(TRAVERSAL);
            plain(read.saturating_mul(pattern.size().cost(REGEX)), Kind::Bool)
        }
        ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(target), _) => {
            text(target.size().cost(TRAVERSAL), Some(target.size()))
        }
        ("replace", Some(target), [old, new, ..]) => {
            text(target.size().cost(2.0 * TRAVERSAL), Some(replaced(target.size(), old.size(), new.size())))
        }
        ("split", Some(target), _) => {
            let size = Some(Size { least: 0, most: target.size().most });
            let type_ = Type::List(Box::new(Type::Plain(Kind::String)));
            Node { size, ..Node::new(target.size().cost(2.0 * TRAVERSAL), type_) }
        }
        ("join", Some(target), _) => {
            let item = match target.type_.value() {
                Type::Declared(declared) => Size { least: 0, most: declared.most },
                _ => target.value.unwrap_or(Size::UNKNOWN),
            };
            let count = target.size();
            let gaps = Size { least: count.least.saturating_sub(1), most: count.most.saturating_sub(1) };
            let separators = arguments.first().map_or(Size::exactly(0), |separator| separator.size().times(gaps));
            let size = count.times(item).plus(separators);
            text(size.cost(TRAVERSAL), Some(size))
        }
        ("indexOf" | "lastIndexOf", Some(target), _) => plain(target.size().cost(TRAVERSAL), Kind::Int),
        ("format", Some(target), _) => text(target.size().cost(TRAVERSAL), None),
        ("quote", None, [given]) => {
            let size = Size { least: given.size().least, most: given.size().most.saturating_mul(2) };
            text(given.size().cost(TRAVERSAL), Some(size.plus(Size::exactly(2))))
        }
        ("bytes", None, [given]) if dynamic(given.type_.kind(), &[Kind::String]) => {
            let size = Size { least: given.size().least, most: given.size().most.saturating_mul(4) };
            Node { size: Some(size), ..plain(given.size().cost(TRAVERSAL), Kind::Bytes) }
        }
        ("string", None, [given]) if given.type_.kind() == Kind::Bytes => {
            let size = Size { least: given.size().least / 4, most: given.size().most };
            text(given.size().cost(TRAVERSAL), Some(size))
        }
        ("value" | "orValue", Some(Node { type_: Type::Optional(value), .. }), _) => Node::new(1, (**value).clone()),
        ("of", None, [value]) => Node::new(1, Type::Optional(Box::new(value.type_.clone()))),
        (operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE | operators::MODULO, _, [left, _]) => {
            Node::new(1, left.type_.clone())
        }
        (operators::NEGATE, _, [operand]) => Node::new(1, operand.type_.clone()),
        _ => plain(1, kind_of(name)),
    }
}

/// Returns the kind of the result of a function by its name.
fn kind_of(name: &str) -> Kind {
    match name {
        operators::LOGICAL_NOT | operators::NOT_STRICTLY_FALSE | "matches" | "bool" | "hasValue" => Kind::Bool,
        "size" | "int" => Kind::Int,
        "uint" => Kind::Uint,
        "double" => Kind::Double,
        "string" | "charAt" => Kind::String,
        "timestamp" => Kind::Timestamp,
        "duration" => Kind::Duration,
        "type" => Kind::Other,
        _ if name.starts_with("get") => Kind::Int,
        _ => Kind::Dyn,
    }
}

/// Returns the size of a text in which each occurrence of a text is replaced.
fn replaced(text: Size, old: Size, new: Size) -> Size {
    let (mut count, mut kept) = (Size::exactly(0), Size::exactly(0));
    if old.least == 0 {
        // The empty text matches around each character.
        (count.most, kept.most) = (text.most.saturating_add(1), text.most);
    } else if new.most <= old.least {
        kept.most = text.most;
    } else {
        count.most = text.most.div_ceil(old.least);
    }
    if old.most == 0 {
        (count.least, kept.least) = (text.least.saturating_add(1), text.least);
    } else if old.most <= new.least {
        kept.least = text.least;
    } else {
        count.least = text.least.div_ceil(old.most);
    }
    count.times(new).plus(kept)
}

#[cfg(test)]
mod tests;
