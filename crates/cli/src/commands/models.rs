//! `ostler models`: what sessions can have, what it costs, and which one they get that name none.

use ostler_api_types::ModelList;
use ostler_types::{ModelInfo, Prices, in_one_line};

use super::CommandContext;
use crate::args::ModelsArgs;
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;

/// Characters of what others have named or said, at most.
const NAME_WIDTH: usize = 80;
const NOTE_WIDTH: usize = 160;

pub(super) async fn models(setting: CommandContext, args: ModelsArgs) -> anyhow::Result<CliExit> {
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let list = reached.client.models(args.refresh).await;
    reached.stop_when_idle().await;
    let list = filtered(list?, args.filter.as_deref());
    match args.json {
        true => crate::output::json(&list)?,
        false => put!("{}", draw(&list)),
    }
    Ok(CliExit::Success)
}

fn filtered(mut list: ModelList, filter: Option<&str>) -> ModelList {
    if let Some(filter) = filter.map(str::to_lowercase) {
        list.models.retain(|model| model.name.to_lowercase().contains(&filter));
    }
    list
}

fn draw(list: &ModelList) -> String {
    let mut rows = vec![["MODEL", "WINDOW", "OUTPUT", "$ IN/OUT", "ABILITIES", "NOTE"].map(str::to_owned)];
    rows.extend(list.models.iter().map(row));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let [name, window, output, price, abilities, _] = widths;
    let mut text = String::new();
    for [a, b, c, d, e, f] in &rows {
        let line = format!("{a:<name$}  {b:>window$}  {c:>output$}  {d:>price$}  {e:<abilities$}  {f}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if list.models.is_empty() {
        text = "No matching models\n".to_owned();
    }
    text.push('\n');
    text.push_str(&match (&list.default, &list.no_default) {
        (Some(default), _) => {
            let (model, why) = (in_one_line(&default.model, NAME_WIDTH), in_one_line(&default.detail, 400));
            format!("default: {model} ({why})\n")
        }
        (None, Some(why)) => format!("default: none; {}\n", in_one_line(why, 2000)),
        (None, None) => "default: none\n".to_owned(),
    });
    text
}

fn row(model: &ModelInfo) -> [String; 6] {
    let unknown = || "?".to_owned();
    let abilities = match &model.abilities {
        Some(abilities) => abilities.iter().map(|ability| ability.as_str()).collect::<Vec<_>>().join(" "),
        None => unknown(),
    };
    let note = model.unavailable.as_deref().map(|why| in_one_line(why, NOTE_WIDTH)).unwrap_or_default();
    [
        in_one_line(&model.name, NAME_WIDTH),
        model.context_window.map_or_else(unknown, tokens),
        model.max_output_tokens.map_or_else(unknown, tokens),
        model.prices.map_or_else(unknown, prices),
        abilities,
        note,
    ]
}

/// A number of tokens as people say it: `200k`, `1M`.
fn tokens(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => {
            let millions = format!("{:.2}", tokens as f64 / 1e6);
            format!("{}M", millions.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

fn prices(prices: Prices) -> String {
    if prices.input == 0.0 && prices.output == 0.0 {
        return "free".to_owned();
    }
    format!("{}/{}", prices.input, prices.output)
}

#[cfg(test)]
mod tests {
    use ostler_api_types::ModelList;
    use ostler_types::{Ability, ModelInfo, Prices, Resolution, ResolvedBy};

    use super::{draw, filtered, tokens};

    fn list() -> ModelList {
        let known = ModelInfo {
            context_window: Some(1_048_576),
            max_output_tokens: Some(65_536),
            prices: Some(Prices { input: 0.3, output: 2.5, cached: None, cache_write: None }),
            abilities: Some(vec![Ability::Tools, Ability::Vision]),
            ..ModelInfo::unknown("gemini:flash")
        };
        let odd = ModelInfo {
            unavailable: Some("it has no\nkey\u{1b}[2J".to_owned()),
            ..ModelInfo::unknown("here:o\u{1b}[31mdd")
        };
        let default = Resolution {
            model: "gemini:flash".to_owned(),
            reason: ResolvedBy::KeyFound,
            detail: "provider `gemini` has a key".to_owned(),
            instead_of: None,
            error: None,
        };
        ModelList { default: Some(default), no_default: None, models: vec![known, odd] }
    }

    #[test]
    fn the_table_has_a_line_for_each_model_and_the_default() {
        let text = draw(&list());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(lines[1]), ["gemini:flash", "1.05M", "65k", "0.3/2.5", "tools", "vision"]);
        assert_eq!(lines[4], "default: gemini:flash (provider `gemini` has a key)");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }

    #[test]
    fn a_filter_looks_at_names() {
        assert_eq!(filtered(list(), Some("FLASH")).models.len(), 1);
        assert!(draw(&filtered(list(), Some("nothing"))).starts_with("No matching models\n"));
    }

    #[test]
    fn tokens_are_short() {
        for (number, text) in
            [(512, "512"), (8192, "8k"), (200_000, "200k"), (1_000_000, "1M"), (1_050_000, "1.05M")]
        {
            assert_eq!(tokens(number), text);
        }
    }
}
