//! What each error code means, why it exists, and what to do: `posterity explain`.

use crate::failure::Failure;
use study::codes::CodeEntry;

/// All codes: those of the command and of privacy, then those of studies and runs, those of federations, and warnings.
fn all() -> impl Iterator<Item = &'static CodeEntry> {
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

fn object(entry: &CodeEntry) -> serde_json::Value {
    serde_json::json!({ "code": entry.code, "title": entry.title, "text": entry.text })
}

const ALL: &[CodeEntry] = &[
    CodeEntry {
        code: "C001",
        title: "invalid command line",
        text: "A flag is missing, unknown, or has no effect together with the other flags. A --rate without --sampling, for\n\
               example, would otherwise be ignored silently, and the answer would describe a different plan from the one\n\
               you have in mind. The hint names the flag to add or remove. Exit code 2.",
    },
    CodeEntry {
        code: "C002",
        title: "invalid file of events",
        text: "--events reads a JSON list of flat objects whose keys are the names of the flags, such as {\"mechanism\":\n\
               \"gaussian\", \"noise_multiplier\": 1.1, \"steps\": 100, \"adjacency\": \"substitute\"}. Unknown and duplicate keys\n\
               are rejected because they could change the cost unnoticed. The message counts the objects from one.\n\
               Exit code 2.",
    },
    CodeEntry {
        code: "C003",
        title: "a file cannot be read or written",
        text: "The operating system rejected the path in the message, for the reason given there. Nothing was computed.\n\
               Exit code 2 if the file does not exist or you lack permission; 1 if the disk failed.",
    },
    CodeEntry {
        code: "C004",
        title: "the disk is full",
        text: "There is no space left for the file in the message, on its disk or in this user's quota. Files are written\n\
               completely or not at all, so no file is truncated. Free some space and run the same command again:\n\
               `simulate` resumes after the finished work, and a server keeps its run. Exit code 1.",
    },
    CodeEntry {
        code: "C020",
        title: "invalid results file",
        text: "`posterity report` reads the results.json of a finished run, in the format version given by its key\n\
               `schema`. The file is not JSON, lacks a key, or has a version that this program does not support. The\n\
               message says which. Run the study again, or use the version of posterity that wrote the file. Exit code 2.",
    },
    CodeEntry {
        code: "D001",
        title: "rows have different numbers of inputs",
        text: "One schema encodes all rows of a study, so all rows have the same inputs, and every input is finite. A row\n\
               or table of another shape cannot take part, because its positions would not mean the same thing. Encode all\n\
               rows with one schema. Exit code 2.",
    },
    CodeEntry {
        code: "D002",
        title: "a client has no rows",
        text: "Every client needs at least one row: without rows it contributes nothing, and under substitution it has no\n\
               neighbouring data sets. Use fewer clients, hold out fewer rows, or remove the client from the partition.\n\
               Exit code 2.",
    },
    CodeEntry {
        code: "D003",
        title: "invalid schema",
        text: "A schema names the outcome and describes every column: numeric with a public centre and scale, category with\n\
               its levels, or ignore. Unknown keys are rejected because a misspelt key would change the inputs unnoticed.\n\
               The message names the line. `posterity init` writes a schema with examples. Exit code 2.",
    },
    CodeEntry {
        code: "D004",
        title: "header and schema name different columns",
        text: "The header and the schema must use the same column names. A column that the schema uses must exist in the\n\
               file. A column of the file that the schema does not use must be listed with kind = \"ignore\", so that it is\n\
               clear that it is not used. The hint names the closest column. Exit code 2.",
    },
    CodeEntry {
        code: "D005",
        title: "a cell does not match the schema",
        text: "In a study every cell must be what the schema allows: a finite number, one of the levels, or missing where\n\
               the schema has a rule for missing cells. The message names the line and the column. Correct the cell, or add\n\
               the level to the schema if its existence is public knowledge. An agent does not stop here: it maps such a\n\
               cell to a legal value, because an error would reveal something about a row. `posterity fit` tells its owner\n\
               about cells that count as missing by the schema's rule, and refuses all others, and a column without one legal\n\
               cell, before anything is charged. Exit code 2.",
    },
    CodeEntry {
        code: "D006",
        title: "the file is not a table",
        text: "A table is comma-separated text in UTF-8, gzipped or not, with a header, at least one row, and the same\n\
               number of cells in every line. One line is one row: a cell cannot span lines, quoted or not. The message\n\
               says where the reader stopped. Exit code 2.",
    },
    CodeEntry {
        code: "D007",
        title: "the split leaves no training rows or no held-out rows",
        text: "Scores need held-out rows, and training needs the others. A fraction must be greater than 0 and less than 1;\n\
               it holds out ⌊fraction × rows⌋ rows. A column marks held-out rows with one of its values. Here one side\n\
               would be empty. Exit code 2.",
    },
    CodeEntry {
        code: "D008",
        title: "the partition is impossible for these rows",
        text: "Every client needs a row. The skewed scheme of the papers also needs two classes, an even number of clients,\n\
               and enough rows of each class: small clients have (1 - rho) n / M rows, of which the fraction lambda + (1 -\n\
               lambda) kappa belongs to the majority class. The hint says which values these data allow. Exit code 2.",
    },
    CodeEntry {
        code: "D009",
        title: "unknown or missing data set, or the wrong file",
        text: "Named data sets are identified by name, number of rows and SHA-256 (`posterity datasets list`). Data sets\n\
               whose licence does not allow bundling are downloaded once. A file given with --from must be the cleaned file\n\
               or the publisher's own. A file with other rows is rejected because results would not be comparable.\n\
               Exit code 2.",
    },
    CodeEntry {
        code: "D010",
        title: "the data set cannot be downloaded",
        text: "The program calls `curl` with the official address, over https only. There is no network, curl is not\n\
               installed, or the publisher's file needs another program to unpack. The hint says how to get the file by\n\
               hand; pass it with --from. It is then verified in the same way. Exit code 1.",
    },
    CodeEntry {
        code: "D011",
        title: "a record id is missing or repeated",
        text: "The schema names a column of record ids, so every row needs an id of its own: a record that occurs twice\n\
               would be only half as well protected. The message names the lines, not the ids. Correct the rows, name\n\
               another column, or remove record_id from the schema. Exit code 2.",
    },
    CodeEntry {
        code: "F001",
        title: "the certificate authority cannot be created or used",
        text: "An authority is a folder with root.pem, issuing.pem and issuing.key; root.key is kept offline and needed\n\
               only for `posterity ca renew`. The authority is created once and never overwritten, because every member\n\
               trusts its root. The message says what was found: a file is missing or belongs to another authority, or a\n\
               certificate has expired. Exit code 2; 1 if the disk failed.",
    },
    CodeEntry {
        code: "F002",
        title: "other users can read a secret key",
        text: "Anyone who holds a member's key can act as that member. A key is used only if its file is readable by its\n\
               owner alone (mode 600), in a folder of mode 700. Restrict the file as the hint says. If others have had\n\
               access, create a new key and revoke the old one. Exit code 2.",
    },
    CodeEntry {
        code: "F003",
        title: "the server's store cannot be used",
        text: "--store names the server's database: a file, or postgres://host/name. It does not exist, does not respond,\n\
               is locked by another process, or was written by another version of posterity. The message says which. The\n\
               requested change may not have happened: check with `posterity site list` before you repeat it. Exit code 2\n\
               if the store is missing, locked or of another version; 1 if it failed. Only `posterity serve` creates a\n\
               store.",
    },
    CodeEntry {
        code: "F004",
        title: "the member does not exist, or exists already",
        text: "A name belongs to one key until its holder is revoked, so that nobody can take over another member's place\n\
               in a study. `posterity site list` shows who has joined; `posterity site revoke` frees a name for another\n\
               key. A member whose certificate has expired may be invited again, and joins with its existing key.\n\
               Exit code 2.",
    },
    CodeEntry {
        code: "L001",
        title: "there is no ledger",
        text: "A site's ledger is the folder `ledger` in its home. The given folder has none: it is not the home of a site,\n\
               or the site has not taken part in a run yet. The agent creates a ledger when it starts. If a ledger existed\n\
               before, do not start the agent: find the newest copy first. Exit code 2.",
    },
    CodeEntry {
        code: "L002",
        title: "the ledger cannot be read or written",
        text: "The disk failed, or another process of this site uses the ledger (a full disk is L007). Nothing leaves a\n\
               site before its charge is durable, so nothing was sent. The agent does not retry after such an error: repair\n\
               the disk, then start the agent again. Exit code 1; 2 if another process of this site holds the ledger and\n\
               must be stopped first.",
    },
    CodeEntry {
        code: "L003",
        title: "a record of the ledger is damaged",
        text: "Records are linked by digests, and each has a checksum. The record in the message does not match, and it is\n\
               not a final record that a crash cut off. Record 0 is the header of the file. The record is not repaired or\n\
               skipped, because the amount spent would be unknown. Keep the file, restore the whole folder from its newest\n\
               copy, and contact the server's operator, who has countersigned the last record. Exit code 3.",
    },
    CodeEntry {
        code: "L004",
        title: "unsupported ledger version",
        text: "The file states the format version that it was written with, and this program does not read that version.\n\
               The file is left unchanged. Use the version of posterity that wrote it, or a later version that reads it.\n\
               Exit code 3.",
    },
    CodeEntry {
        code: "L005",
        title: "the charges of a run are inconsistent",
        text: "Each run has an account in the ledger: a grant, and a sequence of charges. The account was replayed, and a\n\
               charge is missing, repeated, not in the plan or beyond the grant, although every record is intact. A disk\n\
               failure does not cause this; a software defect or tampering does. Keep the file and report it. Exit code 3.",
    },
    CodeEntry {
        code: "L006",
        title: "the site's state of a run cannot be used",
        text: "Beside the ledger a site stores what an algorithm remembers between rounds. The file is damaged, or it\n\
               refers to a record or a run that the ledger does not have. In the latter case the ledger is an old copy, and\n\
               continuing would spend the budget twice. Restore the whole folder from its newest copy, never a single file.\n\
               Exit code 3.",
    },
    CodeEntry {
        code: "L007",
        title: "the ledger's disk is full",
        text: "There is no space for the next record of a site's or a node's ledger. A charge is on disk before noise is\n\
               drawn, so nothing left the site without one. Free some space on the disk of the home folder. The agent ends\n\
               with exit code 1, so a service manager restarts it, and it continues from what is on disk. Never delete\n\
               files of the ledger to free space. Exit code 1.",
    },
    CodeEntry {
        code: "P001",
        title: "a parameter is out of range",
        text: "Every parameter is validated on entry: a sampling rate is from 1e-9 to 1, δ is less than 1, steps are a\n\
               whole number up to 10^12, and no value is infinite or NaN. δ = 0 is allowed for Laplace noise and randomised\n\
               response, but not for Gaussian noise, whose privacy loss is unbounded. A secure sum needs at least two\n\
               clients more than colluders and drop-outs together: otherwise adversaries among the clients would know all\n\
               of the noise. Exit code 2.",
    },
    CodeEntry {
        code: "P002",
        title: "no theorem covers this mechanism, relation and sampling",
        text: "A cost can be stated only where a theorem bounds the worst pair of neighbouring data sets. Batches of a\n\
               fixed size, for example, are not covered under add-remove, because adding a row changes the probability with\n\
               which every other row is drawn. Also not covered: sampled Laplace noise under substitution, a person's\n\
               answer that is omitted instead of replaced, and a group of rows in a sampled batch. The command does not\n\
               apply a formula made for another setting; it refuses, and names a setting that is covered. Exit code 3.",
    },
    CodeEntry {
        code: "P003",
        title: "the accountant does not support this event",
        text: "Each accounting method covers only some mechanisms. Gaussian differential privacy has no bound for Poisson\n\
               batches (its central limit theorem is an approximation), and zCDP does not cover sampling. The hint names a\n\
               method that covers the event; `pld` covers the most. Exit code 3.",
    },
    CodeEntry {
        code: "P004",
        title: "no bound can be certified",
        text: "The accountant supports the mechanism, but its error bounds did not close: the plan is too long, the noise\n\
               too small or δ too close to 0 for its arithmetic, or no amount of noise meets the budget. It refuses rather\n\
               than return a number that might be too low. Follow the hint, or try another δ or --accountant rdp, which\n\
               gives a looser bound over a wider range. --verify requires a second evaluator and refuses where there is\n\
               none; remove it there. If the message says that two evaluators contradict each other, this is a defect:\n\
               please report it. Exit code 3.",
    },
    CodeEntry {
        code: "P005",
        title: "a plan mixes relations or units",
        text: "An ε under add-remove and an ε under substitution are guarantees about different neighbours, and an ε for a\n\
               row says nothing about a client. They cannot be added. Account for each in a plan of its own, or state all\n\
               events in one relation and unit. Exit code 2.",
    },
    CodeEntry {
        code: "P006",
        title: "the budget would be exceeded",
        text: "The site's ledger records what was spent, and this charge would exceed the grant. Nothing was spent and\n\
               nothing left the site. The hint says how many steps still fit; more fit with a larger noise multiplier\n\
               (`posterity account calibrate`). `posterity account steps` reports this code if a single step exceeds the\n\
               budget. In a study, omit noise_multiplier and it is calibrated. Exit code 3.",
    },
    CodeEntry {
        code: "P007",
        title: "the event is not the next one in the plan",
        text: "A ledger opened for a fixed plan is certified for exactly that sequence. Stopping early costs nothing;\n\
               another order or another event is not covered. Choices made during a run need a ledger with an adaptive\n\
               filter. Exit code 3.",
    },
    CodeEntry {
        code: "P008",
        title: "the journal did not confirm the charge",
        text: "A release happens only after its charge is durable. The journal did not confirm the record, or confirmed\n\
               another one, so nothing left the site. Repair the disk or the file and charge again. Exit code 1.",
    },
    CodeEntry {
        code: "P009",
        title: "the receipt is used up",
        text: "A receipt covers the number of releases that were charged, and all of them were made. Another release would\n\
               be uncharged. Charge the ledger for more steps. Exit code 3.",
    },
    CodeEntry {
        code: "P010",
        title: "the sum and the gate have different shapes",
        text: "A gate's noise is sized for one number of coordinates, one clipping bound and one grid. The sum was built\n\
               for others, so the declared sensitivity would not hold. Build both from the same shape. Exit code 3.",
    },
    CodeEntry {
        code: "P011",
        title: "the sum has more vectors than its shape allows",
        text: "Where a whole change is clipped, the sum is one vector; where K parts are clipped, it is K vectors. One more\n\
               would move the sum further than the declared sensitivity. Declare the number of parts in the shape.\n\
               Exit code 3.",
    },
    CodeEntry {
        code: "P012",
        title: "this gate does not support the operation",
        text: "Gates differ in whom they trust. At a local gate every message is visible, so leaving a client out cannot be\n\
               hidden; at a curator only the noised total is visible. The hint names a gate that supports the operation.\n\
               Exit code 3.",
    },
    CodeEntry {
        code: "P013",
        title: "too few contributions for the secure sum",
        text: "A secure sum opens only if at most `dropouts` clients are missing. When each client adds a share of the\n\
               noise, the shares are sized for that number: with fewer contributions the sum would carry less noise than\n\
               the ledger states, so it is not opened. Raise `dropouts` in the study. Exit code 3.",
    },
    CodeEntry {
        code: "P014",
        title: "the operating system returned no random bytes",
        text: "Noise that protects people is keyed by the operating system's random generator. Without its bytes nothing is\n\
               released. This is a fault of the machine or its sandbox; try again, or ask the administrator. Exit code 1.",
    },
    CodeEntry {
        code: "P015",
        title: "the optimisation diverged",
        text: "The steps of a client led to numbers that are not finite, or too large for the grid of messages. This\n\
               follows from released values, so the error reveals nothing about a row. Lower the learning rate or the\n\
               damping. Exit code 3.",
    },
    CodeEntry {
        code: "P016",
        title: "a secure sum rejected a message, or an attempt failed",
        text: "The message names the party and the reason: different terms, a message of another round or attempt, a second\n\
               message that differs from the first, or a node that is down, restarted, or confirmed another set of clients\n\
               than the others. A rejected message changes nothing. A failed attempt opens nothing, and the round may be\n\
               attempted again. Once a node has published for a round, no other sum of that round is opened. Exit code 3.",
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
        // Those of federations stand in `federation/codes.rs`, which has a test of its own.
        let is_here = |word: &&str| is_code(word) && !word.starts_with("F1");
        let mut codes: Vec<&str> = source.split('"').filter(is_here).collect();
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
