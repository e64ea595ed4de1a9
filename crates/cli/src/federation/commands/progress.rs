//! Progress lines of a server: rounds, missing signatures, sites that left. They hold names of parties and nothing else about them.

use super::run_monitor::outcome;
use federation::coordinator::{CoordinatorPhase, Header, SiteStanding};
use federation::manifest::Manifest;

/// Writes a line when the run changes; remembers the last state, so that no line is repeated.
#[derive(Default)]
pub(super) struct ProgressLines {
    moment: Option<(CoordinatorPhase, u64)>,
    unsigned: Vec<String>,
    standings: Vec<SiteStanding>,
}

impl ProgressLines {
    /// The new lines for a run in this state.
    pub(super) fn lines(&mut self, manifest: &Manifest, header: &Header) -> Vec<String> {
        let mut lines = self.standings(manifest, header);
        let (moment, unsigned) = ((header.phase, header.round), unsigned(manifest, header));
        let news =
            self.moment != Some(moment) || (header.phase == CoordinatorPhase::Signing && self.unsigned != unsigned);
        if news {
            lines.push(match header.phase {
                CoordinatorPhase::Signing => format!("waiting for signatures of {}", unsigned.join(", ")),
                CoordinatorPhase::Running => {
                    format!("round {} of {}", (header.round + 1).min(manifest.pace.rounds), manifest.pace.rounds)
                }
                CoordinatorPhase::Finished(how) => {
                    let words = outcome(how, manifest.blamed(how).as_deref());
                    format!("the run ended after {} rounds: {words}", header.round)
                }
            });
        }
        (self.moment, self.unsigned) = (Some(moment), unsigned);
        lines
    }

    /// Sites that stand otherwise than before.
    fn standings(&mut self, manifest: &Manifest, header: &Header) -> Vec<String> {
        let now: Vec<SiteStanding> = header.sites.iter().map(|seat| seat.standing).collect();
        let before = std::mem::replace(&mut self.standings, now);
        let changed = self.standings.iter().enumerate().filter(|(at, standing)| {
            let earlier = before.get(*at).copied().unwrap_or_default();
            earlier != **standing
        });
        let told = changed.filter_map(|(at, standing)| Some((manifest.sites.get(at)?, *standing)));
        told.map(|(site, standing)| format!("site {} {}", site.name, words(standing))).collect()
    }
}

fn words(standing: SiteStanding) -> &'static str {
    match standing {
        SiteStanding::Active => "takes part again",
        SiteStanding::Spent => "has spent its budget",
        SiteStanding::Withdrawn => "refused or stopped, and takes no further part",
        SiteStanding::Frozen => "is frozen: two copies of it were running, or its ledger was restored from an old copy",
    }
}

/// Who has not signed the manifest.
fn unsigned(manifest: &Manifest, header: &Header) -> Vec<String> {
    let sites = manifest.sites.iter().zip(&header.sites).filter(|(_, seat)| seat.signature.is_none());
    let nodes = manifest.nodes.iter().zip(&header.nodes).filter(|(_, signature)| signature.is_none());
    let sites = sites.map(|(site, _)| format!("site {}", site.name));
    sites.chain(nodes.map(|(node, _)| format!("node {}", node.name))).collect()
}
