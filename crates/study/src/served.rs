//! `[federation]` as meant: sites with their declared rows, compute nodes, and how rounds are paced, where a study is served.

use super::fault::{Fault, StudyText};
use super::typed::{FederationAsTyped, StudyAsTyped};
use super::unroll::Named;
use crate::party_name::PartyName;
use inference::settings::{Aggregator, SecureSumSettings};
use inference::{Method, Partition, Skew};
use privacy::Unit;
use serde_json::json;

/// Code of what does not fit in `[federation]`.
const CODE: &str = "F102";

/// Who takes part where a study is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// In the order of clients.
    pub sites: Vec<ServedSite>,
    /// Whether persons are declared in place of rows.
    pub by_person: bool,
    /// The compute nodes of a secure sum.
    pub nodes: Vec<PartyName>,
    /// Fewest sites with which a round goes on; without it, as many as the method can do with.
    pub quorum: Option<u64>,
    /// Seconds after which a round does without stragglers; without it, a round waits.
    pub deadline: Option<u64>,
}

/// A site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedSite {
    /// As in its certificate.
    pub name: PartyName,
    /// Declared, never counted: rows, or persons where [`Served::by_person`].
    pub rows: u64,
}

impl Served {
    /// The declared rows, or persons, of each site.
    pub fn rows(&self) -> Vec<u64> {
        self.sites.iter().map(|site| site.rows).collect()
    }

    /// The names of the sites.
    pub fn names(&self) -> Vec<String> {
        self.sites.iter().map(|site| site.name.to_string()).collect()
    }

    /// What is declared of each site.
    fn counted(&self) -> &'static str {
        if self.by_person { "persons" } else { "rows" }
    }

    /// As one object.
    pub fn object(&self) -> serde_json::Value {
        let site = |site: &ServedSite| json!({ "name": site.name.as_str(), self.counted(): site.rows });
        let nodes: Vec<&str> = self.nodes.iter().map(PartyName::as_str).collect();
        json!({
            "sites": self.sites.iter().map(site).collect::<Vec<_>>(), "nodes": nodes, "quorum": self.quorum,
            "deadline": self.deadline,
        })
    }

    /// In words.
    pub fn words(&self) -> String {
        let site = |site: &ServedSite| format!("{} ({} {})", site.name, site.rows, self.counted());
        let sites: Vec<String> = self.sites.iter().map(site).collect();
        let mut words = format!("{} sites as declared: {}", sites.len(), sites.join(", "));
        if !self.nodes.is_empty() {
            let names: Vec<&str> = self.nodes.iter().map(PartyName::as_str).collect();
            words += &format!("; compute nodes {}", names.join(", "));
        }
        if let Some(quorum) = self.quorum {
            words += &format!("; a round goes on with {quorum}");
        }
        if let Some(deadline) = self.deadline {
            words += &format!("; it waits {deadline} s for stragglers");
        }
        words
    }
}

/// The table, where there is one.
pub(super) fn of(typed: &StudyAsTyped, source: &StudyText<'_>) -> Result<Option<Served>, Fault> {
    let Some(table) = &typed.federation else { return Ok(None) };
    let fault = |key: &str, message: String, hint: &str| Err(source.fault(&path(key), CODE, message, hint));
    if !typed.columns.is_empty() {
        let message = "a federation has one data set and one partition, and this study has several columns";
        return fault("", message.into(), "leave the [[column]]s or [federation] out");
    }
    if typed.data.synthetic.is_some() || typed.data.drawn.is_some() {
        return fault("", "made-up rows are at no site".into(), "leave [federation] out: the study can be run");
    }
    if table.sites.is_empty() {
        let hint = "for example sites = [{ name = \"north\", rows = 200 }, { name = \"south\", rows = 150 }]";
        return fault("sites", "there is no site".into(), hint);
    }
    let served = Served {
        sites: sites(table, source)?,
        by_person: table.sites.iter().all(|site| site.persons.is_some()),
        nodes: nodes(table, source)?,
        quorum: table.quorum,
        deadline: table.deadline,
    };
    once(&served, source)?;
    if let Some(quorum) = table.quorum.filter(|quorum| !(1..=table.sites.len() as u64).contains(quorum)) {
        let message = format!("quorum is {quorum}, expected from 1 to {}, the number of sites", table.sites.len());
        return fault("quorum", message, "leave quorum out to wait for as many as the method needs");
    }
    if table.deadline == Some(0) {
        let hint = "for example deadline = 60, in seconds; leave it out to wait for everybody";
        return fault("deadline", "deadline is 0, expected a number of seconds over 0".into(), hint);
    }
    Ok(Some(served))
}

fn path(key: &str) -> String {
    if key.is_empty() { "federation".into() } else { format!("federation.{key}") }
}

