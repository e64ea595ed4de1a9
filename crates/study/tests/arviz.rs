//! Files of draws as ArviZ and pyarrow read them, and our diagnostics beside theirs.
//!
//! The first run makes a Python environment in the target folder and installs the two packages; later runs find it there.
//! Without python3, its module venv or a package index the test is skipped, by name.

#![allow(clippy::disallowed_macros)] // a test that is skipped says so

use inference::chain::{Convergence, Draws, LEVELS, diagnose};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use study::draws;

/// What the environment has.
const PACKAGES: [&str; 2] = ["arviz==0.23.4", "pyarrow==26.0.1"];

/// Reads both forms, checks that they hold the same numbers, and prints what ArviZ finds for each parameter.
const SCRIPT: &str = r#"
import sys, glob, json, warnings
warnings.simplefilter("ignore")
import numpy as np, pyarrow, arviz as az
folder = sys.argv[1]
stan = az.from_cmdstan(sorted(glob.glob(folder + "/chain-*.csv")))
table = pyarrow.ipc.open_file(folder + "/draws.arrow").read_all()
table.validate(full=True)
chains = max(table["chain"].to_pylist())
rows = len(table) // chains
assert table["chain"].to_pylist() == [m + 1 for m in range(chains) for _ in range(rows)]
assert table["iteration"].to_pylist() == [i + 1 for _ in range(chains) for i in range(rows)]
assert (stan.sample_stats["lp"].values == 0).all()
names = table.column_names[2:]
told = {"names": names, "parameters": []}
for name, variable in zip(names, stan.posterior.data_vars, strict=True):
    x = table[name].to_numpy().reshape(chains, rows)
    assert x.tobytes() == stan.posterior[variable].values.tobytes(), name
    found = [x.mean(), x.std(ddof=1), az.rhat(x), az.ess(x), az.ess(x, method="tail"), az.mcse(x), az.mcse(x, method="sd")]
    found += [az.mcse(x, method="quantile", prob=p) for p in LEVELS]
    bits = [int(b) for b in x.view(np.uint64).sum(axis=1, dtype=np.uint64)]
    told["parameters"].append({"variable": variable, "found": [float(v) for v in found], "bits": bits})
print(json.dumps(told))
"#;

/// The interpreter of an environment with the packages, or why there is none.
fn python() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("arviz");
    let interpreter = folder.join("bin/python");
    let ready = folder.join("ready");
    if std::fs::read_to_string(&ready).is_ok_and(|text| text == PACKAGES.join(" ")) {
        return Ok(interpreter);
    }
    let succeed = |mut command: Command, what: &str| match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{what}: {}", said.lines().rfind(|line| !line.is_empty()).unwrap_or("failed")))
        }
        Err(error) => Err(format!("{what}: {error}")),
    };
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(&folder);
    succeed(venv, "python3 -m venv")?;
    let mut install = Command::new(&interpreter);
    install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--retries",
        "1",
        "--timeout",
        "15",
    ]);
    install.args(PACKAGES);
    succeed(install, "pip install")?;
    std::fs::write(&ready, PACKAGES.join(" ")).map_err(|error| error.to_string())?;
    Ok(interpreter)
}

/// Four chains of three parameters with names that Stan would not take: one moves slowly, one is often repeated, one lies
/// elsewhere in each chain.
fn example() -> Draws {
    let mut state = 2024_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut chain = |m: u32| {
        let (mut slow, mut sticky) = (0.0, 0.0);
        let mut rows = Vec::new();
        for _ in 0..800 {
            let noise = uniform() + uniform() + uniform() - 1.5;
            slow = 0.9 * slow + noise;
            sticky = if uniform() < 0.3 { noise * 1e-3 } else { sticky };
            rows.extend([slow, sticky, noise * 1e12 + f64::from(m) * 2e11]);
        }
        rows
    };
    let names = ["education=HS.grad", "capital gain", "état"].map(str::to_owned).to_vec();
    Draws::new(names, (0..4).map(&mut chain).collect()).unwrap()
}

#[test]
fn arviz_reads_both_forms_and_agrees_with_our_diagnostics() {
    let python = match python() {
        Ok(python) => python,
        Err(why) => {
            eprintln!("skipped: arviz_reads_both_forms_and_agrees_with_our_diagnostics ({why})");
            return;
        }
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("draws-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let example = example();
    for (name, bytes) in draws::files(&example).unwrap() {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let script = SCRIPT.replace("LEVELS", &format!("{LEVELS:?}"));
    let output = Command::new(python).args(["-c", &script]).arg(&folder).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["names"], serde_json::json!(example.names()));
    let variables: Vec<&str> =
        told["parameters"].as_array().unwrap().iter().map(|p| p["variable"].as_str().unwrap()).collect();
    assert_eq!(variables, ["education_HS_grad", "capital_gain", "tat"]);
    for (index, ours) in diagnose(&example).unwrap().iter().enumerate() {
        let theirs = &told["parameters"][index];
        let bits = |chain: &Vec<f64>| chain.iter().fold(0_u64, |sum, x| sum.wrapping_add(x.to_bits()));
        let expected: Vec<u64> = example.parameter(index).iter().map(bits).collect();
        assert_eq!(theirs["bits"], serde_json::json!(expected), "{}: other numbers", ours.name);
        let Convergence { rhat, bulk, tail, error_of_mean, error_of_deviation, error_of_quantiles } =
            ours.convergence.unwrap();
        let numbers = [ours.mean, ours.deviation, rhat, bulk, tail, error_of_mean, error_of_deviation];
        for (k, number) in numbers.into_iter().chain(error_of_quantiles).enumerate() {
            let found = theirs["found"][k].as_f64().unwrap();
            assert!((number / found - 1.0).abs() < 1e-9, "{}, number {k}: {number}, ArviZ {found}", ours.name);
        }
    }
}
