//! Chains of draws: how well they have mixed, the course of each parameter, and where it was. All of it is released.

use super::numbers::fixed;
use super::page::{Table, figure, folded, note, section as titled};
use super::standing::{Placed, Standing};
use crate::svg::{Axis, Mark, Plot, Scale, Series, escape};
use inference::results::{ChainResult, CourseResult, ParameterResult};

/// Parameters whose course is drawn.
const DRAWN: usize = 4;

/// Rows of a table.
const LISTED: usize = 200;

/// R-hat over which chains disagree (Vehtari et al. 2021).
const DISAGREE: f64 = 1.01;

/// Effective sample size of each chain under which quantiles and R-hat are not to be relied on (Vehtari et al. 2021).
const FEW: f64 = 100.0;

/// A part for each method that draws; nothing where none does.
pub(crate) fn section(standing: &Standing) -> String {
    let parts: String =
        standing.methods().filter_map(|placed| Some(part(placed, placed.method.chain.as_ref()?))).collect();
    if parts.is_empty() {
        return String::new();
    }
    let words = "Of the first seed, after the warm-up. R-hat compares chains, or the halves of one, by ranks: over 1.01 they \
                 disagree. ESS: how many independent draws these are worth, in the middle and in the tails. Error: of the mean, \
                 by the draws alone. Nothing here was computed from rows; of methods with a promise, each draw was released under it.";
    titled("chains", "Draws", &format!("{parts}{}", note(words)))
}

fn part(placed: Placed, chain: &ChainResult) -> String {
    let (name, number) = (&placed.method.name, placed.number);
    let plural = if chain.chains == 1 { "" } else { "s" };
    let told = format!(
        "{} chain{plural} of {} draws, of which {} moved. {}",
        chain.chains,
        chain.iterations,
        format_args!("{:.0} %", 100.0 * chain.moved),
        verdict(chain)
    );
    let both = |(at, (parameter, course)): (usize, (&ParameterResult, &CourseResult))| {
        let id = |what: &str| format!("{what}-{number}-{at}");
        figure(
            &trace(parameter, course, chain.iterations).figure(&id("trace"), "Draws in their order, evenly thinned."),
            &parameter.name,
        ) + &figure(
            &density(parameter, course).figure(&id("density"), "How often each value was drawn."),
            &format!("{}, how often", parameter.name),
        )
    };
    let courses: String = chain.parameters.iter().zip(&chain.courses).take(DRAWN).enumerate().map(both).collect();
    let shown = chain.parameters.len().min(LISTED);
    let table = table(name, &chain.parameters[..shown]);
    let table = if shown > DRAWN { folded(&format!("{shown} parameters"), &table) } else { table };
    format!("<h3>{}</h3>\n<p>{}</p>\n<div class=\"figures\">\n{courses}</div>\n{table}", escape(name), escape(&told))
}

/// Whether the draws can be relied on.
fn verdict(chain: &ChainResult) -> String {
    let of =
        |part: fn(&ParameterResult) -> Option<f64>| chain.parameters.iter().map(part).collect::<Option<Vec<f64>>>();
    let (Some(rhats), Some(bulk), Some(tail)) = (of(|p| p.rhat), of(|p| p.bulk_ess), of(|p| p.tail_ess)) else {
        return "Some parameters did not move at all: the draws say nothing about them.".to_owned();
    };
    let worst = rhats.into_iter().fold(1.0, f64::max);
    let least = bulk.into_iter().chain(tail).fold(f64::INFINITY, f64::min);
    let each = least / chain.chains as f64;
    let they = if chain.chains == 1 { "Its halves" } else { "They" };
    match (worst <= DISAGREE, each >= FEW) {
        (true, true) => {
            format!(
                "{they} agree (R-hat at most {worst:.3}) and the draws are worth {least:.0} independent draws or more."
            )
        }
        (false, _) => format!(
            "{they} disagree (R-hat up to {worst:.3}): do not rely on them. Longer chains mix better, and at the same ε clip more."
        ),
        (true, false) => {
            format!("They agree (R-hat at most {worst:.3}) but are worth only {least:.0} independent draws.")
        }
    }
}

