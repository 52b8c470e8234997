// SPDX-License-Identifier: Apache-2.0
//! The nodes of a cluster.

use api::core::Shoot;
use api::kubernetes::core::Node;
use maud::{Markup, html};

use crate::message::Message;
use crate::parts::{table, time};
use crate::view::View;

pub(super) async fn draw(view: &View, shoot: &Shoot) -> Markup {
    let cluster = &shoot.status.technical_id;
    if cluster.is_empty() {
        return html! { p { "Its API server is not there yet, so there are no nodes." } };
    }
    let mut nodes = match view.list::<Node>(cluster, None, "").await {
        Ok(nodes) => nodes,
        // Before the cluster's API server exists, its nodes are unknown.
        Err(error) if error.is_not_found() => Vec::new(),
        Err(error) => return Message::of_error("nodes cannot be read", &error).markup(),
    };
    nodes.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    let rows: Vec<Vec<Markup>> = nodes.iter().map(|node| row(view, node)).collect();
    html! {
        @if rows.is_empty() { p { "No nodes." } }
        @else { (table::plain("Nodes of the cluster", &["Node", "Ready", "Schedulable", "Kubelet", "Image", "Created"], &rows)) }
    }
}

fn row(view: &View, node: &Node) -> Vec<Markup> {
    let ready = node.status.conditions.iter().find(|condition| condition.r#type == "Ready");
    let info = &node.status.node_info;
    vec![
        html! { (node.metadata.name) },
        html! { @match ready { Some(ready) => { span class={"chip c-" (ready.status)} { (ready.status) } } None => { (table::NONE) } } },
        html! { @if node.spec.unschedulable { "no, cordoned" } @else { "yes" } },
        html! { (info.kubelet_version) },
        html! { (info.os_image) },
        time::instant_from(node.metadata.creation_timestamp.0, view.now()),
    ]
}
