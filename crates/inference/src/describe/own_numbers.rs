//! What single sites may promise for themselves: which numbers go with which parts, and with whom who adds up.

use super::{Allowed, Conflict, NOT_TOGETHER, STRAY};
use crate::method::Method;
use crate::release::{Bound, Releases};
use crate::settings::{Aggregator, Promise, SitePromise};

/// A number of a promise that a site may have of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnNumber {
    /// ε or δ, at a gate of its own: its noise is its own.
    Budget,
    /// C, at a gate of its own.
    Clip,
    /// C, where only sums are opened: vectors that sites clip otherwise are added up.
    ClipInSum,
}

impl OwnNumber {
    /// Its key, and where it is taken.
    pub fn word(self) -> &'static str {
        match self {
            Self::Budget => "epsilon and delta",
            Self::Clip => "clip at a gate of its own",
            Self::ClipInSum => "clip with an aggregator",
        }
    }
}

/// ε, δ and clips of sites at their own gates.
pub const AT_OWN_GATES: &[OwnNumber] = &[OwnNumber::Budget, OwnNumber::Clip];

/// Refuses numbers of single sites with which a part does not go.
pub(super) fn check(
    method: &Method,
    promise: &Promise,
    allowed: &Allowed<OwnNumber>,
    who: &str,
) -> Result<(), Conflict> {
    let clip = if promise.aggregator == Aggregator::None { OwnNumber::Clip } else { OwnNumber::ClipInSum };
    let stated = [
        (OwnNumber::Budget, method.sites.first_key(SitePromise::budget_key)),
        (clip, method.sites.first_key(SitePromise::clip_key)),
    ];
    for (number, stated) in stated {
        if let (Some((key, name)), false) = (stated, allowed.values.contains(&number)) {
            let what = format!("{who} cannot be combined with a site's own {name}: {}", allowed.because);
            return Err(Conflict::new(key, NOT_TOGETHER, what, format!("leave {name} of the site out")));
        }
    }
    Ok(())
}

/// What single sites cannot promise: with one noise for all sites the ε of a site follows from its clip; a share of the noise is sized
/// for one clip; and a clip of a site's own has to be used.
pub(super) fn of_sites(method: &Method, promise: &Promise, releases: &Releases) -> Result<(), Conflict> {
    let (budget, clip) =
        (method.sites.first_key(SitePromise::budget_key), method.sites.first_key(SitePromise::clip_key));
    if let (Some((key, name)), true) = (budget, promise.aggregator != Aggregator::None) {
        let what = format!("with an aggregator all sites share one noise: a site has no {name} of its own");
        let hint = "state clip for this site: its ε follows from the same noise on vectors of that length; or use aggregator = \"none\"";
        return Err(Conflict::new(key, "S007", what, hint));
    }
    let Some((key, _)) = clip else { return Ok(()) };
    if promise.aggregator.by_shares() {
        let what = "clients' shares of the noise are sized for one clip";
        return Err(Conflict::new(key, "S007", what, "use noise = \"nodes\", or one clip for all sites"));
    }
    match releases.all().find(|release| release.bound == Bound::Clip) {
        Some(_) => Ok(()),
        None => Err(unused_clip(&key, releases)),
    }
}

/// The refusal of a bound that nothing is clipped to.
pub(super) fn unused_clip(key: &str, releases: &Releases) -> Conflict {
    let of = releases.all().next().map_or("sums", |release| release.clipped.words());
    let what =
        format!("the bound of {of} follows from other settings: there is nothing to clip to a bound of your own");
    Conflict::new(key, STRAY, what, "leave clip out")
}
