// SPDX-License-Identifier: Apache-2.0
//! Which object of the garden belongs to which Seed.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use domain::rbac::seed::Relations;
use domain::rbac::seed::graph::{Edge, Vertex, edges};
use generic_apiserver::observer::{Observed, REST};
use memchr::memmem;

/// Place of the status among [`Observed::parts`].
const STATUS: usize = 4;
/// What of a Shoot's status leads somewhere: a Shoot's status changes often, and mostly this does not.
const MARKS: [&[u8]; 2] = [b"\"seedName\":\"", b"\"technicalID\":\""];

/// All edges of one garden.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// What was read of each object.
    sources: BTreeMap<Vertex, Source>,
    /// Where an edge leads, and how many objects say so.
    out: BTreeMap<Vertex, BTreeMap<Vertex, usize>>,
    /// How many edges begin or end there.
    ends: BTreeMap<Vertex, usize>,
}

#[derive(Debug)]
struct Source {
    rest: Bytes,
    marks: Vec<Vec<u8>>,
    edges: Vec<Edge>,
}

impl Graph {
    /// Takes over an object that was written or is gone.
    pub(crate) fn take(&mut self, object: &Observed<'_>) {
        let vertex = Vertex::new(object.plural, object.namespace, object.name);
        let Some(parts) = object.parts else {
            if let Some(old) = self.sources.remove(&vertex) {
                self.remove(&old.edges);
            }
            return;
        };
        let marks = if object.plural == "shoots" { marks(&parts[STATUS]) } else { vec![parts[STATUS].to_vec()] };
        let known = self.sources.get(&vertex);
        if known.is_some_and(|known| known.rest == parts[REST] && known.marks == marks) {
            return;
        }
        let Some(tree) = object.tree() else { return };
        let edges = edges(object.plural, object.namespace, object.name, &tree);
        self.add(&edges);
        let source = Source { rest: parts[REST].clone(), marks, edges };
        if let Some(old) = self.sources.insert(vertex, source) {
            self.remove(&old.edges);
        }
    }

    fn add(&mut self, edges: &[Edge]) {
        for (from, to) in edges {
            *self.out.entry(from.clone()).or_default().entry(to.clone()).or_default() += 1;
            for end in [from, to] {
                *self.ends.entry(end.clone()).or_default() += 1;
            }
        }
    }

    fn remove(&mut self, edges: &[Edge]) {
        fn less(counts: &mut BTreeMap<Vertex, usize>, vertex: &Vertex) {
            if let Some(count) = counts.get_mut(vertex) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(vertex);
                }
            }
        }
        for (from, to) in edges {
            if let Some(ways) = self.out.get_mut(from) {
                less(ways, to);
                if ways.is_empty() {
                    self.out.remove(from);
                }
            }
            less(&mut self.ends, from);
            less(&mut self.ends, to);
        }
    }
}

/// What stands behind [`MARKS`].
fn marks(status: &[u8]) -> Vec<Vec<u8>> {
    let value = |mark: &[u8]| {
        let begin = memmem::find(status, mark)? + mark.len();
        let length = memchr::memchr(b'"', &status[begin..])?;
        Some(status[begin..begin + length].to_vec())
    };
    MARKS.into_iter().map(|mark| value(mark).unwrap_or_default()).collect()
}

impl Relations for Graph {
    fn exists(&self, object: &Vertex) -> bool {
        self.sources.contains_key(object) || self.ends.contains_key(object)
    }

    fn belongs(&self, object: &Vertex, seed: &str) -> bool {
        let wanted = Vertex::seed(seed);
        let (mut seen, mut open) = (BTreeSet::new(), vec![object]);
        while let Some(next) = open.pop() {
            if *next == wanted {
                return true;
            }
            if seen.insert(next) {
                open.extend(self.out.get(next).into_iter().flat_map(BTreeMap::keys));
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn take(graph: &mut Graph, plural: &str, name: &str, object: Option<(&Value, &Value)>) {
        let parts = object.map(|(spec, status)| {
            let texts = [
                "{\"kind\":\"K\",\"metadata\":{\"name\":\"n\"".to_owned(),
                String::new(),
                "}".to_owned(),
                format!(",\"spec\":{spec}"),
                format!(",\"status\":{status}}}"),
            ];
            texts.map(Bytes::from)
        });
        let namespace = if plural == "seeds" { "" } else { "garden-dev" };
        let observed = Observed { group: "", plural, cluster: "garden", namespace, name, parts: parts.as_ref() };
        graph.take(&observed);
    }

    #[test]
    fn what_leads_to_a_seed_belongs_to_it() {
        let mut graph = Graph::default();
        let secret = Vertex::new("secrets", "garden-dev", "s.ssh-keypair");
        let cluster = Vertex::cluster("shoot--dev--s");
        assert!(!graph.exists(&secret));
        take(&mut graph, "shoots", "s", Some((&json!({}), &json!({}))));
        assert!(graph.exists(&secret) && !graph.belongs(&secret, "a"));
        let spec = json!({ "seedName": "a" });
        take(&mut graph, "shoots", "s", Some((&spec, &json!({}))));
        assert!(graph.belongs(&secret, "a") && !graph.belongs(&secret, "b"));
        assert!(!graph.exists(&cluster));
        let status = json!({ "technicalID": "shoot--dev--s", "seedName": "b" });
        take(&mut graph, "shoots", "s", Some((&spec, &status)));
        assert!(graph.belongs(&cluster, "a") && graph.belongs(&cluster, "b"), "both have it while it moves");
        take(&mut graph, "shoots", "s", None);
        assert!(!graph.exists(&secret) && !graph.exists(&cluster));
        assert!(graph.out.is_empty() && graph.ends.is_empty() && graph.sources.is_empty());
    }

    #[test]
    fn ways_may_be_long_and_round() {
        let mut graph = Graph::default();
        take(&mut graph, "seeds", "m", Some((&json!({}), &json!({}))));
        take(&mut graph, "managedseeds", "m", Some((&json!({ "shoot": { "name": "s" } }), &json!({}))));
        take(&mut graph, "shoots", "s", Some((&json!({ "seedName": "a" }), &json!({}))));
        for (vertex, seed, expected) in [
            (Vertex::cluster("seed--m"), "m", true),
            (Vertex::cluster("seed--m"), "a", true),
            (Vertex::cluster("seed--m"), "b", false),
            (Vertex::seed("m"), "a", true),
            (Vertex::seed("a"), "m", false),
        ] {
            assert_eq!(graph.belongs(&vertex, seed), expected, "{vertex:?} {seed}");
        }
        graph.add(&[(Vertex::seed("a"), Vertex::cluster("seed--m"))]);
        assert!(!graph.belongs(&Vertex::cluster("seed--m"), "b"), "a circle is walked once");
    }
}
