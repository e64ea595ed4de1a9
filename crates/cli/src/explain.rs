//! What each error code means, why it exists, and what to do: `posterity explain`.

use crate::failure::Failure;
use study::codes::Entry;

/// All codes: those of the command and of privacy, then those of studies and runs, those of federations, and warnings.
fn all() -> impl Iterator<Item = &'static Entry> {
    let studies = |code: &str| !code.starts_with('W');
    let (of_studies, warnings): (Vec<_>, Vec<_>) = study::codes::all().partition(|entry| studies(entry.code));
    ALL.iter().chain(of_studies).chain(crate::federation::codes::ALL).chain(warnings)
}

/// The text for one code, or the list of all of them.
pub(crate) fn text(code: Option<&str>, json: bool) -> Result<String, Failure> {
    let Some(code) = code else { return Ok(list(json)) };
    match all().find(|entry| entry.code.eq_ignore_ascii_case(code)) {
        Some(entry) if json => Ok(format!("{}\n", object(entry))),
        Some(entry) => Ok(format!("{}: {}\n\n{}\n", entry.code, entry.title, entry.text)),
        None => Err(Failure::usage(format!("there is no code {code}"), "`posterity explain` lists all codes")),
    }
}

fn list(json: bool) -> String {
    if json {
        return format!("{}\n", serde_json::json!({ "codes": all().map(object).collect::<Vec<_>>() }));
    }
    all().map(|entry| format!("{}  {}\n", entry.code, entry.title)).collect()
}

fn object(entry: &Entry) -> serde_json::Value {
    serde_json::json!({ "code": entry.code, "title": entry.title, "text": entry.text })
}

