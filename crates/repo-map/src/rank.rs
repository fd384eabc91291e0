//! Personalised PageRank over files, and its share for each definition. The sums run in a fixed
//! order, so the same input gives the same ranks to the last bit.

use crate::graph::Edge;
use crate::index::SymbolIndex;

const DAMPING: f64 = 0.85;
const MAX_ROUNDS: usize = 40;
/// Rounds end when the ranks together move by less than this.
const TOLERANCE: f64 = 1e-6;

/// The rank of each definition that has a name. `start` says where a reader begins, by file, and sums
/// to one; `boost` multiplies the edges into each definition.
pub(crate) fn definition_ranks(index: &SymbolIndex, start: &[f64], boost: &[f32]) -> Vec<f64> {
    let SymbolIndex { edges, file_of, is_named, .. } = index;
    let weight = |edge: &Edge| f64::from(edge.weight * boost[edge.to as usize]);
    let mut out = vec![0.0; start.len()];
    for edge in edges {
        out[edge.from as usize] += weight(edge);
    }
    let shares: Vec<f32> = edges.iter().map(|edge| (weight(edge) / out[edge.from as usize]) as f32).collect();
    let files = file_ranks(edges, &shares, file_of, start, &out);
    let mut ranks = vec![0.0; file_of.len()];
    let mut incoming = vec![0.0; start.len()];
    for (edge, share) in edges.iter().zip(&shares) {
        let flow = DAMPING * files[edge.from as usize] * f64::from(*share);
        ranks[edge.to as usize] += flow;
        incoming[file_of[edge.to as usize] as usize] += flow;
    }
    // What a file has of itself, and not by a reference, belongs to all of its definitions.
    let named = || {
        file_of.iter().map(|file| *file as usize).zip(is_named).enumerate().filter(|(_, (_, named))| **named)
    };
    let mut counts = vec![0u32; start.len()];
    for (_, (file, _)) in named() {
        counts[file] += 1;
    }
    for (site, (file, _)) in named() {
        ranks[site] += (files[file] - incoming[file]).max(0.0) / f64::from(counts[file]);
    }
    ranks
}

fn file_ranks(edges: &[Edge], shares: &[f32], file_of: &[u32], start: &[f64], out: &[f64]) -> Vec<f64> {
    let mut ranks = start.to_vec();
    for _ in 0..MAX_ROUNDS {
        let dangling: f64 = ranks.iter().zip(out).filter(|(_, out)| **out == 0.0).map(|(rank, _)| rank).sum();
        let base = 1.0 - DAMPING + DAMPING * dangling;
        let mut next: Vec<f64> = start.iter().map(|start| base * start).collect();
        for (edge, share) in edges.iter().zip(shares) {
            next[file_of[edge.to as usize] as usize] +=
                DAMPING * ranks[edge.from as usize] * f64::from(*share);
        }
        let moved: f64 = next.iter().zip(&ranks).map(|(next, rank)| (next - rank).abs()).sum();
        ranks = next;
        if moved < TOLERANCE {
            break;
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::definition_ranks;
    use crate::graph::Edge;
    use crate::index::SymbolIndex;

    /// As many files as there are, with one definition each, and edges between them.
    fn index(files: u32, edges: &[(u32, u32)]) -> SymbolIndex {
        let edges = edges.iter().map(|(from, to)| Edge { from: *from, to: *to, weight: 1.0 }).collect();
        SymbolIndex {
            files: Vec::new(),
            file_of: (0..files).collect(),
            edges,
            is_named: vec![true; files as usize],
        }
    }

    #[test]
    fn what_is_referred_to_ranks_higher_and_nothing_is_lost() {
        let index = index(3, &[(0, 2), (1, 2), (2, 0)]);
        let ranks = definition_ranks(&index, &[1.0 / 3.0; 3], &[1.0; 3]);
        assert!(ranks[2] > ranks[0] && ranks[0] > ranks[1], "{ranks:?}");
        assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-4, "{ranks:?}");
        assert_eq!(ranks, definition_ranks(&index, &[1.0 / 3.0; 3], &[1.0; 3]));
    }

    #[test]
    fn the_start_draws_ranks_to_itself_and_what_it_uses() {
        let index = index(4, &[(0, 1), (2, 3)]);
        let ranks = definition_ranks(&index, &[0.7, 0.1, 0.1, 0.1], &[1.0; 4]);
        assert!(ranks[1] > ranks[3] && ranks[0] > ranks[2], "{ranks:?}");
    }
}
