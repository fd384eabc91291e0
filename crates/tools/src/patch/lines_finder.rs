//! Finds the lines of a hunk in the lines of a file, in widening steps: as they are, then without
//! their trailing space, then without any space around them, then with typographic characters taken
//! for plain ones. It never changes anything and does not know what a hunk is.

use std::borrow::Cow;
use std::collections::HashMap;

use super::line_tolerance::{LineTolerance, TOLERANCES, normalize};

/// How many lines are compared in one file before it counts as too repetitive to search.
const MAX_COMPARISONS: usize = 20_000_000;
/// How many places are weighed to find the nearest one.
const MAX_VOTES: usize = 1_000_000;

/// Which of several places is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchPreference {
    First,
    /// The one that begins nearest to this line.
    Near(usize),
    /// The last lines of the file, blank lines after them aside.
    End,
}

/// Where lines were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinesMatch {
    pub(crate) start: usize,
    /// Whether they would fit elsewhere just as well.
    pub(crate) is_ambiguous: bool,
}

/// That the search was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooRepetitive;

/// Where lines came nearest to fitting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NearestMatch {
    pub(crate) start: usize,
    pub(crate) matched: usize,
    /// The first line that differs, counted from `start`; none where all fit.
    pub(crate) differs: Option<usize>,
}

/// The lines of a file, made ready for searching. Each step numbers the lines so that like lines have
/// like numbers, and knows where each number occurs: what is not in the file costs nothing to miss.
pub(crate) struct LinesFinder<'a> {
    lines: Vec<&'a str>,
    normalized: [Option<NormalizedLines<'a>>; TOLERANCES.len()],
    comparisons: usize,
}

struct NormalizedLines<'a> {
    numbers: HashMap<Cow<'a, str>, usize>,
    /// The number of each line.
    numbered: Vec<usize>,
    /// The lines that have a number, in order.
    places: Vec<Vec<usize>>,
}

