// SPDX-License-Identifier: Apache-2.0
//! Requirements of a label selector, grouped by key.
//!
//! A selector may have tens of thousands of requirements, and is compared with each object of a list and each change
//! that a watch sees. Because of the grouping, the cost depends on the labels of the object only.

use super::labels::{Operator, Requirement};
use crate::meta::TextMap;

/// All requirements of a selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Demands {
    /// Sorted by key, each once.
    by_key: Vec<Demand>,
    /// Number of required keys.
    needed: usize,
}

/// Requirements for the value of one key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Demand {
    key: String,
    is_needed: bool,
    is_forbidden: bool,
    /// Allowed values, sorted; `None`: any.
    among: Option<Vec<String>>,
    /// Excluded values, sorted.
    not_among: Vec<String>,
    above: Option<i64>,
    below: Option<i64>,
}

impl Demands {
    /// Groups requirements that are sorted by key.
    pub(super) fn of(requirements: &[Requirement]) -> Self {
        let mut by_key: Vec<Demand> = Vec::new();
        for requirement in requirements {
            let is_known = by_key.last().is_some_and(|last| last.key == requirement.key);
            if !is_known {
                by_key.push(Demand { key: requirement.key.clone(), ..Demand::default() });
            }
            if let Some(demand) = by_key.last_mut() {
                demand.add(&requirement.operator);
            }
        }
        for demand in &mut by_key {
            demand.not_among.sort_unstable();
        }
        let needed = by_key.iter().filter(|demand| demand.is_needed).count();
        Self { by_key, needed }
    }

    /// True if labels satisfy all requirements.
    pub(super) fn allow(&self, labels: &TextMap) -> bool {
        if self.by_key.len() <= labels.len() {
            return self.by_key.iter().all(|demand| demand.allows(labels.get(&demand.key)));
        }
        let mut found = 0;
        for (key, value) in labels {
            let Ok(index) = self.by_key.binary_search_by(|demand| demand.key.cmp(key)) else { continue };
            let demand = &self.by_key[index];
            if !demand.allows(Some(value)) {
                return false;
            }
            found += usize::from(demand.is_needed);
        }
        found == self.needed
    }
}

impl Demand {
    fn add(&mut self, operator: &Operator) {
        match operator {
            Operator::NotIn(values) => return self.not_among.extend(values.iter().cloned()),
            Operator::DoesNotExist => return self.is_forbidden = true,
            Operator::In(values) => match &mut self.among {
                Some(among) => among.retain(|value| values.binary_search(value).is_ok()),
                None => self.among = Some(values.clone()),
            },
            Operator::Exists => {}
            Operator::GreaterThan(bound) => self.above = self.above.max(Some(*bound)),
            Operator::LessThan(bound) => self.below = Some(self.below.map_or(*bound, |below| below.min(*bound))),
        }
        self.is_needed = true;
    }

    fn allows(&self, value: Option<&String>) -> bool {
        let Some(value) = value else { return !self.is_needed };
        let number = || value.parse::<i64>().ok();
        !self.is_forbidden
            && self.among.as_ref().is_none_or(|among| among.binary_search(value).is_ok())
            && self.not_among.binary_search(value).is_err()
            && self.above.is_none_or(|above| number().is_some_and(|number| number > above))
            && self.below.is_none_or(|below| number().is_some_and(|number| number < below))
    }
}
