//! What the codes of statistical warnings mean, for `posterity explain`. S014 is among those of studies.

use crate::codes::Entry;

/// In order.
pub(crate) const ALL: &[Entry] = &[
    Entry {
        code: "W000",
        title: "a warning of an earlier version (a warning)",
        text: "The results were written by a version whose warnings had no codes. The text is shown as it was written. Source: not\n\
               known, so it is treated as read from rows. Exit code 0.",
    },
    Entry {
        code: "W001",
        title: "the method is behind the constant answer (a warning)",
        text: "On held-out rows the method has a lower mean log-likelihood than one answer for all rows, which uses no input. A\n\
               method that is behind it is never marked as the best. Usually the noise is larger than what the rows say: use a\n\
               larger ε, fewer rounds, more rows or an aggregator. Source: rows. It is shown in simulations only. Exit code 0.",
    },
    Entry {
        code: "W002",
        title: "the served mean still moved in the last round (a warning)",
        text: "In the last round some posterior mean moved by more than a tenth of its standard deviation. One more round would\n\
               have given another answer. Either the rounds were too few, or noise moves the answer about: use more rounds,\n\
               a smaller damping, or serve the mean of the last rounds (readout.average). Source: public, since it follows from\n\
               released values. Exit code 0.",
    },
    Entry {
        code: "W003",
        title: "the draws of a chain are not a posterior",
        text: "A chain accepted fewer than 1 in 100 proposals, a parameter did not move at all, or all draws together are worth\n\
               fewer than ten independent ones. Their mean and standard deviation then say where the chain was, not where the\n\
               posterior is: standard deviations of 5e-7 have been seen. The Gaussian is not served: its file in `posterior/` has\n\
               no numbers, and `posterity predict` refuses it with this code. Use smaller steps, longer chains, or a larger ε.\n\
               Source: public, since draws are released. Exit code 0 as a warning of a run; `predict` ends with exit code 2.",
    },
    Entry {
        code: "W004",
        title: "a coefficient is far outside its prior (a warning)",
        text: "A posterior mean is more than four prior standard deviations from 0. The prior then shapes the answer more than it\n\
               should. Most often an input is in raw units: give it a scale of about its standard deviation in the schema. Or\n\
               the prior is too narrow: take a smaller precision under [model] prior. Source: public. Exit code 0.",
    },
    Entry {
        code: "W005",
        title: "declared rows are not those found (a warning)",
        text: "Noise, batch sizes and δ are planned for the declared number of rows, and the file has another number. Declare what\n\
               the file has, or look whether it is the right file. Source: rows. It is shown in simulations, and by\n\
               `posterity agent check --declared-rows N` on a site's own terminal; an agent tells nobody. Exit code 0.",
    },
    Entry {
        code: "W006",
        title: "a site has fewer than ten rows (a warning)",
        text: "The noise of such a site is larger than anything that it can say, and one row is a tenth of its data. Join it with\n\
               another site, or look whether its file is whole. Source: rows. It is shown in simulations and by `posterity\n\
               agent check` on a site's own terminal; an agent tells nobody. Exit code 0.",
    },
    Entry {
        code: "W007",
        title: "the file seems to have been cut off (a warning)",
        text: "The last line has no line break, and it is not as the schema says; or, where sites are the values of a column, it is\n\
               the only row of its site. A copy that stopped half-way ends like this, and a name that was cut off makes up\n\
               a site that does not exist. Compare the file with its original. Source: rows. It is shown in simulations and by\n\
               `posterity agent check` on a site's own terminal; an agent tells nobody. Exit code 0.",
    },
    Entry {
        code: "W008",
        title: "the clip is far from what the schema's ranges imply (a warning)",
        text: "The schema's centres, scales and bounds say how large the gradient of a typical row is. A clip that is more than ten\n\
               times larger adds noise for rows that never come near it; one that is more than ten times smaller cuts almost\n\
               every row. The message has the size that the ranges imply. Source: public, since no row is read. Exit code 0.",
    },
    Entry {
        code: "W009",
        title: "ε is over 10 (a warning)",
        text: "An ε lets the odds of any guess about a row change by a factor of e^ε: at 10 that is 22,026. A larger ε promises\n\
               little. Use one of at most 10; values of at most 1 promise much. Source: public. Exit code 0.",
    },
    Entry {
        code: "W010",
        title: "more rounds than budget or patience allow (a warning)",
        text: "With a given noise multiplier the budget ends before the rounds do; or so many rounds share the budget that the noise\n\
               of each is larger than all rows together; or there are more than 10,000 rounds (ten million draws of chains),\n\
               which at one a minute takes a week. Take fewer rounds. Source: public. Exit code 0.",
    },
    Entry {
        code: "W011",
        title: "something public depends on private numbers of rows (a warning)",
        text: "Under add-remove the number of rows of a site is private, but a sampling rate, a weight or δ of this method depends on\n\
               it. The promise holds for the declared numbers, which may be rough; a simulation declares the true ones.\n\
               Source: public. Exit code 0.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use inference::warning::Code;

    #[test]
    fn every_warning_has_its_paragraph_which_states_its_source() {
        let coded: Vec<&str> = Code::ALL.map(Code::as_str).into_iter().filter(|code| code.starts_with('W')).collect();
        let listed: Vec<&str> = ALL.iter().map(|entry| entry.code).collect();
        assert_eq!(listed, coded, "a text without a code, a code without a text, or out of order");
        for code in Code::ALL {
            let entry = crate::codes::all().find(|entry| entry.code == code.as_str()).unwrap();
            assert!(entry.text.contains("Exit code"), "{}", entry.text);
        }
        for entry in ALL.iter().skip(1) {
            let code = Code::ALL.into_iter().find(|code| code.as_str() == entry.code).unwrap();
            assert!(entry.text.contains(&format!("Source: {}", code.source())), "{}", entry.text);
        }
    }
}
