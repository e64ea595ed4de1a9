//! What the codes of studies, runs and statistical warnings mean.

/// A code with its paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Such as S001.
    pub code: &'static str,
    /// In a few words.
    pub title: &'static str,
    /// What it means, why it exists, and what to do.
    pub text: &'static str,
}

/// Those of studies and runs, then those of statistical warnings, each in order.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    ALL.iter().chain(crate::warning_codes::ALL)
}

/// In order.
const ALL: &[Entry] = &[
    Entry {
        code: "R001",
        title: "a message or stored state does not decode",
        text: "Something that was written is not what is read: a file of a run was changed or cut off, or it belongs to\n\
               another version. Delete the run's directory `state` and run again. Exit code 1.",
    },
    Entry {
        code: "R002",
        title: "a method's settings do not fit its clients",
        text: "The settings are sound by themselves, but not for these clients: under an aggregator, for example, all of\n\
               them draw rows at one rate, because one sum has one cost. Or not for these inputs: a noise-aware reading of\n\
               sufficient statistics takes 40 of them, the bias included, and reading = \"ridge\" takes any number. The\n\
               message says what would fit. Exit code 2.",
    },
    Entry {
        code: "R003",
        title: "the run was stopped",
        text: "Somebody asked the run to stop, by Ctrl-C or through the library's observer. It ended between two rounds. Finished pieces\n\
               of work are kept: the same command goes on after them. Exit code 130.",
    },
    Entry {
        code: "S001",
        title: "the study cannot be read",
        text: "The file is not TOML, a key is missing, or a value is not of the kind that its key takes. The message has\n\
               the line and column, what was found and what was expected. `studies/` holds complete examples. Exit code 2.",
    },
    Entry {
        code: "S002",
        title: "the study has an unknown key or word",
        text: "Unknown keys are refused, because a misspelt one would be a setting that you believe in and nobody else\n\
               knows. The hint names the nearest one that exists. Noise shares, aggregator = { shares = … } in an earlier version,\n\
               are those of a secure sum now: aggregator = \"secure-sum\" with nodes, noise, colluders and dropouts beside\n\
               it in `privacy`. Exit code 2.",
    },
    Entry {
        code: "S003",
        title: "the study is of another version",
        text: "A study begins with schema = 1, so that a later program knows how to read it. Exit code 2.",
    },
    Entry {
        code: "S004",
        title: "a number of the study is outside its range",
        text: "Every number is checked before anything runs: ε and δ are over 0, damping is over 0 and at most 1, there is\n\
               at least one round, one step and one client. A secure sum has 2 to 256 nodes. Bounds and radius of sufficient\n\
               statistics are over 0, and the deviations' share of the budget is between 0 and 1. Fewer rows are held out\n\
               than the data have, so that every client trains on one at least. The message names the key, what was\n\
               found and what would be right. Exit code 2.",
    },
    Entry {
        code: "S005",
        title: "names or seeds are missing or repeated",
        text: "Results are told apart by method and seed: there is at least one of each, none twice. The study's name\n\
               becomes a directory, so it has letters, digits, - and _ only. Exit code 2.",
    },
    Entry {
        code: "S006",
        title: "privacy where there is no noise, or noise without a promise",
        text: "No privacy is a choice with a name: solver = \"clear\" without a privacy table. A private solver needs a\n\
               promise to size its noise by, and a clear one cannot keep any. Sufficient statistics are always noised: the\n\
               answer without privacy is the baseline of every run. Exit code 2.",
    },
    Entry {
        code: "S007",
        title: "an aggregator cannot do this",
        text: "A trusted aggregator, or a secure sum, adds up one vector from every client in a round and sees only the\n\
               noised total. DP optimisation releases each local step at the client, so it has no such sum; clients that\n\
               answer one after the other have none either; and for noise in shares no gain by sampling is proved: use\n\
               batch = \"all\", or let the nodes add the noise. Exit code 2.",
    },
    Entry {
        code: "S008",
        title: "this does not protect a whole client",
        text: "To protect all rows of a client at once, its whole change must be clipped: bounds on single rows or parts\n\
               do not bound their sum, and sufficient statistics bound rows. Whether a client is there at all can be hidden by an aggregator only, since a\n\
               missing message is seen. And δ goes by the number of clients then. Exit code 2.",
    },
    Entry {
        code: "S009",
        title: "two choices of a method exclude each other",
        text: "Natural steps and full covariances are computed in the clear, so they do not go with a solver that noises\n\
               every step; a committee has one round; rounds until the budget is spent need a given noise multiplier.\n\
               Aligned gradients are for local steps of DP optimisation on a network, second moments for linear and logistic\n\
               models. Sufficient statistics are those of a linear model, whose posterior has a full covariance; the\n\
               noise-aware reading knows the law of rule = \"row-norm\" only; rule = \"inputs\" noises each row where it is,\n\
               without an aggregator, under substitution, and is read naively; and a bound under 1 would cut the bias.\n\
               The message says which two meet. Exit code 2.",
    },
    Entry {
        code: "S010",
        title: "not in this version",
        text: "The study asks for a model or a solver that the papers have and this version does not. The hint names those that it\n\
               has. Exit code 2.",
    },
    Entry {
        code: "S011",
        title: "a key has no meaning beside the others",
        text: "A key that would be ignored is refused, because the study would say more than it does: parts without a\n\
               solver that has parts, rho in an even partition, colluders where the nodes of a secure sum add the noise, nodes\n\
               without a secure sum, rounds or clip of sufficient statistics, whose rule says both. Or one of several\n\
               forms is not complete: most rules of statistics need a bound. Exit code 2.",
    },
    Entry {
        code: "S012",
        title: "a plan needs declared rows",
        text: "`plan` touches no row, so it must be told how many rows and clients there are where noise, batches or δ\n\
               depend on them, or on the clients of a secure sum: [data] declared_rows = N for all rows of the source, or a list with those of each client,\n\
               in the order of their names. Where clients are the values of a column, a total alone is enough for methods\n\
               whose batches and δ do not go by rows. Of a source split by a column the training rows are declared. For\n\
               bundled data the public numbers are known. Exit code 2.",
    },
    Entry {
        code: "S013",
        title: "the directory is not of a run",
        text: "A run writes into a new directory, an empty one, or one that an earlier run made, and into no other, so that\n\
               it cannot overwrite your files. `report` and `predict` read a finished run: one that was stopped has no results yet,\n\
               and the same `run` with the same --out goes on where it stopped. Exit code 2.",
    },
    Entry {
        code: "S014",
        title: "δ is not under one over the number of rows (a warning)",
        text: "δ is the probability with which the promise may fail. A mechanism that publishes one random row in full has\n\
               δ = 1/n, so a δ of that size promises almost nothing. Take it well under 1/n. A warning does not change\n\
               the exit code. Exit code 0.",
    },
    Entry {
        code: "S015",
        title: "parts under add-remove need record ids",
        text: "Local averaging and virtual clients deal rows to parts. If rows may come and go, a part must not follow from a\n\
               row's place, because one row less would move all rows after it. It follows from a record id then: name the\n\
               column in the schema, record_id = \"patient\". Ids are no inputs and stay at the site. Without ids promise\n\
               substitution, where a row's place is enough. Exit code 2.",
    },
    Entry {
        code: "S016",
        title: "the command has no meaning for this kind of study",
        text: "The tables of a file say what it is: [[curves]] is a figure of accounting, which `check` reads and `reproduce`\n\
               draws: it has no data, so there is nothing to plan, run or sample. [histogram] is a survey through a shuffler,\n\
               for `check`, `plan` and `run`: it has no posterior to sample, and no columns to reproduce. The hint has a command\n\
               that the file is for. Exit code 2.",
    },
    Entry {
        code: "S017",
        title: "a baseline did not converge (a warning)",
        text: "\"non-private\" and \"local only\" search for the best Gaussian by Newton's steps, each with a line search, until no\n\
               mean would move by more than a millionth of its deviation. This search ended before that: what it found is shown,\n\
               with the steps that it took, and nothing is compared with it. Inputs are then mostly so long that their squares\n\
               cannot be added up: give such columns a scale in the schema, or raise prior_precision. Networks, and models of\n\
               more than 300 parameters, take a fixed number of steps instead, of which nobody says that they converged. A\n\
               warning does not change the exit code. Exit code 0.",
    },
    Entry {
        code: "S020",
        title: "another run writes into the directory",
        text: "Two runs into one directory would write over each other's results, so the first holds a lock on it, which goes with its\n\
               process. The message names the directory and the process. Wait until that run has ended, stop it, or name another\n\
               directory by --out. The same command then goes on after the work that is finished. Exit code 2.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the codes from the sources of this folder, so that a new one without a text fails here.
    #[test]
    fn every_code_of_a_study_has_its_paragraph() {
        let mut sources = String::new();
        for folder in ["src", "src/typed", "src/curves", "src/histogram"] {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            for file in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if file.extension().is_some_and(|ending| ending == "rs") && !file.ends_with("codes.rs") {
                    sources += &std::fs::read_to_string(file).unwrap();
                }
            }
        }
        let is_code = |word: &&str| matches!(word.as_bytes(), [b'S' | b'R', rest @ ..] if rest.len() == 3 && rest.iter().all(u8::is_ascii_digit));
        let mut used: Vec<&str> = sources.split('"').filter(is_code).collect();
        used.sort_unstable();
        used.dedup();
        let listed: Vec<&str> = ALL.iter().map(|entry| entry.code).collect();
        assert_eq!(listed, used, "a text without a code, a code without a text, or out of order");
        assert!(ALL.iter().all(|entry| entry.text.contains("Exit code")));
    }
}
