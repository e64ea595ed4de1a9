//! What the codes of studies, runs and statistical warnings mean.

/// A code with its paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeEntry {
    /// Such as S001.
    pub code: &'static str,
    /// In a few words.
    pub title: &'static str,
    /// What it means, why it exists, and what to do.
    pub text: &'static str,
}

/// Those of studies and runs, then those of statistical warnings, each in order.
pub fn all() -> impl Iterator<Item = &'static CodeEntry> {
    ALL.iter().chain(crate::warning_codes::ALL)
}

/// In order.
const ALL: &[CodeEntry] = &[
    CodeEntry {
        code: "R001",
        title: "a message or stored state cannot be decoded",
        text: "A file of the run was changed or truncated, or was written by another version. Delete the directory `state`\n\
               of the run and run the command again. Exit code 1.",
    },
    CodeEntry {
        code: "R002",
        title: "a method's settings do not fit its clients",
        text: "The settings are valid, but not for these clients or inputs. With an aggregator, for example, all clients\n\
               sample rows at one rate, because one sum has one cost. A noise-aware reading of sufficient statistics takes\n\
               at most 40 inputs including the intercept; reading = \"ridge\" takes any number. The message says what would\n\
               fit. Exit code 2.",
    },
    CodeEntry {
        code: "R003",
        title: "the run was stopped",
        text: "Somebody asked the run to stop, by Ctrl-C or through the library's observer. It ended between two rounds. Finished pieces\n\
               of work are kept: the same command goes on after them. Exit code 130.",
    },
    CodeEntry {
        code: "S001",
        title: "the study cannot be read",
        text: "The file is not TOML, a key is missing, or a value has the wrong type. The message has the line and column,\n\
               what was found and what was expected. `studies/` has complete examples. Exit code 2.",
    },
    CodeEntry {
        code: "S002",
        title: "unknown key or value in the study",
        text: "Unknown keys are rejected, because a misspelt key would be a setting without effect. The hint names the\n\
               nearest existing one. The form aggregator = { shares = … } of an earlier version is now aggregator =\n\
               \"secure-sum\", with nodes, noise, colluders and dropouts beside it in `privacy`. Exit code 2.",
    },
    CodeEntry {
        code: "S003",
        title: "unsupported study version",
        text: "`schema` is the version of the study format, 1 where it is left out. This program supports version 1 only.\n\
               Exit code 2.",
    },
    CodeEntry {
        code: "S004",
        title: "a number in the study is out of range",
        text: "Every number is validated before anything runs: ε and δ are greater than 0, damping is greater than 0 and at\n\
               most 1, and there is at least one round, one step and one client. A secure sum has 2 to 256 nodes. The\n\
               bounds and the radius of sufficient statistics are greater than 0, and the share of the budget for standard\n\
               deviations is between 0 and 1. Every client keeps at least one training row, so fewer rows are held out than\n\
               the data have. The message names the key, the value found and the allowed range. Exit code 2.",
    },
    CodeEntry {
        code: "S005",
        title: "names or seeds are missing or repeated",
        text: "Results are identified by method and seed: there must be at least one of each, and none may be repeated.\n\
               Without a [[method]], [privacy] with an ε makes the default method of the model; a model without one needs a\n\
               [[method]]. The name of the study becomes a directory, so it may contain only letters, digits, - and _.\n\
               Exit code 2.",
    },
    CodeEntry {
        code: "S006",
        title: "a private method without a budget, or a budget without a private method",
        text: "A method without privacy is declared explicitly: solver = \"clear\" and no privacy table. A private solver\n\
               needs ε and δ to calibrate its noise, and a non-private solver cannot guarantee any. Sufficient statistics\n\
               are always noised; their non-private result is the baseline of every run. Exit code 2.",
    },
    CodeEntry {
        code: "S007",
        title: "the aggregator does not support this method",
        text: "A curator or a secure sum adds up one vector from every client in a round, and only the noised total is\n\
               visible. DP optimisation releases each local step at the client, so there is no such sum. Clients that\n\
               answer one after the other have none either. With noise shares no privacy amplification by sampling is\n\
               proved: use batch = \"all\", or let the nodes add the noise. Exit code 2.",
    },
    CodeEntry {
        code: "S008",
        title: "the method does not protect a whole client",
        text: "To protect all rows of a client at once, its whole change must be clipped. Bounds on single rows or parts do\n\
               not bound their sum, and sufficient statistics bound rows. Only an aggregator can hide whether a client\n\
               takes part, because a missing message is visible. With unit = \"client\", δ depends on the number of clients.\n\
               Exit code 2.",
    },
    CodeEntry {
        code: "S009",
        title: "two settings of a method exclude each other",
        text: "Natural-gradient steps and full covariances use exact gradients, so they exclude a solver that noises every\n\
               step. A committee has one round. rounds = \"until-spent\" needs a given noise multiplier. Aligned gradients\n\
               are for local steps of DP optimisation on a network; second moments are for linear and logistic models.\n\
               Sufficient statistics are those of a linear model, whose posterior has a full covariance. The noise-aware\n\
               reading supports rule = \"row-norm\" only. rule = \"inputs\" noises each row at the site, without an aggregator,\n\
               under substitution, and its reading is \"naive\". A bound less than 1 would clip the intercept. The message\n\
               names the two settings. Exit code 2.",
    },
    CodeEntry {
        code: "S010",
        title: "not supported in this version",
        text: "The study asks for a model or a solver from the papers that this version does not have. The hint lists the\n\
               supported ones. Exit code 2.",
    },
    CodeEntry {
        code: "S011",
        title: "a key has no effect with the other settings",
        text: "A key without effect is rejected, because the study would claim more than it does: parts with a solver\n\
               without parts, rho in an even partition, colluders where the nodes of a secure sum add the noise, nodes\n\
               without a secure sum, or rounds or clip of sufficient statistics, whose rule determines both. The code also\n\
               reports incomplete settings: most rules of statistics need a bound. Exit code 2.",
    },
    CodeEntry {
        code: "S012",
        title: "a plan needs declared row counts",
        text: "`plan` counts the rows of a table only if the table is there and their number is public (unit = \"example\" and\n\
               adjacency = \"substitute\"). Otherwise it must be told the number of rows and clients where noise, batches or\n\
               δ depend on them, or on the clients of a secure sum: [data] declared_rows = N for all rows of the source, or a list with\n\
               the rows of each client in the order of their names. Where the clients are the values of a column, a total\n\
               is enough for methods whose batch size and δ do not depend on row counts. For a source split by a column,\n\
               declare the training rows. The numbers of bundled data sets are known. Exit code 2.",
    },
    CodeEntry {
        code: "S013",
        title: "the directory does not belong to a run",
        text: "A run writes only into a new directory, an empty one, or one that an earlier run created, so it cannot\n\
               overwrite your files. `report` and `predict` need a finished run. An interrupted run has no results yet: the\n\
               same simulation into the same directory resumes it. Exit code 2.",
    },
    CodeEntry {
        code: "S014",
        title: "δ is not less than 1 / number of rows (a warning)",
        text: "δ bounds the probability that the ε guarantee fails. Publishing one random row in full satisfies δ = 1/n, so\n\
               a δ of that size guarantees almost nothing. Choose δ well below 1/n. A warning does not change the exit\n\
               code. Exit code 0.",
    },
    CodeEntry {
        code: "S015",
        title: "parts under add-remove need record ids",
        text: "Local averaging and virtual clients assign rows to parts. Under add-remove the assignment must not depend on\n\
               a row's position, because removing one row would move all rows after it. It depends on a record id instead:\n\
               name the column in the schema, record_id = \"patient\". Ids are not inputs and stay at the site. Without ids,\n\
               use adjacency = \"substitute\", where a row's position is enough. Exit code 2.",
    },
    CodeEntry {
        code: "S016",
        title: "the command does not apply to this kind of study",
        text: "The tables of a file determine its kind. [[curves]] is an accounting figure: use `check` and `reproduce`; it\n\
               has no data to plan, simulate or sample. [histogram] is a survey through a shuffler: use `check`, `plan` and\n\
               `simulate`; it has no posterior to sample and no columns to reproduce. The hint names a command that\n\
               applies. Exit code 2.",
    },
    CodeEntry {
        code: "S017",
        title: "a baseline did not converge (a warning)",
        text: "The baselines \"non-private\" and \"local only\" find the best Gaussian by Newton steps with a line search,\n\
               until no mean would move by more than a millionth of its standard deviation. Here the search ended earlier.\n\
               The report shows the result with the number of steps, and compares nothing with it. The usual cause is\n\
               inputs so large that their squares cannot be added: give these columns a scale in the schema, or raise\n\
               the prior's precision. Networks, and models with more than 300 parameters, take a fixed number of steps, and no\n\
               convergence is claimed. A warning does not change the exit code. Exit code 0.",
    },
    CodeEntry {
        code: "S020",
        title: "another run writes into the directory",
        text: "Two runs in one directory would overwrite each other's results, so the first run locks it until its process\n\
               ends. The message names the directory and the process. Wait until that run has ended, stop it, or choose\n\
               another directory. The same simulation then continues after the finished work. Exit code 2.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the codes from the sources of this crate and of the descriptions of methods, so that a new one without a text fails here.
    #[test]
    fn every_code_of_a_study_has_its_paragraph() {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut folders: Vec<_> =
            ["src", "src/typed", "src/forecast", "src/curves", "src/histogram", "../inference/src/describe"]
                .map(|f| here.join(f))
                .into();
        let mut sources = String::new();
        while let Some(folder) = folders.pop() {
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
