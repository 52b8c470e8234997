// SPDX-License-Identifier: Apache-2.0
//! Options, boxes, lists and maps.

use std::collections::BTreeMap;

use super::{Dictionary, List, Optional, Slot, View, Wire};
use crate::meta::TextMap;

impl<T: Wire + Default> Wire for Option<T> {
    fn view(&self) -> View<'_> {
        self.as_ref().map_or(View::Null, T::view)
    }

    fn slot(&mut self) -> Slot<'_> {
        Slot::Optional(self)
    }

    fn is_zero(&self) -> bool {
        self.is_none()
    }
}

impl<T: Wire + Default> Optional for Option<T> {
    fn clear(&mut self) {
        *self = None;
    }

    fn fill(&mut self) -> &mut dyn Wire {
        self.insert(T::default())
    }

    fn get_or_fill(&mut self) -> &mut dyn Wire {
        self.get_or_insert_default()
    }
}

impl<T: Wire> Wire for Box<T> {
    fn view(&self) -> View<'_> {
        (**self).view()
    }

    fn slot(&mut self) -> Slot<'_> {
        (**self).slot()
    }

    fn is_zero(&self) -> bool {
        (**self).is_zero()
    }
}

impl<T: Wire + Default> Wire for Vec<T> {
    fn view(&self) -> View<'_> {
        View::List(self)
    }

    fn slot(&mut self) -> Slot<'_> {
        Slot::List(self)
    }

    fn is_zero(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Wire + Default> List for Vec<T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn get(&self, position: usize) -> &dyn Wire {
        &self[position]
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn push(&mut self) -> &mut dyn Wire {
        // Most lists have one item, and items are large: the capacity of four that `Vec` allocates by default would stay unused.
        if self.len() == self.capacity() {
            self.reserve_exact(self.len() / 2 + 1);
        }
        self.push_mut(T::default())
    }
}

impl<T: Wire + Default> Wire for BTreeMap<String, T> {
    fn view(&self) -> View<'_> {
        View::Map(self)
    }

    fn slot(&mut self) -> Slot<'_> {
        Slot::Map(self)
    }

    fn is_zero(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Wire + Default> Dictionary for BTreeMap<String, T> {
    fn each(&self, visit: &mut dyn FnMut(&str, &dyn Wire)) {
        for (key, value) in self {
            visit(key, value);
        }
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn set(&mut self, key: String) -> &mut dyn Wire {
        let value = self.entry(key).or_default();
        *value = T::default();
        value
    }

    fn get_or_set(&mut self, key: String) -> &mut dyn Wire {
        self.entry(key).or_default()
    }

    fn remove(&mut self, key: &str) {
        self.remove(key);
    }
}

impl Wire for TextMap {
    fn view(&self) -> View<'_> {
        View::Map(self)
    }

    fn slot(&mut self) -> Slot<'_> {
        Slot::Map(self)
    }

    fn is_zero(&self) -> bool {
        self.is_empty()
    }
}

impl Dictionary for TextMap {
    fn each(&self, visit: &mut dyn FnMut(&str, &dyn Wire)) {
        for (key, value) in self {
            visit(key, value);
        }
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn set(&mut self, key: String) -> &mut dyn Wire {
        let value = self.get_or_insert(&key, String::new);
        value.clear();
        value
    }

    fn get_or_set(&mut self, key: String) -> &mut dyn Wire {
        self.get_or_insert(&key, String::new)
    }

    fn remove(&mut self, key: &str) {
        self.remove(key);
    }
}
