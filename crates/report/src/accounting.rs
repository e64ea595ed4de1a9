//! The page of a figure of accounting: its plots, and the numbers at a few places.

use crate::page::{Table, document, figure, note, section};
use crate::svg::{Axis, Mark, Plot, Scale, Series, escape};
use study::curves::{Along, DrawnFigure, DrawnLine, shown};

/// From how many times the least place on the places are laid out by their logarithm.
const WIDE: f64 = 20.0;

/// The whole page.
pub fn html(name: &str, drawn: &[DrawnFigure]) -> String {
    let mut body =
        format!("<header>\n<p class=\"kind\">Figure of accounting</p>\n<h1>{}</h1>\n</header>\n", escape(name));
    let figures: String = drawn.iter().enumerate().map(|(index, drawn)| plotted(index, drawn)).collect();
    let words = note(
        "Lines are certified upper bounds, but for those of accountants that are kept for published numbers: they show what was \
         published. Gap: how far the certified lower bound is below, at most, as a share; where an \
         accountant proves upper bounds only, the table says so. A line ends where its accountant certifies nothing.",
    );
    body += &section("figures", "Figures", &format!("<div class=\"figures\">\n{figures}</div>\n{words}"));
    let tables: String = drawn.iter().map(tabled).collect();
    body += &section("numbers", "Numbers", &tables);
    document(name, "", &body, env!("CARGO_PKG_VERSION"))
}

fn plotted(index: usize, drawn: &DrawnFigure) -> String {
    let series: Vec<Series> =
        drawn.lines.iter().enumerate().map(|(number, line)| of_line(number, line, drawn)).collect();
    let legend: String = series.iter().map(named).collect();
    let y = Axis::new(drawn.upwards, upright(drawn));
    let ends: Vec<String> = drawn.lines.iter().map(|line| described(line, drawn)).collect();
    let plot = Plot { title: drawn.title.clone(), x: Axis::new(drawn.along.words(), level(drawn)), y, series };
    let svg = plot.figure(&format!("curves-{index}"), &ends.join("; "));
    format!("<div>\n{}<div class=\"legend\">{legend}</div>\n</div>\n", figure(&svg, &drawn.title))
}

fn of_line(number: usize, line: &DrawnLine, drawn: &DrawnFigure) -> Series {
    let upper = line.bounds.iter().map(|bounds| bounds.map_or(f64::NAN, |bounds| bounds.upper));
    Series::line(&line.name, drawn.places.iter().copied().zip(upper).collect(), Mark::of(number))
}

fn named(series: &Series) -> String {
    format!("<span>{} {}</span>", series.mark.swatch(), escape(&series.name))
}

fn described(line: &DrawnLine, drawn: &DrawnFigure) -> String {
    let last = drawn.places.len() - 1;
    format!("{}: from {} to {}", line.name, line.upper(0), line.upper(last))
}

/// δ is always laid out by its logarithm, ε never.
fn upright(drawn: &DrawnFigure) -> Scale {
    if drawn.upwards == "δ" { Scale::Log } else { Scale::Linear }
}

fn level(drawn: &DrawnFigure) -> Scale {
    let (first, last) = (drawn.places[0], drawn.places[drawn.places.len() - 1]);
    let wide = first > 0.0 && last >= WIDE * first;
    if drawn.along == Along::Delta || wide && drawn.along != Along::Epsilon { Scale::Log } else { Scale::Linear }
}

fn tabled(drawn: &DrawnFigure) -> String {
    let chosen = drawn.chosen();
    let mut head = vec!["line".to_owned(), "accountant".to_owned()];
    head.extend(chosen.iter().map(|&at| format!("{} = {}", drawn.along.words(), shown(drawn.places[at]))));
    head.push("gap".to_owned());
    let caption = format!("{}: {} at most", drawn.title, drawn.upwards);
    let mut table = Table::new(&caption, head.iter().map(|cell| escape(cell)).collect());
    for line in &drawn.lines {
        let mut cells = vec![line.name.clone(), line.accountant.clone()];
        cells.extend(chosen.iter().map(|&at| line.upper(at)));
        cells.push(line.gap());
        table.push("", cells.iter().map(|cell| escape(cell)).collect());
    }
    table.html()
}
