// SPDX-License-Identifier: Apache-2.0
//! A strategy composed of functions.

use std::fmt;

use apimachinery::field::FieldError;
use apimachinery::{Object, Resource};
use generic_apiserver::registry::Generation;
use generic_apiserver::{RequestContext, Strategy};

type Violations = Vec<FieldError>;
type Create<K> = dyn Fn(&K) -> Violations + Send + Sync;
type Update<K> = dyn Fn(&K, &K) -> Violations + Send + Sync;
type Defaults<K> = dyn Fn(&mut K) + Send + Sync;
type Warnings<K> = dyn Fn(&K, Option<&K>) -> Vec<String> + Send + Sync;

/// The functions that define the behaviour of a kind.
pub struct Rules<K> {
    create: Box<Create<K>>,
    update: Box<Update<K>>,
    status: fn(&K, &K) -> Violations,
    default: Box<Defaults<K>>,
    prepare: fn(&mut K),
    canonicalize: Box<Defaults<K>>,
    warnings: Box<Warnings<K>>,
    raises: Option<fn(&mut K, &K) -> bool>,
    generation: Generation,
    unconditional: bool,
}

impl<K> Rules<K> {
    /// Creates a strategy from the rules for new and for changed objects; everything else is generic.
    pub fn new(
        create: impl Fn(&K) -> Violations + Send + Sync + 'static,
        update: impl Fn(&K, &K) -> Violations + Send + Sync + 'static,
    ) -> Self {
        Self {
            create: Box::new(create),
            update: Box::new(update),
            status: |_, _| Vec::new(),
            default: Box::new(|_| {}),
            prepare: |_| {},
            canonicalize: Box::new(|_| {}),
            warnings: Box::new(|_, _| Vec::new()),
            raises: None,
            generation: Generation::Standard,
            unconditional: false,
        }
    }

    /// Sets the function that fills the defaults.
    pub fn default(mut self, default: impl Fn(&mut K) + Send + Sync + 'static) -> Self {
        self.default = Box::new(default);
        self
    }

    /// Sets the function that changes objects before validation, on the main resource only.
    pub fn prepare(mut self, prepare: fn(&mut K)) -> Self {
        self.prepare = prepare;
        self
    }

    /// Sets the function that normalises objects after validation.
    pub fn canonicalize(mut self, canonicalize: impl Fn(&mut K) + Send + Sync + 'static) -> Self {
        self.canonicalize = Box::new(canonicalize);
        self
    }

    /// Sets the function that returns the warnings for clients, from the object and the stored one of an update.
    pub fn warnings(mut self, warnings: impl Fn(&K, Option<&K>) -> Vec<String> + Send + Sync + 'static) -> Self {
        self.warnings = Box::new(warnings);
        self
    }

    /// Sets the function that decides which updates raise the generation.
    pub fn raises(mut self, raises: fn(&mut K, &K) -> bool) -> Self {
        self.raises = Some(raises);
        self.generation = Generation::Strategy;
        self
    }

    /// Sets the rules for a changed status.
    pub fn status(mut self, status: fn(&K, &K) -> Violations) -> Self {
        self.status = status;
        self
    }

    /// Sets the rule by which the server raises the generation.
    pub fn generation(mut self, generation: Generation) -> Self {
        self.generation = generation;
        self
    }

    /// Accepts a PUT without resource version.
    pub fn unconditional(mut self) -> Self {
        self.unconditional = true;
        self
    }
}

impl<K> fmt::Debug for Rules<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rules")
    }
}

impl<K: Resource + Object> Strategy<K> for Rules<K> {
    fn default(&self, object: &mut K) {
        (self.default)(object);
    }

    fn prepare_for_create(&self, object: &mut K, _: &RequestContext) {
        (self.prepare)(object);
    }

    fn validate_create(&self, object: &K, _: &RequestContext) -> Violations {
        (self.create)(object)
    }

    fn prepare_for_update(&self, object: &mut K, old: &K, request: &RequestContext) {
        if !request.subresource.is_empty() {
            return;
        }
        (self.prepare)(object);
        if let Some(raises) = self.raises
            && raises(object, old)
        {
            Resource::metadata_mut(object).generation = Resource::metadata(old).generation + 1;
        }
    }

    fn validate_update(&self, object: &K, old: &K, request: &RequestContext) -> Violations {
        if &*request.subresource == "status" { (self.status)(object, old) } else { (self.update)(object, old) }
    }

    fn canonicalize(&self, object: &mut K) {
        (self.canonicalize)(object);
    }

    fn warnings(&self, object: &K, old: Option<&K>, request: &RequestContext) -> Vec<String> {
        if request.subresource.is_empty() { (self.warnings)(object, old) } else { Vec::new() }
    }

    fn generation(&self) -> Generation {
        self.generation
    }

    fn allows_unconditional_update(&self) -> bool {
        self.unconditional
    }
}
