//! What the codes of federations and policies mean, for `posterity explain`.

use study::codes::Entry;

/// The exit code of a failure with this code: 1 where the machine failed and starting again may help, 2 where something is to be
/// put right first. Refusals of a policy, 3, have a type of their own.
pub(crate) fn exit(code: &str) -> u8 {
    match code {
        "F205" => 1,
        _ => 2,
    }
}

/// In order.
pub(crate) const ALL: &[Entry] = &[
    Entry {
        code: "F101",
        title: "the study cannot be served",
        text: "A federation runs one method of one study on one data set, and every site noises what it answers. So a study of\n\
               several columns, of made-up rows, a histogram or a figure of accounting is not served; nor is a method without\n\
               privacy, or one that trusts a curator with every site's sum. Where several methods promise privacy, --method\n\
               says which is run. The same is refused by every party that is shown a manifest. Exit code 2.",
    },
    Entry {
        code: "F102",
        title: "[federation] does not fit",
        text: "[federation] names the sites with their declared rows, the compute nodes of a secure sum, the quorum with which a\n\
               round goes on, and the deadline in seconds. Names are those of certificates and are there once; a quorum is not\n\
               over the number of sites, and not under the number with which the secure sum opens (sites less dropouts);\n\
               there are as many nodes as the method's privacy says. The message has the line. Exit code 2.",
    },
    Entry {
        code: "F103",
        title: "a party of the study has no certificate",
        text: "The study names a site or a node that has not joined: its key is not known, so it cannot be in a manifest that\n\
               everybody signs. Invite it, and let it join. Exit code 2.",
    },
    Entry {
        code: "F104",
        title: "the study is served, and not simulated",
        text: "A study with [federation] and without [partition] says who has which rows, and not how rows of a file are dealt to\n\
               simulated clients. `check` and `plan` read it; `serve` runs it. To simulate it, add a [partition], and `split` in\n\
               [data]. Exit code 2.",
    },
    Entry {
        code: "F105",
        title: "the site has another number of rows than is declared",
        text: "Where a row is replaced by another, the number of rows is public, and noise and weights go by it. The site's file has\n\
               another number than the manifest declares for it: nothing was signed, charged or sent. To an agent every\n\
               line after the header is a row, a blank one too. Where rows may come and go, the numbers are never compared.\n\
               Exit code 2.",
    },
    Entry {
        code: "F106",
        title: "the rows cannot be dealt to the sites",
        text: "To show a federation on one machine, the rows of a study are dealt to files, one for each site. That needs a\n\
               [partition] whose clients are the sites of [federation], with the training rows that are declared for them.\n\
               Exit code 2.",
    },
    Entry {
        code: "F110",
        title: "the site's policy cannot be read",
        text: "site.toml says what this site allows. Every key is checked, and unknown ones are refused, because a misspelt one\n\
               would be a rule that nobody keeps. `posterity agent policy init` prints a policy with all keys. Exit code 2.",
    },
    Entry {
        code: "F111",
        title: "the site's policy does not allow the run",
        text: "The policy wins over every study: the message names its key, what the run has and what the policy asks for. ε and δ\n\
               are those of all runs at this site, added up, whether or not they used what they were granted. They add up over one\n\
               relation and unit only, so a run with another pair than the policy's, or than that of earlier runs, is refused\n\
               too. Nothing was signed, charged or sent. Exit code 3.",
    },
    Entry {
        code: "F201",
        title: "a party's folder, key or certificate cannot be used",
        text: "A site, a node or a server lives in a folder with its key and its certificate. The folder is missing, was never joined,\n\
               is a party's of another role, or something in it is not what it should be; the message says what. Exit code 2.",
    },
    Entry {
        code: "F202",
        title: "the invite cannot be used",
        text: "An invite is one line that begins with posterity-invite-1. It is good once, for one role and name, and for a limited time.\n\
               The line is cut, altered, or for another role; or the server says that it was used by another key, that its time is\n\
               over, or that it is not known there. A folder that was made for it is gone again. Ask for a new one. Exit code 2.",
    },
    Entry {
        code: "F203",
        title: "the server cannot be reached, or turns this party away",
        text: "The line to the server failed in a way that will not mend itself: a wrong address, a certificate that was revoked or has\n\
               ended, another authority, or a key that was revoked and would join again. An agent that only loses its line tries again for ever. Exit code 2.",
    },
    Entry {
        code: "F204",
        title: "the agent has stopped",
        text: "The agent answers no more until somebody has looked: its ledger is behind what the server has seen of it, two copies of the\n\
               site are alive, or a study was refused. (A disk that failed is L002, a full one L007.) Nothing leaves a stopped agent. Exit code 2.",
    },
    Entry {
        code: "F205",
        title: "the machine failed",
        text: "A port could not be opened, a process or a thread not started, or there were no random numbers. Exit code 1.",
    },
    Entry {
        code: "F206",
        title: "there is no such proposal, or more than one",
        text: "A policy with approval = manual waits until somebody approves the manifest's digest, which `posterity agent run` prints. Its\n\
               first eight digits or more choose it. Those given are fewer, or begin the digest of no study that was proposed to this site, or of several.\n\
               `posterity agent approve` without a digest lists what waits. Exit code 2.",
    },
    Entry {
        code: "F207",
        title: "the demonstration failed",
        text: "`posterity demo federation` starts its processes in a folder of its own, with a log of each. One of them ended, or took too\n\
               long; the logs say why. A folder that is no demonstration's, or another's that runs, is left alone. Exit code 2.",
    },
    Entry {
        code: "F208",
        title: "the clocks of this machine and the server do not agree",
        text: "Certificates are good for seven days, from an hour before they are made. By this machine's clock the server's certificate\n\
               has not begun or has ended, or by the server's clock this party's. The message says by how much the clocks differ at\n\
               least. Set the clock that is off. If both are right, the server's certificate has ended: the server's operator\n\
               renews the authority (`posterity ca renew`). Exit code 2.",
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
        for folder in ["../study/src", "src/federation"] {
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
