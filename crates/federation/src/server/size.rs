//! How long a message of a run may be: by the numbers of its answers and by its members, which the manifest says.

use crate::manifest::{Manifest, RunParts};
use crate::sealed_message::most_bytes;
use crate::wire::SMALL_BYTES;

/// Most bytes of one number of an answer: a signed one of 64 bits as protocol buffers write it.
const NUMBER: usize = 10;

/// Most bytes of a short message of a secure sum with all that is around it: who writes, to whom, digests, a signature.
const SHORT_LETTER: usize = 1024;

/// Most short messages that a member writes to one node at a time: of a site a seed, of a node what it holds and a confirmation.
const TOGETHER: usize = 2;

/// Longest request of a member of a run, in bytes as it is sent.
///
/// It has room for one answer, or for one long message of a secure sum with the short ones that go with it.
pub fn longest_request(manifest: &Manifest, parts: &RunParts) -> usize {
    let built = &parts.built;
    let openings = built.openings.iter().flatten().map(|opening| &opening.terms);
    let terms = || built.terms.iter().chain(openings.clone());
    // What a gate lets through has the agreed shape; what is made of that is a change of the posterior.
    let released = terms().map(|terms| terms.shape.dimension());
    let numbers = released.chain([built.problem.family.len()]).max().unwrap_or(0);
    let assemblies = terms().filter_map(|terms| built.summing.assembly(terms).ok().flatten());
    let letter = assemblies.map(|assembly| most_bytes(&assembly)).max().unwrap_or(0);
    // One bit for each site says whose shares a node holds.
    let short = SHORT_LETTER.saturating_add(manifest.sites.len() / 8);
    let letters = manifest.nodes.len().saturating_mul(TOGETHER).saturating_mul(short).saturating_add(letter);
    numbers.saturating_mul(NUMBER).max(letters).saturating_add(SMALL_BYTES)
}