impl<'a> LinesFinder<'a> {
    pub(crate) fn new(lines: Vec<&'a str>) -> LinesFinder<'a> {
        LinesFinder { lines, normalized: [const { None }; TOLERANCES.len()], comparisons: 0 }
    }

    pub(crate) fn line(&self, at: usize) -> Option<&'a str> {
        self.lines.get(at).copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// How many lines have been looked at so far.
    #[cfg(test)]
    pub(crate) fn comparisons(&self) -> usize {
        self.comparisons
    }

    /// Finds the lines at or after `from`.
    pub(crate) fn find(
        &mut self,
        wanted: &[&str],
        from: usize,
        wish: MatchPreference,
    ) -> Result<Option<LinesMatch>, TooRepetitive> {
        for likeness in TOLERANCES {
            let step = self.normalized_lines(likeness);
            let numbers: Option<Vec<usize>> =
                wanted.iter().map(|line| step.numbers.get(&normalize(line, likeness)).copied()).collect();
            let Some(numbers) = numbers else { continue };
            let found = match wish {
                MatchPreference::First => self.first(likeness, &numbers, from)?,
                MatchPreference::Near(line) => self.nearest_to(likeness, &numbers, from, line)?,
                MatchPreference::End => self.at_end(likeness, &numbers, from)?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Finds the first line at or after `from` that begins with the words of the text,
    /// space and typography aside.
    pub(crate) fn find_beginning(&mut self, text: &str, from: usize) -> Result<Option<usize>, TooRepetitive> {
        let wanted = normalize(text, LineTolerance::Typography).into_owned();
        for at in from..self.lines.len() {
            self.count(1)?;
            let line = normalize(self.lines[at], LineTolerance::Typography);
            let rest = line.strip_prefix(&wanted);
            if rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
            {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    fn first(
        &mut self,
        likeness: LineTolerance,
        numbers: &[usize],
        from: usize,
    ) -> Result<Option<LinesMatch>, TooRepetitive> {
        let Some(start) = self.next(likeness, numbers, from)? else { return Ok(None) };
        let is_ambiguous = self.next(likeness, numbers, start + 1)?.is_some();
        Ok(Some(LinesMatch { start, is_ambiguous }))
    }

    fn nearest_to(
        &mut self,
        likeness: LineTolerance,
        numbers: &[usize],
        from: usize,
        line: usize,
    ) -> Result<Option<LinesMatch>, TooRepetitive> {
        if line >= from && self.fits(likeness, numbers, line)? {
            return Ok(Some(LinesMatch { start: line, is_ambiguous: false }));
        }
        let mut found: Option<LinesMatch> = None;
        let mut from = from;
        while let Some(start) = self.next(likeness, numbers, from)? {
            match &mut found {
                None => found = Some(LinesMatch { start, is_ambiguous: false }),
                Some(found) => {
                    found.is_ambiguous = true;
                    if start.abs_diff(line) >= found.start.abs_diff(line) {
                        break;
                    }
                    found.start = start;
                }
            }
            from = start + 1;
        }
        Ok(found)
    }

    fn at_end(
        &mut self,
        likeness: LineTolerance,
        numbers: &[usize],
        from: usize,
    ) -> Result<Option<LinesMatch>, TooRepetitive> {
        let mut end = self.lines.len();
        loop {
            let Some(start) = end.checked_sub(numbers.len()).filter(|start| *start >= from) else {
                return Ok(None);
            };
            if self.fits(likeness, numbers, start)? {
                return Ok(Some(LinesMatch { start, is_ambiguous: false }));
            }
            if !self.lines[end - 1].trim().is_empty() {
                return Ok(None);
            }
            end -= 1;
        }
    }

    /// The first place at or after `from` where the lines fit. Only places of the rarest of them are
    /// looked at, which for most hunks is one.
    fn next(
        &mut self,
        likeness: LineTolerance,
        numbers: &[usize],
        from: usize,
    ) -> Result<Option<usize>, TooRepetitive> {
        let places = &self.normalized_lines(likeness).places;
        let rarest = (0..numbers.len()).min_by_key(|at| places[numbers[*at]].len());
        let Some(rarest) = rarest else { return Ok(None) };
        let mut at = places[numbers[rarest]].partition_point(|place| *place < from + rarest);
        self.count(numbers.len())?;
        while let Some(place) = self.normalized_lines(likeness).places[numbers[rarest]].get(at) {
            let start = place - rarest;
            if self.fits(likeness, numbers, start)? {
                return Ok(Some(start));
            }
            at += 1;
        }
        Ok(None)
    }

    fn fits(
        &mut self,
        likeness: LineTolerance,
        numbers: &[usize],
        start: usize,
    ) -> Result<bool, TooRepetitive> {
        let there = self.normalized_lines(likeness).numbered.get(start..start + numbers.len());
        let Some(there) = there else { return Ok(false) };
        let alike = there.iter().zip(numbers).take_while(|(there, wanted)| there == wanted).count();
        self.count(alike + 1)?;
        Ok(alike == numbers.len())
    }

    fn count(&mut self, lines: usize) -> Result<(), TooRepetitive> {
        self.comparisons += lines;
        if self.comparisons > MAX_COMPARISONS { Err(TooRepetitive) } else { Ok(()) }
    }

    /// Where the lines came nearest to fitting, a place after `from` rather than one before it. None
    /// where nothing is like them.
    pub(crate) fn nearest(&mut self, wanted: &[&str], from: usize) -> Option<NearestMatch> {
        let step = self.normalized_lines(LineTolerance::Typography);
        let mut votes: HashMap<usize, (usize, bool)> = HashMap::new();
        let mut cast = 0;
        for (at, line) in wanted.iter().enumerate() {
            let folded = normalize(line, LineTolerance::Typography);
            // A blank line says nothing about where it is.
            let Some(number) = step.numbers.get(&folded).filter(|_| !folded.is_empty()) else { continue };
            for place in step.places[*number].iter().filter(|place| **place >= at) {
                let vote = votes.entry(place - at).or_default();
                *vote = (vote.0 + 1, vote.1 || at == 0);
                cast += 1;
            }
            if cast > MAX_VOTES {
                break;
            }
        }
        let best =
            votes.into_iter().max_by_key(|(start, votes)| (*votes, *start >= from, usize::MAX - start));
        let start = match best {
            Some((start, _)) => start,
            None => self.most_similar_line(wanted, from)?,
        };
        let fits = |(at, line): (usize, &&str)| {
            let there = self.lines.get(start + at);
            there.is_some_and(|there| {
                normalize(there, LineTolerance::Typography) == normalize(line, LineTolerance::Typography)
            })
        };
        let matched = wanted.iter().enumerate().filter(|line| fits(*line)).count();
        let differs = wanted.iter().enumerate().position(|line| !fits(line));
        Some(NearestMatch { start, matched, differs })
    }

    /// Where the first line that says anything shares most words with a line of the file.
    fn most_similar_line(&self, wanted: &[&str], from: usize) -> Option<usize> {
        let (at, line) = wanted.iter().enumerate().find(|(_, line)| !line.trim().is_empty())?;
        let words: Vec<&str> = words(line).collect();
        let shared = |line: &str| {
            let theirs: Vec<&str> = self::words(line).take(200).collect();
            words.iter().take(200).filter(|word| theirs.contains(word)).count()
        };
        let places = (from.min(self.lines.len())..self.lines.len()).chain(0..from.min(self.lines.len()));
        let mut best = (0, 0);
        for place in places {
            let count = shared(self.lines[place]);
            if count > best.0 {
                best = (count, place);
            }
        }
        (best.0 > 0 && 2 * best.0 >= words.len()).then(|| best.1.saturating_sub(at))
    }

    fn normalized_lines(&mut self, likeness: LineTolerance) -> &NormalizedLines<'a> {
        let lines = &self.lines;
        let comparisons = &mut self.comparisons;
        self.normalized[likeness as usize].get_or_insert_with(|| {
            *comparisons += lines.len();
            NormalizedLines::new(lines, likeness)
        })
    }
}

impl<'a> NormalizedLines<'a> {
    fn new(lines: &[&'a str], likeness: LineTolerance) -> NormalizedLines<'a> {
        let mut step = NormalizedLines { numbers: HashMap::new(), numbered: Vec::new(), places: Vec::new() };
        for (at, line) in lines.iter().enumerate() {
            let next = step.numbers.len();
            let number = *step.numbers.entry(normalize(line, likeness)).or_insert(next);
            if number == next {
                step.places.push(Vec::new());
            }
            step.places[number].push(at);
            step.numbered.push(number);
        }
        step
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{LinesFinder, LinesMatch, MatchPreference, NearestMatch, TooRepetitive};

    fn find(
        file: &[&'static str],
        wanted: &[&str],
        from: usize,
        wish: MatchPreference,
    ) -> Option<(usize, bool)> {
        let found = LinesFinder::new(file.to_vec()).find(wanted, from, wish).unwrap();
        found.map(|LinesMatch { start, is_ambiguous }| (start, is_ambiguous))
    }

    #[test]
    fn lines_are_found_in_widening_steps() {
        let file = ["a ", "  b", "a", "b", "\u{201c}q\u{201d} \u{2013} r", ""];
        for (wanted, expected) in [
            (&["a", "b"][..], Some((2, false))),
            (&["a"], Some((2, false))),
            (&["a  "], Some((0, true))),
            (&["\tb"], Some((1, true))),
            (&["\"q\" - r"], Some((4, false))),
            (&["c"], None),
            (&["", ""], None),
        ] {
            assert_eq!(find(&file, wanted, 0, MatchPreference::First), expected, "{wanted:?}");
        }
    }

    #[test]
    fn of_several_places_the_wished_one_is_taken() {
        let file = ["x", "y", "x", "y", "x", "y", "", ""];
        for (from, wish, expected) in [
            (0, MatchPreference::First, Some((0, true))),
            (1, MatchPreference::First, Some((2, true))),
            (3, MatchPreference::First, Some((4, false))),
            (5, MatchPreference::First, None),
            (0, MatchPreference::Near(2), Some((2, false))),
            (0, MatchPreference::Near(3), Some((2, true))),
            (0, MatchPreference::Near(100), Some((4, true))),
            (4, MatchPreference::Near(0), Some((4, false))),
            (0, MatchPreference::End, Some((4, false))),
            (5, MatchPreference::End, None),
        ] {
            assert_eq!(find(&file, &["x", "y"], from, wish), expected, "{from} {wish:?}");
        }
        assert_eq!(find(&file, &["x"], 0, MatchPreference::End), None);
    }

    #[test]
    fn the_nearest_place_says_what_differs() {
        let mut finder =
            LinesFinder::new(vec!["fn a() {", "  one();", "}", "fn b() {", "  one();", "  two();", "}"]);
        let nearest = |start, matched, differs| Some(NearestMatch { start, matched, differs });
        assert_eq!(finder.nearest(&["fn b() {", "one();", "three();", "}"], 0), nearest(3, 3, Some(2)));
        assert_eq!(finder.nearest(&["fn a() {"], 3), nearest(0, 1, None));
        assert_eq!(finder.nearest(&["}", "else"], 3), nearest(6, 1, Some(1)));
        assert_eq!(finder.nearest(&["", "two(x);"], 0), nearest(4, 0, Some(0)));
        assert_eq!(finder.nearest(&["nothing like it"], 0), None);
    }

    #[test]
    fn a_search_without_end_is_given_up() {
        let file: Vec<&str> = (0..40_000).map(|at| if at % 10_000 == 9_999 { "b" } else { "a" }).collect();
        let mut wanted = vec!["a"; 9_000];
        wanted.extend(["b", "b"]);
        assert_eq!(LinesFinder::new(file.clone()).find(&wanted, 0, MatchPreference::First), Ok(None));
        let file: Vec<&str> = (0..100_000).map(|at| if at % 2 == 0 { "a" } else { "b" }).collect();
        let mut wanted: Vec<&str> = file[..20_000].to_vec();
        wanted.extend(["b"; 2]);
        assert_eq!(LinesFinder::new(file).find(&wanted, 0, MatchPreference::First), Err(TooRepetitive));
    }
}
