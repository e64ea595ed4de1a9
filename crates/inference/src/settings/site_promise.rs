//! What single sites promise in place of what a method promises: ε, δ and a clip of their own.
//!
//! They are constants of the study, by the names of its sites, fixed before any release and seen by all; none of them is computed from
//! rows. Planning goes by positions, so the names are [placed](SitePromises::placed) once the order of the sites is known. A promise
//! of a site whose place is not known is refused, and never left out.

use crate::data::nearest;
use crate::describe::{Conflict, Key, Keys, Otherwise, UNKNOWN, UNREADABLE, VALUE, ValueKind};
use privacy::{Delta, Epsilon, NormBound, PrivacyError};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a site has of its own; what is none is that of the method's promise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SitePromise {
    /// ε_m, granted to this site.
    pub epsilon: Option<Epsilon>,
    /// δ_m.
    pub delta: Option<Delta>,
    /// C_m.
    pub clip: Option<NormBound>,
}

/// The sites with a promise of their own.
///
/// # Examples
/// ```
/// use inference::describe::Keys;
/// use inference::settings::{PRIVACY_KEYS, SitePromises};
///
/// let table = toml::from_str(r#"
///     epsilon = 1.0
///     sites = { north = { epsilon = 0.5 } }
/// "#)?;
/// let sites = SitePromises::read(&Keys::new(&table, PRIVACY_KEYS)).map_err(|conflict| conflict.what)?;
/// let names = ["south".to_owned(), "north".to_owned()];
/// let placed = sites.placed(&names).map_err(|conflict| conflict.what)?;
/// assert_eq!(placed.of(0).epsilon, None);
/// assert_eq!(placed.of(1).epsilon.map(|epsilon| epsilon.get()), Some(0.5));
/// assert!(sites.placed(&names[..1]).is_err(), "there is no site north");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SitePromises {
    by_name: BTreeMap<String, SitePromise>,
    /// By position, once the sites are known.
    in_order: Option<Vec<SitePromise>>,
}

/// `privacy.sites.NAME`
pub const SITE_PROMISE_KEYS: &[Key] = &[
    Key::new("epsilon", ValueKind::Positive, "0.5")
        .about("ε granted to this site; needs noise of its own: aggregator = \"none\"")
        .otherwise(Otherwise::Follows("epsilon of privacy")),
    Key::new("delta", ValueKind::Share, "1e-6")
        .about("δ of this site; needs noise of its own: aggregator = \"none\"")
        .otherwise(Otherwise::Follows("delta of privacy")),
    Key::new("clip", ValueKind::Positive, "1.0")
        .about("what this site clips to; with an aggregator all sites share one noise, and the site's ε follows from its clip")
        .otherwise(Otherwise::Follows("clip of privacy")),
];

/// The key of all of them.
const SITES: &str = "sites";

impl SitePromises {
    /// From `privacy`, whose values were validated.
    ///
    /// # Errors
    /// A number that the privacy crate refuses, and a site without any key.
    pub fn read(privacy: &Keys<'_>) -> Result<Self, Conflict> {
        let mut by_name = BTreeMap::new();
        for (name, own) in privacy.tables(SITES, SITE_PROMISE_KEYS) {
            by_name.insert(name.to_owned(), SitePromise::read(name, &own)?);
        }
        Ok(Self { by_name, in_order: None })
    }

    /// Whether all sites promise the same.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The sites by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SitePromise)> {
        self.by_name.iter().map(|(name, own)| (name.as_str(), own))
    }

    /// The same for sites of these names in this order.
    ///
    /// # Errors
    /// A name that no site has.
    pub fn placed(&self, names: &[String]) -> Result<Self, Conflict> {
        if let Some(stranger) = self.by_name.keys().find(|name| !names.contains(name)) {
            let hint = match nearest(stranger, names.iter().map(String::as_str)) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("the sites are {}", names.join(", ")),
            };
            let what = format!("there is no site {stranger:?}");
            return Err(Conflict::new(format!("privacy.{SITES}.{stranger}"), UNKNOWN, what, hint));
        }
        let own = |name: &String| self.by_name.get(name).copied().unwrap_or_default();
        Ok(Self { by_name: self.by_name.clone(), in_order: Some(names.iter().map(own).collect()) })
    }

    /// What the site at this place has of its own: nothing, where nobody has anything.
    pub fn of(&self, site: usize) -> SitePromise {
        self.in_order.as_ref().and_then(|sites| sites.get(site)).copied().unwrap_or_default()
    }

    /// Refuses promises whose sites have no place among so many.
    pub(crate) fn check_placed(&self, sites: usize) -> Result<(), Conflict> {
        let placed = self.in_order.as_ref().is_some_and(|placed| placed.len() == sites);
        match self.by_name.keys().next() {
            Some(name) if !placed => {
                let what =
                    format!("{name:?} has a promise of its own, and which of the {sites} sites it is is not known");
                let hint = "plan where the table is there, or name the sites in [federation]";
                Err(Conflict::new(format!("privacy.{SITES}"), "S012", what, hint))
            }
            _ => Ok(()),
        }
    }

    /// The key of a site's number, for refusals, of the first site that has one.
    pub(crate) fn first_key(
        &self,
        has: impl Fn(&SitePromise) -> Option<&'static str>,
    ) -> Option<(String, &'static str)> {
        self.iter().find_map(|(name, own)| has(own).map(|key| (format!("privacy.{SITES}.{name}.{key}"), key)))
    }
}

impl FromIterator<(String, SitePromise)> for SitePromises {
    fn from_iter<I: IntoIterator<Item = (String, SitePromise)>>(sites: I) -> Self {
        Self { by_name: sites.into_iter().collect(), in_order: None }
    }
}

impl SitePromise {
    /// From the table of one site.
    fn read(name: &str, keys: &Keys<'_>) -> Result<Self, Conflict> {
        let key = |key: &str| format!("privacy.{SITES}.{name}.{key}");
        let at = |of: &str, error: PrivacyError| Conflict { code: VALUE, ..Conflict::of_privacy(&key(of), &error) };
        let number = |of: &str| keys.maybe_number(of).map_err(|conflict| Conflict { key: key(of), ..conflict });
        let own = Self {
            epsilon: number("epsilon")?.map(Epsilon::new).transpose().map_err(|error| at("epsilon", error))?,
            delta: number("delta")?.map(Delta::new).transpose().map_err(|error| at("delta", error))?,
            clip: number("clip")?.map(NormBound::new).transpose().map_err(|error| at("clip", error))?,
        };
        if own == Self::default() {
            let what = format!("nothing is stated for site {name:?}");
            let path = format!("privacy.{SITES}.{name}");
            return Err(Conflict::new(path, UNREADABLE, what, "for example epsilon = 0.5; or leave the site out"));
        }
        Ok(own)
    }

    /// The key of its budget that it states, if it states any.
    pub(crate) fn budget_key(&self) -> Option<&'static str> {
        match (self.epsilon, self.delta) {
            (Some(_), _) => Some("epsilon"),
            (None, Some(_)) => Some("delta"),
            (None, None) => None,
        }
    }

    /// The key of its clip, if it states one.
    pub(crate) fn clip_key(&self) -> Option<&'static str> {
        self.clip.map(|_| "clip")
    }
}
