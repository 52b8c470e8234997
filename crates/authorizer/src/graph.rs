// SPDX-License-Identifier: Apache-2.0
//! The graph of ownership between objects of the garden and Seeds.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use domain::rbac::seed::Relations;
use domain::rbac::seed::graph::{Vertex, edges};
use generic_apiserver::observer::{Observed, REST};
use memchr::memmem;
use rustc_hash::FxHashMap;
use slab::Slab;

/// Index of the status in [`Observed::parts`].
const STATUS: usize = 4;
/// Texts before the parts of a Shoot's status that edges depend on: the status changes often, but mostly without a
/// change of these.
const MARKS: [&[u8]; 2] = [b"\"seedName\":\"", b"\"technicalID\":\""];

/// All edges of one garden. A Shoot has a dozen of them, to objects that mostly do not exist yet, so a vertex is one
/// text and edges are pairs of numbers.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: Slab<Node>,
    /// Index of the node of each vertex, by [`text`].
    numbers: FxHashMap<Arc<str>, usize>,
}

/// A vertex whose object was read, or that is an end of an edge.
#[derive(Debug)]
struct Node {
    text: Arc<str>,
    /// Nodes to which edges lead, one entry for each object that defines the edge.
    out: Vec<usize>,
    /// Number of edges that begin or end here.
    ends: usize,
    /// State that was read from the object; `None`: only edges of other objects name it.
    source: Option<Box<Source>>,
}

#[derive(Debug)]
struct Source {
    rest: Bytes,
    marks: Vec<Vec<u8>>,
    /// Indices of the nodes where each edge begins and ends.
    edges: Box<[(usize, usize)]>,
}

/// Formats a vertex as one text: no plural name, namespace or name has a NUL.
fn text(vertex: &Vertex) -> String {
    format!("{}\0{}\0{}", vertex.plural, vertex.namespace, vertex.name)
}

impl Graph {
    /// Updates the graph for an object that was written or deleted.
    pub(crate) fn take(&mut self, object: &Observed<'_>) {
        let vertex = Vertex::new(object.plural, object.namespace, object.name);
        let Some(parts) = object.parts else {
            let Some(number) = self.number(&vertex) else { return };
            let source = self.nodes[number].source.take();
            return self.remove(number, source);
        };
        let marks = if object.plural == "shoots" { marks(&parts[STATUS]) } else { vec![parts[STATUS].to_vec()] };
        let known = self.number(&vertex).and_then(|number| self.nodes[number].source.as_ref());
        if known.is_some_and(|known| known.rest == parts[REST] && known.marks == marks) {
            return;
        }
        let Some(tree) = object.tree() else { return };
        let number = self.number_or_new(&vertex);
        let edges = self.add(&edges(object.plural, object.namespace, object.name, &tree));
        let old = self.nodes[number].source.replace(Box::new(Source { rest: parts[REST].clone(), marks, edges }));
        self.remove(number, old);
    }

    fn number(&self, vertex: &Vertex) -> Option<usize> {
        self.numbers.get(text(vertex).as_str()).copied()
    }

    fn number_or_new(&mut self, vertex: &Vertex) -> usize {
        let text = text(vertex);
        if let Some(number) = self.numbers.get(text.as_str()) {
            return *number;
        }
        let text: Arc<str> = text.into();
        let number = self.nodes.insert(Node { text: text.clone(), out: Vec::new(), ends: 0, source: None });
        self.numbers.insert(text, number);
        number
    }

    fn add(&mut self, edges: &[(Vertex, Vertex)]) -> Box<[(usize, usize)]> {
        let numbered = edges.iter().map(|(from, to)| {
            let (from, to) = (self.number_or_new(from), self.number_or_new(to));
            self.nodes[from].out.push(to);
            self.nodes[from].ends += 1;
            self.nodes[to].ends += 1;
            (from, to)
        });
        numbered.collect()
    }

    /// Removes the previous edges of an object, and each node without object and edges.
    fn remove(&mut self, number: usize, old: Option<Box<Source>>) {
        for (from, to) in old.iter().flat_map(|old| &old.edges) {
            let out = &mut self.nodes[*from].out;
            if let Some(place) = out.iter().position(|end| end == to) {
                out.swap_remove(place);
            }
            for end in [*from, *to] {
                self.nodes[end].ends -= 1;
                self.drop_unused(end);
            }
        }
        self.drop_unused(number);
    }

    fn drop_unused(&mut self, number: usize) {
        if self.nodes.get(number).is_some_and(|node| node.ends == 0 && node.source.is_none()) {
            let node = self.nodes.remove(number);
            self.numbers.remove(&node.text);
        }
    }
}

/// Returns the values after [`MARKS`].
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
        self.number(object).is_some()
    }

    fn belongs(&self, object: &Vertex, seed: &str) -> bool {
        let wanted = Vertex::seed(seed);
        if *object == wanted {
            return true;
        }
        let (Some(begin), Some(wanted)) = (self.number(object), self.number(&wanted)) else { return false };
        let (mut seen, mut open) = (BTreeSet::new(), vec![begin]);
        while let Some(next) = open.pop() {
            if next == wanted {
                return true;
            }
            if seen.insert(next) {
                open.extend(&self.nodes[next].out);
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
    fn objects_with_a_path_to_a_seed_belong_to_it() {
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
        assert!(graph.nodes.is_empty() && graph.numbers.is_empty());
    }

    #[test]
    fn paths_may_be_long_and_cyclic() {
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