fn trace(parameter: &ParameterResult, course: &CourseResult, iterations: usize) -> Plot {
    let line = |(chain, draws): (usize, &Vec<f64>)| {
        let every = iterations.div_ceil(draws.len().max(1)) as f64;
        let points = draws.iter().enumerate().map(|(at, value)| (at as f64 * every, *value)).collect();
        Series::line(format!("chain {}", chain + 1), points, Mark::line(chain, false))
    };
    Plot {
        title: format!("Course of {}", parameter.name),
        x: Axis::new("draw", Scale::Linear),
        y: Axis::new(parameter.name.clone(), Scale::Linear),
        series: course.traces.iter().enumerate().map(line).collect(),
    }
}

fn density(parameter: &ParameterResult, course: &CourseResult) -> Plot {
    let all: u64 = course.counts.iter().sum();
    let height = |count: u64| count as f64 / (all.max(1) as f64 * course.width);
    let mut points = vec![(course.from, 0.0)];
    for (at, &count) in course.counts.iter().enumerate() {
        let left = course.from + course.width * at as f64;
        points.extend([(left, height(count)), (left + course.width, height(count))]);
    }
    points.push((course.from + course.width * course.counts.len() as f64, 0.0));
    Plot {
        title: format!("Density of {}", parameter.name),
        x: Axis::new(parameter.name.clone(), Scale::Linear),
        y: Axis::new("density", Scale::Linear),
        series: vec![Series::line("all chains", points, Mark::line(0, false))],
    }
}

fn table(method: &str, parameters: &[ParameterResult]) -> String {
    let head = ["parameter", "mean", "standard deviation", "5 %", "95 %", "R-hat", "bulk ESS", "tail ESS", "error"];
    let mut table = Table::new(&format!("Draws of {method}"), head.map(str::to_owned).to_vec());
    let or_dash = |number: Option<f64>, digits: usize| number.map_or("–".to_owned(), |x| fixed(x, digits));
    for p in parameters {
        table.push(
            "",
            vec![
                escape(&p.name),
                fixed(p.mean, 4),
                fixed(p.deviation, 4),
                fixed(p.quantiles[0], 4),
                fixed(p.quantiles[2], 4),
                or_dash(p.rhat, 3),
                or_dash(p.bulk_ess, 0),
                or_dash(p.tail_ess, 0),
                or_dash(p.error_of_mean, 4),
            ],
        );
    }
    table.html()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(rhat: Option<f64>, ess: f64) -> ParameterResult {
        let (name, quantiles) = ("<age>".to_owned(), [-1.0, 0.0, 1.0]);
        let worth = rhat.map(|_| ess);
        ParameterResult {
            name,
            mean: 0.1,
            deviation: 0.5,
            quantiles,
            rhat,
            bulk_ess: worth,
            tail_ess: worth,
            error_of_mean: rhat.map(|_| 0.01),
        }
    }

    fn chain(rhat: Option<f64>, ess: f64) -> ChainResult {
        let course = CourseResult { traces: vec![vec![0.0, 1.0, 0.5]; 2], from: 0.0, width: 0.5, counts: vec![1, 3] };
        ChainResult {
            chains: 2,
            iterations: 900,
            moved: 0.45,
            parameters: vec![parameter(Some(1.0), 900.0), parameter(rhat, ess)],
            each_ess: Vec::new(),
            each_moved: Vec::new(),
            courses: vec![course.clone(), course],
        }
    }

    #[test]
    fn the_worst_parameter_decides_what_is_said() {
        assert!(verdict(&chain(Some(1.004), 450.0)).contains("worth 450"));
        assert!(verdict(&chain(Some(1.004), 199.0)).contains("only 199"));
        assert!(verdict(&chain(Some(1.02), 450.0)).contains("disagree (R-hat up to 1.020)"));
        assert!(verdict(&chain(None, 450.0)).contains("did not move"));
    }

    #[test]
    fn a_density_is_one_in_all() {
        let course = CourseResult { traces: Vec::new(), from: 2.0, width: 0.5, counts: vec![1, 3] };
        let plot = density(&parameter(None, 0.0), &course);
        assert_eq!(plot.series[0].points, [(2.0, 0.0), (2.0, 0.5), (2.5, 0.5), (2.5, 1.5), (3.0, 1.5), (3.0, 0.0)]);
    }

    #[test]
    fn names_are_escaped_in_tables_and_figures() {
        let html = table("<m>", &[parameter(Some(1.0), 10.0)]);
        assert!(html.contains("&lt;age&gt;") && !html.contains("<age>") && !html.contains("<m>"), "{html}");
    }
}