fn sites(table: &FederationAsTyped, source: &StudyText<'_>) -> Result<Vec<ServedSite>, Fault> {
    let site = |(at, site): (usize, &super::typed::SiteAsTyped)| {
        let name = name(&site.name, source, &path(&format!("sites.{at}.name")))?;
        let (key, declared) = match (site.rows, site.persons) {
            (Some(rows), None) => ("rows", rows),
            (None, Some(persons)) => ("persons", persons),
            (rows, _) => {
                let found = if rows.is_some() { "both rows and persons" } else { "neither rows nor persons" };
                let message = format!("{name} declares {found}");
                let hint = "declare one of the two: persons = 80 where methods have unit = \"person\", else rows = 200";
                return Err(source.fault(&path(&format!("sites.{at}")), CODE, message, hint));
            }
        };
        if declared == 0 {
            let message = format!("{name} has 0 {key}, expected at least one");
            let hint = "declare how many the site has; under add-remove a number near it";
            return Err(source.fault(&path(&format!("sites.{at}.{key}")), CODE, message, hint));
        }
        Ok(ServedSite { name, rows: declared })
    };
    let mixed = table.sites.iter().position(|site| site.persons.is_some() != table.sites[0].persons.is_some());
    if let Some(at) = mixed.filter(|_| table.sites.iter().all(|site| site.rows.is_some() != site.persons.is_some())) {
        let message = "some sites declare rows and others persons".to_owned();
        return Err(source.fault(&path(&format!("sites.{at}")), CODE, message, "declare the same for all sites"));
    }
    table.sites.iter().enumerate().map(site).collect()
}

fn nodes(table: &FederationAsTyped, source: &StudyText<'_>) -> Result<Vec<PartyName>, Fault> {
    let nodes = table.nodes.iter().enumerate();
    nodes.map(|(at, node)| name(node, source, &path(&format!("nodes.{at}")))).collect()
}

fn name(text: &str, source: &StudyText<'_>, at: &str) -> Result<PartyName, Fault> {
    PartyName::new(text).map_err(|why| source.fault(at, CODE, why, "the name stands in the party's certificate"))
}

/// No two parties have one name.
fn once(served: &Served, source: &StudyText<'_>) -> Result<(), Fault> {
    let sites = served.sites.iter().enumerate().map(|(at, site)| (&site.name, format!("sites.{at}")));
    let nodes = served.nodes.iter().enumerate().map(|(at, node)| (node, format!("nodes.{at}")));
    let mut seen: Vec<&PartyName> = Vec::new();
    for (name, key) in sites.chain(nodes) {
        if seen.contains(&name) {
            let message = format!("two parties are named {name}");
            return Err(source.fault(&path(&key), CODE, message, "a party is known by its name"));
        }
        seen.push(name);
    }
    Ok(())
}

/// Holds the table against the partition of the simulation, and against every method that opens sums.
pub(super) fn check(
    served: &Served,
    partition: Option<&Partition>,
    (names, methods): (&[Named], &[Method]),
    source: &StudyText<'_>,
) -> Result<(), Fault> {
    let (sites, nodes) = (served.sites.len() as u64, served.nodes.len());
    if let Some(Partition::Even { clients } | Partition::Skewed(Skew { clients, .. })) = partition
        && *clients as u64 != sites
    {
        let message = format!("[partition] has {clients} clients, and [federation] {sites} sites");
        let hint = "a simulation of another number of sites says nothing of these; leave [partition] and split out of a \
                    study that is only served";
        return Err(source.fault("partition.clients", CODE, message, hint));
    }
    units(served, (names, methods), source)?;
    let mut summed = false;
    for (named, method) in names.iter().zip(methods) {
        let aggregator = method.promise.as_ref().map(|promise| promise.aggregator);
        let Some(Aggregator::SecureSum(SecureSumSettings { nodes: needed, dropouts, .. })) = aggregator else {
            continue;
        };
        summed = true;
        if needed as usize != nodes {
            let message = format!("method {:?} has {needed} compute nodes, and [federation] {nodes}", method.name);
            let key = if nodes == 0 { path("") } else { named.path("privacy.nodes") };
            let hint = "name every node: nodes = [\"alice\", \"bob\"] in [federation], and nodes = 2 in privacy";
            return Err(source.fault(&key, CODE, message, hint));
        }
        let least = sites.saturating_sub(dropouts);
        if let Some(quorum) = served.quorum.filter(|quorum| *quorum < least) {
            let message = format!(
                "quorum is {quorum}, and the sum of {:?} is opened with {least} of {sites} sites or more",
                method.name
            );
            let hint = "raise quorum, or dropouts in privacy";
            return Err(source.fault(&path("quorum"), CODE, message, hint));
        }
    }
    if nodes > 0 && !summed {
        let message = "there are compute nodes, and no method opens a secure sum".to_owned();
        let hint = "leave nodes out, or use aggregator = \"secure-sum\" in a method's privacy";
        return Err(source.fault(&path("nodes"), CODE, message, hint));
    }
    Ok(())
}

/// Declared numbers are of what the private methods protect: persons, or rows.
fn units(served: &Served, (names, methods): (&[Named], &[Method]), source: &StudyText<'_>) -> Result<(), Fault> {
    for (named, method) in names.iter().zip(methods) {
        let unit = method.unit();
        if method.promise.is_none() || unit == Unit::Client || (unit == Unit::Person) == served.by_person {
            continue;
        }
        let (found, expected) = if served.by_person { ("persons", "rows") } else { ("rows", "persons") };
        let message = format!("[federation] declares {found}, and method {:?} has unit = \"{unit}\"", method.name);
        let hint = format!("declare {expected} = N for every site, or change the unit");
        return Err(source.fault(&named.path("privacy.unit"), CODE, message, hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
