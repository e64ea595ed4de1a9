//! What the codes of statistical warnings mean, for `posterity explain`. S014 is among those of studies.

use crate::codes::CodeEntry;

/// In order.
pub(crate) const ALL: &[CodeEntry] = &[
    CodeEntry {
        code: "W000",
        title: "a warning of an earlier version (a warning)",
        text: "The results were written by a version whose warnings had no codes. The text is shown as it was written.\n\
               Source: unknown, so it is treated as read from rows. Exit code 0.",
    },
    CodeEntry {
        code: "W001",
        title: "the method is worse than the constant prediction (a warning)",
        text: "On held-out rows the method has a lower mean log-likelihood than predicting the same for all rows without\n\
               using any input. Such a method is never marked as best. The usual cause is too much noise for the amount of\n\
               data: use a larger ε, fewer rounds, more rows or an aggregator. Source: rows. Shown in simulations only.\n\
               Exit code 0.",
    },
    CodeEntry {
        code: "W002",
        title: "the served mean still moved in the last round (a warning)",
        text: "In the last round some posterior mean moved by more than half of its standard deviation (a tenth, without\n\
               privacy), so that its interval stands in the wrong place. There were too few rounds, or the noise keeps\n\
               moving the mean: use more rounds, a smaller damping, or serve the mean of the last rounds\n\
               (readout.average). Methods whose intervals are not shown are not warned of: noise moves their means in every\n\
               round. Source: public, since it follows from released values. Exit code 0.",
    },
    CodeEntry {
        code: "W003",
        title: "the draws of a chain are not a posterior",
        text: "A chain accepted fewer than 1 in 100 proposals, a parameter did not move at all, or all draws together are\n\
               worth fewer than ten independent ones. Their mean and standard deviation describe where the chain was, not\n\
               the posterior; standard deviations of 5e-7 have been observed. No Gaussian is served: its file in\n\
               `posterior/` has no numbers, and predictions refuse it with this code. Use smaller steps, longer\n\
               chains, or a larger ε. Source: public, since draws are released. Exit code 0 as a warning of a run;\n\
               a prediction ends with exit code 2.",
    },
    CodeEntry {
        code: "W004",
        title: "a coefficient is far outside its prior (a warning)",
        text: "A posterior mean is more than four prior standard deviations from 0, so the prior affects the answer more\n\
               than it should. The most common cause is an input in raw units: give it a scale of about its standard\n\
               deviation in the schema. Otherwise the prior is too narrow: use a smaller precision under [model] prior.\n\
               Source: public. Exit code 0.",
    },
    CodeEntry {
        code: "W005",
        title: "the number of rows differs from the declared one (a warning)",
        text: "Noise, batch sizes and δ are planned for the declared number of rows, and the file has a different number.\n\
               Declare the number in the file, or check that it is the right file. Source: rows. Shown in simulations, and\n\
               locally by the check of a site's file against declared rows; an agent does not report it. Exit code 0.",
    },
    CodeEntry {
        code: "W006",
        title: "a site has fewer than ten rows (a warning)",
        text: "The noise of such a site outweighs its contribution, and one row is at least a tenth of its data. Merge it\n\
               with another site, or check that its file is complete. Source: rows. Shown in simulations, and locally at a\n\
               site by the check of its file; an agent does not report it. Exit code 0.",
    },
    CodeEntry {
        code: "W007",
        title: "the file seems to be truncated (a warning)",
        text: "The last line has no line break and does not match the schema; or, where sites are the values of a column,\n\
               it is the only row of its site. An interrupted copy ends like this, and a truncated name looks like a site\n\
               that does not exist. Compare the file with the original. Source: rows. Shown in simulations, and locally at\n\
               a site by the check of its file; an agent does not report it. Exit code 0.",
    },
    CodeEntry {
        code: "W008",
        title: "the clip is far from what the schema's ranges imply (a warning)",
        text: "The schema's centres, scales and bounds imply the size of a typical row's gradient. A clip more than ten\n\
               times larger adds noise for gradients that never occur; a clip more than ten times smaller cuts almost every\n\
               row. The message has the implied size. Source: public, since no row is read. Exit code 0.",
    },
    CodeEntry {
        code: "W009",
        title: "ε is over 10 (a warning)",
        text: "A release with privacy loss ε can change the odds of any guess about a row by a factor of e^ε: at ε = 10\n\
               that is 22,026. A larger ε guarantees little. Use an ε of at most 10; values of at most 1 are a strong\n\
               guarantee. Source: public. Exit code 0.",
    },
    CodeEntry {
        code: "W010",
        title: "too many rounds for the budget, or for a run (a warning)",
        text: "With a given noise multiplier the budget ends before the rounds do; or so many rounds share the budget that\n\
               the noise of each outweighs all rows together; or there are more than 10,000 rounds (ten million draws of\n\
               chains), which take a week at one round a minute. Use fewer rounds. Source: public. Exit code 0.",
    },
    CodeEntry {
        code: "W011",
        title: "a public setting depends on private row counts (a warning)",
        text: "Under add-remove the number of rows of a site is private, but a sampling rate, a weight or δ of this method\n\
               depends on it. The guarantee holds for the declared numbers, which may be approximate; a simulation declares\n\
               the true ones. Source: public. Exit code 0.",
    },
    CodeEntry {
        code: "W012",
        title: "the schema's numbers do not fit a column (a warning)",
        text: "More than a quarter of a column's numbers lie outside the schema's bounds, so that clamping removes what they\n\
               say; or its values after centre and scale are ten times larger than usual, so that clipping cuts almost every\n\
               row. Often a unit is wrong. Correct bounds, centre and scale from a code book or common knowledge, not from\n\
               these rows. Source: rows. Shown in simulations, and locally at a site by `posterity agent check`; an agent does\n\
               not report it. Exit code 0.",
    },
    CodeEntry {
        code: "W013",
        title: "persons have several rows, and rows are protected one by one (a warning)",
        text: "The schema names person ids (person_id), some persons have several rows, and a method has unit = \"example\". Its\n\
               ε and δ then hold for one row. For all k rows of a person together ε is up to k times as large, and δ grows\n\
               faster than that. Use unit = \"person\": the rows of a person are summed before they are clipped, and ε\n\
               holds for the person, however many rows there are. Source: rows. Shown in simulations, with counts; by\n\
               `posterity fit` on its owner's terminal, without. Exit code 0.",
    },
    CodeEntry {
        code: "W014",
        title: "some releases could not be read (a warning)",
        text: "Inference by levels (`noise-aware-levels`) could not compute a posterior after one of its levels, or for some\n\
               draws of the inputs' covariance: a matrix had no factor in floating-point numbers. The levels are still counted\n\
               in what is served. Without some draws the intervals may be too narrow; without the last level they are those of\n\
               an earlier one and should not be read. Use fewer inputs or a larger ε. Source: public. Exit code 0.",
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
