//! `cargo xtask bench secure-sum`: whole secure sums with ten nodes, beside the paper's seconds and the keystream's.

use crate::bench::{field, machine, run};
use std::path::Path;
use std::process::Command;

/// Compute nodes of every sum, as in the paper.
const NODES: &str = "10";

/// One sum.
struct BenchCell {
    clients: u64,
    dimension: u64,
    /// Seconds in Table 1 of Heikkilä et al. 2017, on 45 Spark threads.
    paper: Option<f64>,
    /// Whether it takes minutes.
    long: bool,
}

/// The paper's sixteen cells, and one with more clients.
const CELLS: [BenchCell; 17] = [
    BenchCell { clients: 100, dimension: 10, paper: Some(1.72), long: false },
    BenchCell { clients: 1_000, dimension: 10, paper: Some(1.89), long: false },
    BenchCell { clients: 10_000, dimension: 10, paper: Some(2.99), long: false },
    BenchCell { clients: 100_000, dimension: 10, paper: Some(8.58), long: false },
    BenchCell { clients: 100, dimension: 100, paper: Some(2.03), long: false },
    BenchCell { clients: 1_000, dimension: 100, paper: Some(2.86), long: false },
    BenchCell { clients: 10_000, dimension: 100, paper: Some(12.36), long: false },
    BenchCell { clients: 100_000, dimension: 100, paper: Some(65.64), long: false },
    BenchCell { clients: 100, dimension: 1_000, paper: Some(3.43), long: false },
    BenchCell { clients: 1_000, dimension: 1_000, paper: Some(10.56), long: false },
    BenchCell { clients: 10_000, dimension: 1_000, paper: Some(101.2), long: false },
    BenchCell { clients: 100_000, dimension: 1_000, paper: Some(610.55), long: false },
    BenchCell { clients: 100, dimension: 10_000, paper: Some(15.3), long: false },
    BenchCell { clients: 1_000, dimension: 10_000, paper: Some(84.95), long: false },
    BenchCell { clients: 10_000, dimension: 10_000, paper: Some(994.96), long: true },
    BenchCell { clients: 100_000, dimension: 10_000, paper: Some(1592.29), long: true },
    BenchCell { clients: 1_000_000, dimension: 100, paper: None, long: true },
];

/// Coordinates in all up to which client shares are drawn too: a discrete Gaussian takes some 200 ns, and every share is
/// drawn twice, once to compare.
const MOST_SHARES: u64 = 10_000_000;
/// The same with `--full`.
const MOST_SHARES_IN_FULL: u64 = 100_000_000;

/// Runs the sums one after the other, each in a process of its own, and prints a table.
pub(crate) fn secure_sum(root: &Path, full: bool) -> Result<(), String> {
    println!("machine: {}", machine());
    println!(
        "{NODES} nodes, one thread, exact totals asserted; the floor is AES-128-CTR keystream for all masks, both sides;"
    );
    println!("gates (charging, clipping) and noise are timed apart and not in `CPU s`\n");
    println!(
        "{:>8}{:>7}{:>9}{:>9}{:>9}{:>8}{:>7}{:>7}{:>10}{:>10}{:>10}{:>12}{:>6}",
        "clients",
        "d",
        "noise",
        "wall s",
        "CPU s",
        "floor s",
        "×floor",
        "GB/s",
        "paper/us",
        "noise s",
        "client B",
        "node in B",
        "MB"
    );
    for cell in CELLS.iter().filter(|cell| full || !cell.long) {
        print_line(cell, &measure(root, cell, "nodes")?);
        if cell.clients * cell.dimension <= if full { MOST_SHARES_IN_FULL } else { MOST_SHARES } {
            print_line(cell, &measure(root, cell, "clients")?);
        }
    }
    if !full {
        println!("\nlonger sums (10^4 × 10^4, 10^5 × 10^4, 10^6 × 10^2) with `--full`");
    }
    Ok(())
}

fn measure(root: &Path, cell: &BenchCell, noise: &str) -> Result<String, String> {
    let (clients, dimension) = (cell.clients.to_string(), cell.dimension.to_string());
    let cargo =
        ["run", "--quiet", "--release", "--package", "posterity-privacy", "--example", "secure_sum_speed", "--"];
    run(Command::new(env!("CARGO")).args(cargo).args([&clients, &dimension, NODES, noise]).current_dir(root))
}

fn print_line(cell: &BenchCell, line: &str) {
    let text = |name| field(line, name).unwrap_or("?");
    let number = |name| text(name).parse::<f64>().unwrap_or(f64::NAN);
    let paper = cell.paper.map_or(String::from("-"), |seconds| format!("{:.0}", seconds / number("wall")));
    println!(
        "{:>8}{:>7}{:>9}{:>9.3}{:>9.3}{:>8.3}{:>7.1}{:>7}{paper:>10}{:>10.3}{:>10}{:>12}{:>6}",
        cell.clients,
        cell.dimension,
        text("noise"),
        number("wall"),
        number("cpu"),
        number("floor"),
        number("cpu") / number("floor"),
        text("rate"),
        number("noise_cpu"),
        text("client_up"),
        text("node_in"),
        text("megabytes"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_sixteen_cells_are_measured() {
        let paper: Vec<(u64, u64)> =
            CELLS.iter().filter(|cell| cell.paper.is_some()).map(|cell| (cell.clients, cell.dimension)).collect();
        let lengths = [10, 100, 1_000, 10_000].into_iter();
        let expected = lengths.flat_map(|d| [100, 1_000, 10_000, 100_000].map(|clients| (clients, d)));
        assert_eq!(paper, expected.collect::<Vec<_>>());
        let seconds = CELLS.iter().filter_map(|cell| cell.paper);
        assert!(seconds.clone().count() == 16 && (seconds.sum::<f64>() - 3511.31).abs() < 1e-6);
    }
}