const ALL: &[Entry] = &[
    Entry {
        code: "C001",
        title: "the command line does not fit together",
        text: "A flag is missing, unknown, or has no meaning beside the others: a --rate without --sampling, for\n\
               example, would be ignored in silence, and the answer would be about another plan than the one you have\n\
               in mind. The hint names the flag to add or to leave out. Exit code 2.",
    },
    Entry {
        code: "C002",
        title: "the file of events cannot be understood",
        text: "--events reads a JSON list of flat objects whose keys are the names of the flags, such as\n\
               {\"mechanism\": \"gaussian\", \"noise_multiplier\": 1.1, \"steps\": 100, \"adjacency\": \"substitute\"}.\n\
               Unknown keys, and keys that stand twice in an object, are refused, because they would change the cost\n\
               unseen. The message counts the objects from one. Exit code 2.",
    },
    Entry {
        code: "C003",
        title: "a file cannot be read or written",
        text: "The operating system refused the path in the message, for the reason it gives. Nothing was accounted.\n\
               Exit code 2 if there is no such file or it is not yours to use, 1 if the disk failed.",
    },
    Entry {
        code: "C004",
        title: "the disk is full",
        text: "There is no room for the file in the message, on its disk or in what this user may use of it. Files are written whole or\n\
               not at all, so none is cut off. Make room and run the same command again: `run` goes on after the work that is\n\
               finished, and a server keeps its run. Exit code 1.",
    },
    Entry {
        code: "C020",
        title: "the file of results cannot be understood",
        text: "`posterity report` reads the results.json of a finished run, in the shape that its key schema names. The\n\
               file is no JSON, lacks a key, or has a schema that this version does not know. The message says which.\n\
               Run the study again, or use the version that wrote the file. Exit code 2.",
    },
    Entry {
        code: "D001",
        title: "rows of different widths",
        text: "All rows of a study are encoded by one schema and have the same inputs, each of them finite. A row or a table\n\
               of another shape cannot take part, because positions would no longer mean the same thing everywhere. Encode all\n\
               rows with one schema. Exit code 2.",
    },
    Entry {
        code: "D002",
        title: "a client without rows",
        text: "A client has at least one row: without rows it has nothing to say, and under substitution it has no neighbours.\n\
               Take fewer clients, hold out fewer rows, or leave the client out of the partition. Exit code 2.",
    },
    Entry {
        code: "D003",
        title: "the schema cannot be understood",
        text: "A schema names the outcome and, for every column, what it is: numeric with public centre and scale, category with\n\
               its levels, or ignore. Unknown keys are refused, because a misspelt one would change the inputs unseen. The\n\
               message names the line. `posterity init` writes a schema with examples. Exit code 2.",
    },
    Entry {
        code: "D004",
        title: "a column is not where it should be",
        text: "Header and schema must use the same names. A column that the schema uses and the file lacks cannot be made up; a\n\
               column of the file that the schema does not name must be named as ignored, so that nobody wonders whether it was\n\
               used. The hint names the closest column. Exit code 2.",
    },
    Entry {
        code: "D005",
        title: "a cell is outside the schema",
        text: "In a study every cell must be what the schema allows: a finite number, one of the levels, or missing where a rule\n\
               says what missing means. The message names line and column. Mend the cell, or the schema if it forgot a level that\n\
               may publicly be known to occur. An agent does not stop there: it maps such a cell to a legal value, because an error\n\
               would tell something about a row. Exit code 2.",
    },
    Entry {
        code: "D006",
        title: "the file is not a table",
        text: "A table is comma-separated text in UTF-8, gzipped or not, with a header, at least one row, and as many cells in every\n\
               line as in the header. One line is one row: a cell does not run over several lines, quoted or not. The message says\n\
               where the reader stopped. Exit code 2.",
    },
    Entry {
        code: "D007",
        title: "the split leaves one side empty",
        text: "Scores need held-out rows and training needs the others. A share is over 0 and under 1 and holds out the whole part of\n\
               share times rows; a column marks held-out rows by one of its values. One side would be empty here. Exit code 2.",
    },
    Entry {
        code: "D008",
        title: "the partition is impossible for these rows",
        text: "Every client needs a row, and the skewed scheme of the papers needs two classes, an even number of clients, and enough\n\
               rows of each class: small clients have (1 - rho) n / M rows, of which the share lambda + (1 - lambda) kappa is of the\n\
               majority class. The hint says which values these data allow. Exit code 2.",
    },
    Entry {
        code: "D009",
        title: "the data set is not known, not there, or another file",
        text: "Data sets are known by name, number of rows and SHA-256 (`posterity datasets list`). Those whose licence does not\n\
               allow bundling are fetched once; a file given by --from must be the clean one or the publisher's own. A file with\n\
               other rows is refused, because results would not be comparable. Exit code 2.",
    },
    Entry {
        code: "D010",
        title: "the data set cannot be downloaded",
        text: "The program asks `curl` for the official address, over https only. There is no network, no curl, or the publisher has\n\
               no file that can be read without another program. The hint says how to get the file by hand; name it by --from. It is\n\
               then checked in the same way. Exit code 1.",
    },
    Entry {
        code: "D011",
        title: "a record id is missing or repeated",
        text: "The schema names a column of record ids, so every row has one, and no two rows have the same: a record that is\n\
               there twice would be protected half. The message names the lines, not the id. Mend the rows, name another\n\
               column, or leave record_id out of the schema. Exit code 2.",
    },
    Entry {
        code: "F001",
        title: "the certificate authority cannot be made or used",
        text: "An authority is a folder with root.pem, issuing.pem and issuing.key; root.key is kept elsewhere and comes back for\n\
               `posterity ca renew`. It is made once and never overwritten, because every party trusts its root. The message says\n\
               what was found: a file is missing, is of another authority, or a certificate is over. Exit code 2; 1 if the\n\
               disk failed.",
    },
    Entry {
        code: "F002",
        title: "others can read a secret key",
        text: "Who has a party's key is that party. A key is used only if its file is open to its owner alone (mode 600), in a folder\n\
               of mode 700. Close the file as the hint says; if others have had access, make a new key instead, and revoke the\n\
               old one. Exit code 2.",
    },
    Entry {
        code: "F003",
        title: "the server's store cannot be used",
        text: "--store names what the server keeps: a file, or a database as postgres://host/name. It is not there, does not answer,\n\
               is held by another process, or was written by another version of posterity. The message says which. What was asked\n\
               for may not have happened: look with `posterity site list` before you repeat it. Exit code 2 if it is not there,\n\
               is held or is of another version; 1 if it failed. Only `posterity serve` makes a store.",
    },
    Entry {
        code: "F004",
        title: "the party is not there, or is there already",
        text: "A name belongs to one key as long as its holder is not revoked, so that nobody takes a place in a study from\n\
               somebody else. `posterity site list` shows who has joined; `posterity site revoke` frees a name for another key. A\n\
               party whose certificate is over may be invited again, and joins with the key that it has. Exit code 2.",
    },
    Entry {
        code: "L001",
        title: "there is no ledger",
        text: "A site keeps its ledger in the folder ledger of its home. The folder that was named has none: it is not the home\n\
               of a site, or the site has not taken part in a run yet. An agent begins one when it starts. If there was one, do\n\
               not start the agent: look for the newest copy first. Exit code 2.",
    },
    Entry {
        code: "L002",
        title: "the ledger cannot be read or kept",
        text: "The disk failed, or is in use by another process of this site (a full disk is L007). Nothing leaves a site before its\n\
               charge is durable, so nothing left it. After such an error nothing is tried again: mend the disk, and start again\n\
               from what it holds. Exit code 1; 2 if another process of this site has it, which is to be stopped first.",
    },
    Entry {
        code: "L003",
        title: "a record of the ledger is damaged",
        text: "Records are linked by digests, and each has a checksum. The one in the message does not fit, and it is not a last\n\
               one that a crash tore: record 0 is the header of the file. It is not repaired or skipped, because what was spent\n\
               would be unknown. Keep the file, restore the whole folder from its newest copy, and speak with the server's\n\
               operator, who has countersigned the last record. Exit code 3.",
    },
    Entry {
        code: "L004",
        title: "the ledger is of another version",
        text: "The file says by which version of the format it was written, and this program does not read that one. It is left as\n\
               it is. Use the version of posterity that wrote it, or a later one that reads it. Exit code 3.",
    },
    Entry {
        code: "L005",
        title: "the charges of a run do not add up",
        text: "Each run has an account of its own in the ledger: a grant, and charges that follow each other. It was replayed, and a\n\
               charge is missing, repeated, off the plan or beyond the grant, though every record is whole. A disk does not do\n\
               that; a defect or a forger does. Keep the file and report it. Exit code 3.",
    },
    Entry {
        code: "L006",
        title: "what the site remembers of a run cannot be used",
        text: "Beside the ledger a site keeps what an algorithm remembers from round to round. The file is damaged, or it names a\n\
               record that the ledger does not have: then the ledger is an old copy, and going on would spend twice. Restore the\n\
               whole folder from its newest copy, never one file alone. Exit code 3.",
    },
    Entry {
        code: "L007",
        title: "the disk of the ledger is full",
        text: "There is no room for the next record of a site's ledger, or of a node's. A charge is on disk before noise is drawn, so\n\
               nothing left the site without one. Make room on the disk of the home. The agent ends with exit code 1, so a service\n\
               manager starts it again by itself, and it goes on from what the disk holds. Never delete files of the ledger to make\n\
               room. Exit code 1.",
    },
    Entry {
        code: "P001",
        title: "a parameter is outside its range",
        text: "Every parameter is checked where it enters: a sampling rate is from 1e-9 to 1, δ is under 1, steps are\n\
               a whole number up to 10^12, and nothing is infinite or not a number. A value outside its range has\n\
               no meaning, and an answer for it would have none either. δ = 0 has a meaning for Laplace noise and\n\
               randomised response, but not for Gaussian noise, whose privacy loss has no largest value. Of a secure sum there\n\
               are at least two clients more than colluders and drop-outs together: otherwise no noise would be left that\n\
               an adversary among the clients does not know. Exit code 2.",
    },
    Entry {
        code: "P002",
        title: "no theorem joins this mechanism, relation and sampling",
        text: "A cost can be stated only where a theorem bounds the worst pair of neighbouring data sets. Batches of a\n\
               fixed size, for example, are not covered under add-remove: one row more changes with which probability\n\
               every other row is drawn. Nor are sampled Laplace noise under substitution, an answer of a person that\n\
               is left out instead of replaced, and a group of rows in a sampled batch. Rather than use a formula made\n\
               for another setting, the command refuses and names a setting that is covered. Exit code 3.",
    },
    Entry {
        code: "P003",
        title: "the accountant does not know this event",
        text: "Each method of accounting covers some mechanisms only: Gaussian differential privacy has no bound for\n\
               Poisson batches (its limit theorem is not one), and zCDP knows no sampling. The hint names a method that\n\
               does; `pld` covers the most. Exit code 3.",
    },
    Entry {
        code: "P004",
        title: "no number can be certified here",
        text: "The accountant knows the mechanism, but its error bounds did not close: the plan is too long, the noise\n\
               too small or δ too close to 0 for the arithmetic at hand, or a budget cannot be reached with any noise.\n\
               It refuses instead of giving a number that might be below the truth. Try the hint, another δ, or\n\
               --accountant rdp, which gives a looser bound over a wider range. --verify asks for a second evaluator\n\
               and refuses where there is none: leave it out there. If it says that two evaluators contradict each\n\
               other, there is a defect: please report it. Exit code 3.",
    },
    Entry {
        code: "P005",
        title: "a plan mixes relations or units",
        text: "An ε under add-remove and an ε under substitution are promises about different neighbours, and an ε for\n\
               a row says nothing about a client. They cannot be added. Account each in a plan of its own, or state all\n\
               events in one relation and unit. Exit code 2.",
    },
    Entry {
        code: "P006",
        title: "the budget would be exceeded",
        text: "The site's ledger holds what was spent, and this charge would take it past what was granted. Nothing was\n\
               spent and nothing left the site. The hint says how many steps still fit; a larger noise multiplier makes\n\
               more of them fit (`posterity account calibrate`). `posterity account steps` says it where one step alone\n\
               is over the budget. In a study leave noise_multiplier out, and it is calibrated. Exit code 3.",
    },
    Entry {
        code: "P007",
        title: "the event is not what the plan has next",
        text: "A ledger opened for a fixed plan is certified for exactly that sequence: stopping early is free, another\n\
               order or another event is not covered. Choices made on the way need a ledger with an adaptive filter.\n\
               Exit code 3.",
    },
    Entry {
        code: "P008",
        title: "the journal did not confirm the charge",
        text: "A release happens only after its charge is written down for good. The journal did not confirm the record,\n\
               or confirmed another one, so nothing left the site. Repair the disk or the file and charge again.\n\
               Exit code 1.",
    },
    Entry {
        code: "P009",
        title: "the receipt is used up",
        text: "A receipt covers the number of releases that were charged, and all were made. A further release would be\n\
               free of charge, which cannot be. Charge the ledger for more steps. Exit code 3.",
    },
    Entry {
        code: "P010",
        title: "the sum and the gate have different shapes",
        text: "A gate's noise is sized for one number of coordinates, one clipping bound and one grid. The sum was built\n\
               for others, so the declared sensitivity would not hold. Build both from the same shape. Exit code 3.",
    },
    Entry {
        code: "P011",
        title: "more vectors than the sum's shape allows",
        text: "Where a whole change is clipped, the sum is one vector; where K parts are clipped, it is K. One more would\n\
               move the sum further than the declared sensitivity. Declare the number of parts in the shape.\n\
               Exit code 3.",
    },
    Entry {
        code: "P012",
        title: "this cannot happen at this kind of gate",
        text: "Gates differ in whom they trust. At a local gate every message is seen, so a client cannot be hidden by\n\
               leaving it out; at a curator only the noised total is seen. The hint names the gate where it can happen.\n\
               Exit code 3.",
    },
    Entry {
        code: "P013",
        title: "too few contributions for the secure sum",
        text: "A secure sum opens with all clients but as many as the study names under dropouts. When each client adds a\n\
               share of the noise, the shares are sized for that number: with fewer, the sum would carry less noise than\n\
               the ledger says, so it stays shut. Raise the number of drop-outs that the study allows for. Exit code 3.",
    },
    Entry {
        code: "P014",
        title: "the operating system gave no random bytes",
        text: "Noise that protects people is keyed by the operating system's generator. Without its bytes nothing is\n\
               released. This is a fault of the machine or of its sandbox; try again or ask its keeper. Exit code 1.",
    },
    Entry {
        code: "P015",
        title: "the optimisation diverged",
        text: "The steps of a client led to numbers that are not finite, or too large for the grid of messages. It is a function of\n\
               released values, so saying so tells nothing about a row. Lower the learning rate, or keep less of each change\n\
               (damping). Exit code 3.",
    },
    Entry {
        code: "P016",
        title: "a secure sum refused a message, or an attempt at it failed",
        text: "The message names who and what: a party with other terms, a message of another round or attempt, a second one\n\
               that differs from the first, a node that is down, went down, or confirmed another set of clients than the others.\n\
               A refused message changes nothing. A failed attempt opens nothing, and another attempt of the round may be\n\
               made; once a node has published for a round, no other sum of that round is opened. Exit code 3.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the codes from the library's source, so that a new one without a text fails here.
    #[test]
    fn every_code_has_its_paragraph() {
        let source = concat!(
            include_str!("../../privacy/src/error.rs"),
            include_str!("../../inference/src/error.rs"),
            include_str!("../../study/src/error.rs"),
            include_str!("failure.rs")
        );
        let is_code = |word: &&str| matches!(word.as_bytes(), [b'P' | b'C' | b'D' | b'L' | b'F', rest @ ..] if rest.len() == 3 && rest.iter().all(u8::is_ascii_digit));
        let mut codes: Vec<&str> = source.split('"').filter(is_code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert!(codes.len() >= 33 && codes.contains(&"P014") && codes.contains(&"C003"), "{codes:?}");
        for code in &codes {
            let text = text(Some(code), false).unwrap();
            assert!(text.len() > 150 && text.contains("Exit code"), "{text}");
        }
        let listed: Vec<&str> = ALL.iter().map(|entry| entry.code).collect();
        assert_eq!(listed, codes, "a text without a code, or out of order");
    }

    #[test]
    fn an_unknown_code_is_an_error_and_case_does_not_matter() {
        assert!(text(Some("P999"), false).is_err());
        assert_eq!(text(Some("p002"), false).unwrap(), text(Some("P002"), false).unwrap());
    }
}
