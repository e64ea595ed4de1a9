//! Virtual clients: every part of a site's rows is a client of its own, and only the sum of their changes leaves.

use super::{Kept, LocalSolve, PartSolver, Problem, Solved, Task, parts};
use crate::describe::{Conflict, Descriptor, Limits};
use crate::release::Releases;
use crate::settings::Local;
use crate::{ClientView, Family};
use privacy::{Gate, PrivacyError, Released};
use serde::Serialize;
use std::sync::Arc;

/// Algorithm 3 of Heikkilä et al. 2022, private by Theorem 9, with one difference: a part's factor is an even share of
/// the site's public factor, t_m^(1/K).
///
/// The paper keeps a factor for each part. With noise these would carry it from round to round, every part's next
/// answer would depend on the replaced row, and Corollary 10 would not hold (`docs/maths/state-between-rounds.md`).
///
/// The cavity of a part leaves out its share of the site's factor only: with η_m the natural
/// parameters of t_m, cavity_k = q − η_m/K. The changes of all parts add up to the change of the site.
///
/// - K: number of parts, [`Virtual::parts`].
/// - t_m: the site's factor, the sum of its released changes.
#[derive(Debug, Clone, Serialize)]
pub struct Virtual {
    /// K: how many parts a client's rows are dealt to.
    pub parts: u32,
    /// The optimisation of a part.
    pub local: Local,
}

/// `solver = "virtual"`
pub(crate) const DESCRIPTOR: Descriptor<dyn LocalSolve> = Descriptor {
    name: "virtual",
    also: &["virtual-clients"],
    about: "Treats K parts of a client's rows as clients of their own and releases the sum of their clipped changes.",
    keys: parts::KEYS,
    limits: parts::LIMITS,
    read: |reading| parts::read(reading).map(|(parts, local)| Arc::new(Virtual { parts, local }) as _),
};

impl Virtual {
    /// A part is a client of its own.
    fn part_problem(&self) -> PartSolver {
        PartSolver { parts: self.parts, weight: 1.0, local: self.local }
    }
}

impl LocalSolve for Virtual {
    fn descriptor(&self) -> &'static Descriptor<dyn LocalSolve> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        format!("{} virtual clients", self.parts)
    }

    fn describe_local(&self) -> String {
        self.local.words()
    }

    fn releases(&self, family: Family) -> Releases {
        parts::releases(self.parts, family)
    }

    fn limits(&self) -> Limits {
        parts::limits(&self.local)
    }

    fn check(&self, _: u64) -> Result<(), Conflict> {
        self.local.check_full_gradients()
    }

    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        _: &Released<Kept>,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        let part_task = share_of(task.get(), f64::from(self.parts));
        parts::sum(&self.part_problem(), problem, &part_task, seat, gate)
    }

    fn of_parts(&self) -> Option<PartSolver> {
        Some(self.part_problem())
    }
}

/// The task of one of K parts: the site's factor, start − cavity, is split evenly over them.
fn share_of(task: &Task, parts: f64) -> Task {
    let cavity = task.start.iter().zip(&task.cavity).map(|(q, c)| q - (q - c) / parts).collect();
    Task { cavity, start: task.start.clone() }
}
