//! Charts as SVG text.
//!
//! Invariant: a chart that cannot be drawn is an empty text; the figures stand in the page's tables anyway.
//! Deliberately unknown here: what is measured.

use plotters::coord::ranged1d::{IntoSegmentedCoord, SegmentValue};
use plotters::prelude::*;

/// One colour an engine, told apart by those who see few colours too.
pub(super) const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
    RGBColor(120, 120, 120),
    RGBColor(150, 130, 0),
];

/// Heights and widths, pixels.
const BAR_HEIGHT: u32 = 13;
const GROUP_GAP: u32 = 8;
const BARS_WIDTH: u32 = 980;
const CURVE_SIZE: (u32, u32) = (470, 280);

/// Bars of one row: its name, and for each engine a value and what is written behind the bar.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) bars: Vec<Option<(f64, String)>>,
}

/// A curve of one engine: percentile (0 to below 100) and microseconds.
pub(super) struct Curve {
    pub(super) engine: usize,
    pub(super) points: Vec<(f64, f64)>,
}

/// Groups of bars on a logarithmic scale.
pub(super) fn bars(groups: &[Group], unit: &str) -> String {
    let values = || groups.iter().flat_map(|group| group.bars.iter().flatten().map(|(value, _)| *value));
    let Some(most) = values().filter(|value| *value > 0.0).reduce(f64::max) else { return String::new() };
    let least = values().filter(|value| *value > 0.0).reduce(f64::min).unwrap_or(most);
    let (from, to) = (10_f64.powf(least.log10().floor()), most * 6.0);
    let engines = groups.first().map_or(1, |group| group.bars.len()) as u32;
    let group_height = engines * BAR_HEIGHT + GROUP_GAP;
    let height = groups.len() as u32 * group_height + 60;
    let mut svg = String::new();
    let drawn = draw_bars(&mut svg, groups, unit, (from, to), height);
    if drawn.is_ok() { svg } else { String::new() }
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw_bars(svg: &mut String, groups: &[Group], unit: &str, (from, to): (f64, f64), height: u32) -> Drawn {
    let area = SVGBackend::with_string(svg, (BARS_WIDTH, height)).into_drawing_area();
    let count = groups.len() as i32;
    let mut chart = ChartBuilder::on(&area)
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(260)
        .build_cartesian_2d((from..to).log_scale(), (0..count - 1).into_segmented())?;
    let name = |position: &SegmentValue<i32>| match position {
        // The first group stands on top.
        SegmentValue::CenterOf(at) => {
            groups.get((count - 1 - *at).max(0) as usize).map_or(String::new(), |g| g.name.clone())
        }
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(groups.len())
        .y_label_formatter(&name)
        .x_label_formatter(&|value| short(*value))
        .x_desc(unit)
        .label_style(("sans-serif", 12))
        .draw()?;
    let plot = chart.plotting_area();
    for (row, group) in groups.iter().enumerate() {
        let at = count - 1 - row as i32;
        let (_, centre) = plot.map_coordinate(&(from, SegmentValue::CenterOf(at)));
        let top = centre - (group.bars.len() as i32 * BAR_HEIGHT as i32) / 2;
        for (engine, bar) in group.bars.iter().enumerate() {
            let Some((value, label)) = bar else { continue };
            let (left, _) = plot.map_coordinate(&(from, SegmentValue::CenterOf(at)));
            let (right, _) = plot.map_coordinate(&(value.max(from), SegmentValue::CenterOf(at)));
            let y = top + engine as i32 * BAR_HEIGHT as i32;
            let colour = COLOURS[engine % COLOURS.len()];
            area.draw(&Rectangle::new([(left, y), (right.max(left + 1), y + BAR_HEIGHT as i32 - 2)], colour.filled()))?;
            area.draw(&Text::new(label.clone(), (right + 5, y), ("sans-serif", 11).into_font()))?;
        }
    }
    area.present()?;
    drop(chart);
    Ok(())
}

/// Latency by percentile: the further right, the rarer.
pub(super) fn curves(title: &str, curves: &[Curve]) -> String {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let Some(most) = points().map(|point| point.1).reduce(f64::max) else { return String::new() };
    let least = points().map(|point| point.1).filter(|us| *us > 0.0).reduce(f64::min).unwrap_or(most);
    let rarest = points().map(|point| rarity(point.0)).reduce(f64::max).unwrap_or(10.0);
    let mut svg = String::new();
    let bounds = (rarest.max(10.0), least * 0.8, most * 1.3);
    let drawn = draw_curves(&mut svg, title, curves, bounds);
    if drawn.is_ok() { svg } else { String::new() }
}

/// 1 in so many is slower.
fn rarity(percentile: f64) -> f64 {
    1.0 / (1.0 - percentile / 100.0)
}

fn draw_curves(svg: &mut String, title: &str, curves: &[Curve], (rarest, least, most): (f64, f64, f64)) -> Drawn {
    let area = SVGBackend::with_string(svg, CURVE_SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 13))
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(58)
        .build_cartesian_2d((1.0..rarest).log_scale(), (least..most).log_scale())?;
    chart
        .configure_mesh()
        .x_label_formatter(&|rarity| format!("{}", (100.0 - 100.0 / rarity) as f32))
        .y_label_formatter(&|us| short(*us))
        .x_labels(7)
        .y_labels(6)
        .light_line_style(WHITE)
        .x_desc("percentile")
        .y_desc("us")
        .label_style(("sans-serif", 11))
        .draw()?;
    for curve in curves {
        let colour = COLOURS[curve.engine % COLOURS.len()];
        let points = curve.points.iter().map(|(percentile, us)| (rarity(*percentile), *us));
        chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
    }
    area.present()?;
    drop(chart);
    Ok(())
}

/// A number for an axis.
fn short(value: f64) -> String {
    match value {
        1e6.. => format!("{}M", (value / 1e6) as f32),
        1e3.. => format!("{}k", (value / 1e3) as f32),
        _ => format!("{}", value as f32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bar_and_its_words_are_in_the_picture() {
        let bars_of = |values: [f64; 2]| values.map(|value| Some((value, format!("<{value}> us")))).into();
        let groups = [("a", [1.0, 100.0]), ("b", [3.0, 2.0])]
            .map(|(name, values)| Group { name: name.into(), bars: bars_of(values) });
        let svg = bars(&groups, "us");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert_eq!(svg.matches(" us\n").count(), 4, "{svg}");
        assert!(!svg.contains("<100>"), "labels are escaped: {svg}");
        assert_eq!(bars(&[], "us"), "");
    }

    #[test]
    fn a_curve_is_a_line_of_its_engine_s_colour() {
        let curve = Curve { engine: 1, points: vec![(0.0, 1.0), (50.0, 2.0), (99.0, 30.0)] };
        let svg = curves("row", &[curve]);
        assert!(svg.contains("polyline") && svg.contains("#E69F00"), "{svg}");
        assert_eq!(curves("row", &[]), "");
    }
}
