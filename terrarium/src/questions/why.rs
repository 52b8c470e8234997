// SPDX-License-Identifier: Apache-2.0
//! `terrarium why`: reasons for which a Shoot of a landscape waits, and its next maintenance.
//!
//! Each line names the object and field that it was read from; these objects are the only source. The lines about the next
//! maintenance come from the same functions as the controller's.

use clap::Args;
use domain::skew::GardenerVersion;

use crate::failure::Failure;
use crate::input::{AskedRelease, tell};
use crate::live::client::Client;
use crate::live::{Which, block_on};
use crate::output::{Form, Output};
use ops::explain::lines::{About, Line};
use ops::names::shoots::ShootName;
use serde_json::{Value, json};

/// Tell what a Shoot waits for, and what its next maintenance will do
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// shoot/PROJECT/NAME
    #[arg(value_name = "SHOOT")]
    shoot: ShootName,
    /// Only this worker pool
    #[arg(long, value_name = "P")]
    pool: Option<String>,
    /// Release of Gardener whose rules answer: `newest`, or a version as v1.149 [default: the landscape's]
    #[arg(long, value_name = "V", value_parser = ops::release::parse)]
    gardener_version: Option<GardenerVersion>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let client = Client::of(&arguments.which.directory()?)?;
    let release = AskedRelease { gardener_version: arguments.gardener_version.clone() };
    let (name, now, why, chosen) = block_on(async {
        let context = client.context();
        let now = client.clock().await?.now;
        let name = client.shoot(&arguments.shoot).await?;
        let shoot = name.find(&context).await?;
        let name = name.to_string();
        let chosen = release.of_landscape(&client.facts.name, &client.gardener_version().await?)?;
        let rules = (client.facts.seed, chosen.release);
        let why = ops::why::of(&context, &name, &shoot, now, rules, arguments.pool.as_deref()).await?;
        Ok((name, now, why, chosen))
    })?;
    tell(&chosen, output);
    if arguments.output != Form::Text {
        let lines = |lines: &[Line]| lines.iter().map(record).collect::<Vec<_>>();
        let (present, maintenance) = (lines(&why.present), lines(&why.maintenance));
        let mut record = json!({
            "shoot": name, "time": ops::show(now), "present": present, "maintenance": maintenance,
        });
        chosen.add_to(&mut record);
        return output.record(arguments.output, &record);
    }
    why.lines(&name, now).iter().try_for_each(|line| output.line(&line.to_string()))
}

/// Returns the record of a line with its fields and objects.
fn record(line: &Line) -> Value {
    let text: String = line.words.iter().map(|words| words.text.as_str()).collect();
    let about = line.words.iter().filter_map(|words| {
        Some(match words.about.as_ref()? {
            About::Field(path) => json!({ "field": path }),
            About::Object { kind, cluster, namespace, name } => {
                json!({ "kind": kind, "cluster": cluster.to_string(), "namespace": namespace, "name": name })
            }
        })
    });
    json!({ "text": text, "depth": line.depth, "about": about.collect::<Vec<_>>() })
}
