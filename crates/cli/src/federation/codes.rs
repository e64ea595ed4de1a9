//! What the codes of federations and policies mean, for `posterity explain`.

use study::codes::CodeEntry;

/// The exit code of a failure with this code: 1 where the machine failed and starting again may help, 2 where something is to be
/// put right first. Refusals of a policy, 3, have a type of their own.
pub(crate) fn exit(code: &str) -> u8 {
    match code {
        "F205" => 1,
        _ => 2,
    }
}

/// In order.
pub(crate) const ALL: &[CodeEntry] = &[
    CodeEntry {
        code: "F101",
        title: "the study cannot be served",
        text: "A federation runs one method of one study on one data set, and every site adds noise to its answers. So the server\n\
               refuses a study with several columns, with generated rows, a histogram or an accounting figure. It also refuses a\n\
               non-private method, and one that trusts a curator with every site's sum. If several methods are private,\n\
               choose one with --method. Every party checks the same when it receives a manifest. Exit code 2.",
    },
    CodeEntry {
        code: "F102",
        title: "[federation] is not valid",
        text: "[federation] lists the sites with their declared rows, the compute nodes of a secure sum, the quorum of a round,\n\
               and the deadline in seconds. Names are those of certificates, and each occurs once. The quorum is at most the\n\
               number of sites, and at least the number that the secure sum needs (sites minus dropouts). The number of nodes\n\
               is the one in the method's privacy table. The message names the line. Exit code 2.",
    },
    CodeEntry {
        code: "F103",
        title: "a party of the study has no certificate",
        text: "The study names a site or a node that has not joined. Its key is unknown, so the manifest cannot list it. Invite it;\n\
               the run starts after it has joined. Exit code 2.",
    },
    CodeEntry {
        code: "F104",
        title: "the study can be served but not simulated",
        text: "A study with [federation] but without [partition] does not say how the rows of a file are divided among simulated\n\
               clients. `check` and `plan` read it, and `serve` runs it. To simulate it, add a [partition], and `split` in\n\
               [data]. Exit code 2.",
    },
    CodeEntry {
        code: "F105",
        title: "the site's row count differs from the declared one",
        text: "Under the relation \"substitute\" the number of rows is public, and noise and weights depend on it. The site's file\n\
               has another number of rows than the manifest declares. The agent signed, charged and sent nothing. An agent\n\
               counts every line after the header as a row, blank lines included. Under \"add-remove\" the agent never compares\n\
               the numbers. Exit code 2.",
    },
    CodeEntry {
        code: "F106",
        title: "the rows cannot be divided among the sites",
        text: "The demonstration writes one file of rows for each site. That needs a [partition] whose clients are the sites of\n\
               [federation], each with as many training rows as declared. Exit code 2.",
    },
    CodeEntry {
        code: "F110",
        title: "the site's policy cannot be read",
        text: "site.toml says what this site allows. The agent checks every key and refuses unknown ones, because it would ignore\n\
               a misspelt rule. `posterity agent policy init` prints a policy with all keys. Exit code 2.",
    },
    CodeEntry {
        code: "F111",
        title: "the site's policy does not allow the run",
        text: "The policy overrides every study. The message names the key, what the run requests and what the policy allows. The\n\
               limits on ε and δ apply to the sum over all runs at this site; each run counts with its whole grant, used or not.\n\
               Only grants for the same relation and unit add up, so the agent also refuses a run whose pair differs from the\n\
               policy's or from that of earlier runs. The agent signed, charged and sent nothing. Exit code 3.",
    },
    CodeEntry {
        code: "F121",
        title: "the study cannot be fitted",
        text: "A fit releases one posterior of one owner's table with one ε. So it refuses a non-private method, a method with a list of\n\
               ε, an aggregator or an intercept for each site. A first fit is also refused if its δ is not under 1 / (4 rows): no home could\n\
               ever allow it. Choose a method with --method, or change the study. Nothing was charged. Exit code 2.",
    },
    CodeEntry {
        code: "F122",
        title: "the folder is not the home of an owner",
        text: "The home of a fit has keys, a ledger, and fit.toml with the limits of all fits. The folder has a key but no fit.toml: it\n\
               is the home of a federation's site, node or server, or the file was removed. Budgets of a site and of a fit are kept\n\
               apart, so choose another folder. Nothing was charged. Exit code 2.",
    },
    CodeEntry {
        code: "F123",
        title: "the number of rows or persons is not declared",
        text: "Under add-remove, or if a whole client is protected, the number of rows is private. A fit must not count them, because its\n\
               noise and its published files would tell the number. Declare a round number with declared_rows in [data]. If persons are\n\
               protected, the number of rows is private under every relation: declare the number of persons with declared_persons. Under\n\
               substitution that number is public and must be the one of the table. Nothing was charged. Exit code 2.",
    },
    CodeEntry {
        code: "F124",
        title: "the fit cannot go on",
        text: "The ledger of the home and the study do not fit together. What was charged stays charged, and nothing was published.\n\
               This should not happen: report it with the message. Exit code 2.",
    },
    CodeEntry {
        code: "F125",
        title: "the ledger of a home is lost",
        text: "The home has limits, keys, an unfinished fit or what a run remembers, but its ledger is missing or empty. What the\n\
               home has spent is then unknown, so it fits nothing more. Restore the whole home from its newest backup. Without a\n\
               backup, add up what the results.json of each earlier fit says that it was granted, and lower the limits of the next\n\
               home by that much. Nothing was charged. Exit code 2.",
    },
    CodeEntry {
        code: "F126",
        title: "home and results are in one folder",
        text: "The home of a fit has keys and a ledger, and is private. The folder of the results may be published as a whole. Neither\n\
               may be inside the other. Nothing was charged. Exit code 2.",
    },
    CodeEntry {
        code: "F201",
        title: "a party's folder, key or certificate cannot be used",
        text: "A site, a node or a server has a home folder with its key and its certificate. The folder is missing, has never\n\
               joined, belongs to a party of another role, or has a damaged file; the message says which. Exit code 2.",
    },
    CodeEntry {
        code: "F202",
        title: "the invite cannot be used",
        text: "An invite is one line that begins with posterity-invite-1. It works once, for one role and name, until it expires.\n\
               This one is incomplete, altered, or for another role; or the server answers that another key used it, that it has\n\
               expired, or that it is unknown. The command removes the folder that it created. Ask for a new invite. Exit code 2.",
    },
    CodeEntry {
        code: "F203",
        title: "the server cannot be reached, or refuses this party",
        text: "The connection to the server failed, and trying again will not help: the address is wrong, the certificate is revoked\n\
               or has expired, the authority is another one, or a revoked key tries to join again. After a temporary failure the\n\
               agent keeps trying without end. Exit code 2.",
    },
    CodeEntry {
        code: "F204",
        title: "the agent has stopped",
        text: "The agent sends no more answers until an operator has found the cause: its ledger lacks records that the server has\n\
               seen, two copies of the site are running, or it refused a study. (A failed disk is L002, a full one L007.) A stopped\n\
               agent sends nothing. Exit code 2.",
    },
    CodeEntry {
        code: "F205",
        title: "the machine failed",
        text: "The program could not open a port, could not start a process or a thread, or got no random numbers from the operating\n\
               system. Exit code 1.",
    },
    CodeEntry {
        code: "F206",
        title: "there is no such proposal, or more than one",
        text: "With approval = \"manual\" the agent waits until someone approves the manifest's digest, which `posterity agent run`\n\
               prints. At least its first eight digits select the proposal. You gave fewer digits, or digits that match no proposal\n\
               to this site or several. `posterity agent approve` without a digest lists the proposals that wait. Exit code 2.",
    },
    CodeEntry {
        code: "F207",
        title: "the demonstration failed",
        text: "`posterity demo federation` starts its processes in its own folder, with a log file for each. One of them ended or took\n\
               too long; its log says why. The command does not touch a folder that is not a demonstration's, or one in which another\n\
               demonstration runs. Exit code 2.",
    },
    CodeEntry {
        code: "F208",
        title: "the clocks of this machine and the server do not agree",
        text: "Certificates are valid for seven days, from one hour before they are issued. By this machine's clock the server's\n\
               certificate is not valid now, or by the server's clock this party's is not. The message says by how much the clocks\n\
               differ at least. Correct the wrong clock. If both are right, the server's certificate has expired, and the server's\n\
               operator must renew the authority (`posterity ca renew`). Exit code 2.",
    },
    CodeEntry {
        code: "F209",
        title: "a run's file cannot be written, or is refused",
        text: "`posterity study bundle` writes a finished run of the server's own store, chosen by the first digits of its name.\n\
               `posterity ledger verify --bundle` checks such a file: the signatures of all members under the manifest, the server's\n\
               signature under the rest, and that the released answers give the posterior. The message names what does not fit. Do not\n\
               rely on a file that is refused. Exit code 2.",
    },
    CodeEntry {
        code: "F210",
        title: "there is no such open run, or more than one",
        text: "`posterity agent withdraw` closes one open run of a site for good, chosen by at least eight first digits of its name.\n\
               `posterity ledger show` lists the runs. Exit code 2.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use federation::log::{DiskError, FolderDisk, LogError};
    use federation::store::StoreError;
    use std::io::ErrorKind;
    use std::path::Path;

    /// Reads the codes from the sources, so that a new one without a text fails here.
    #[test]
    fn every_code_of_a_federations_study_or_policy_has_its_paragraph() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut sources = std::fs::read_to_string(here.join("../federation/src/policy.rs")).unwrap();
        for folder in ["../study/src", "../federation/src/studies", "../federation/src/fit", "src/federation"] {
            for file in std::fs::read_dir(here.join(folder)).unwrap().map(|entry| entry.unwrap().path()) {
                if file.extension().is_some_and(|ending| ending == "rs") && !file.ends_with("codes.rs") {
                    sources += &std::fs::read_to_string(file).unwrap();
                }
            }
        }
        let is_code = |word: &&str| matches!(word.as_bytes(), [b'F', b'1', rest @ ..] if rest.len() == 2 && rest.iter().all(u8::is_ascii_digit));
        let mut used: Vec<&str> = sources.split('"').filter(is_code).collect();
        used.sort_unstable();
        used.dedup();
        let listed: Vec<&str> = ALL.iter().map(|entry| entry.code).filter(|code| code.starts_with("F1")).collect();
        assert_eq!(listed, used, "a text without a code, a code without a text, or out of order");
        assert!(ALL.iter().all(|entry| entry.text.contains("Exit code")));
    }

    /// The exit code with which a federation's failure of this code ends.
    fn ends(code: &'static str) -> u8 {
        match code {
            "F110" => {
                let unreadable = federation::policy::Policy::read("").unwrap_err();
                Failure::from(unreadable).exit()
            }
            "F111" => 3, // refused by a policy: the tests of a federation's life see it
            _ => Failure::Federation { code, message: "x".into(), hint: "x".into() }.exit(),
        }
    }

    #[test]
    fn every_exit_code_is_what_its_paragraph_and_the_guides_table_say() {
        for entry in ALL {
            let said = format!("Exit code {}.", ends(entry.code));
            assert!(entry.text.ends_with(&said), "{}: {said}", entry.code);
        }
        let guide = include_str!("../../../../docs/guide/federation.md");
        let means = |code: u8| {
            let row = guide.lines().find(|line| line.starts_with(&format!("| {code} | "))).unwrap();
            row.split('|').nth(2).unwrap().to_owned()
        };
        let path = std::path::PathBuf::from("x");
        let file = |kind: ErrorKind| Failure::file("cannot read", &path, kind.into());
        let store = |why: &str| StoreError::Failed { why: why.into() };
        let disk = |what| LogError::Disk(DiskError { what, why: "x".into() });
        let cases: [(Failure, u8, &str); 10] = [
            (file(ErrorKind::NotFound), 2, "missing"),
            (file(ErrorKind::PermissionDenied), 2, "not yours"),
            (file(ErrorKind::StorageFull), 1, "a disk"),
            (store("x").into(), 1, "a database"),
            (StoreError::Missing { place: "x".into() }.into(), 2, "missing"),
            (Failure::Federation { code: "F205", message: "x".into(), hint: "x".into() }, 1, "a port"),
            (disk("cannot write the ledger").into(), 1, "a disk"),
            (disk(DiskError::FULL).into(), 1, "a disk"),
            (disk(DiskError::IN_USE).into(), 2, "put right first"),
            (LogError::Damaged { record: 1, what: "x" }.into(), 3, "a ledger is damaged"),
        ];
        for (failure, code, words) in cases {
            assert_eq!(failure.exit(), code, "{failure}");
            assert!(means(code).contains(words), "{words}: {}", means(code));
        }
    }

    #[test]
    fn a_ledger_that_another_agent_has_is_recognised() {
        let folder = std::env::temp_dir().join(format!("posterity-in-use-{}", std::process::id()));
        let first = FolderDisk::open(&folder).unwrap();
        let second = Failure::from(LogError::from(FolderDisk::open(&folder).unwrap_err()));
        drop(first);
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!((second.code(), second.exit()), ("L002", 2));
        assert!(second.hint().contains("another agent uses this home"), "{}", second.hint());
    }
}
