//! How often the parts of links cross. Linear in them but for a logarithm, so that large graphs are counted too.

use super::columns::Wire;

/// The number of crossings, if the items have these positions in their columns. `columns` has the column
/// of each item.
pub(super) fn crossings(wires: &[Wire], columns: &[usize], at: &[f64]) -> usize {
    let mut ends: Vec<(usize, f64, f64)> = wires
        .iter()
        .map(|wire| {
            (columns[wire.from.0], at[wire.from.0] + wire.from.1, at[wire.to.0] + wire.to.1)
        })
        .collect();
    ends.sort_by(|one, two| {
        (one.0.cmp(&two.0)).then(one.1.total_cmp(&two.1)).then(one.2.total_cmp(&two.2))
    });
    let columns = ends.chunk_by(|one, two| one.0 == two.0);
    columns.map(|column| inversions(column.iter().map(|end| end.2).collect())).sum()
}

/// How many pairs are in descending order, by merging.
fn inversions(values: Vec<f64>) -> usize {
    let (mut values, mut found, mut width) = (values, 0, 1);
    while width < values.len() {
        let mut merged = Vec::with_capacity(values.len());
        for pair in values.chunks(2 * width) {
            let (one, two) = pair.split_at(width.min(pair.len()));
            let (mut left, mut right) = (0, 0);
            while left < one.len() || right < two.len() {
                let from_left = right >= two.len() || (left < one.len() && one[left] <= two[right]);
                if from_left {
                    merged.push(one[left]);
                    left += 1;
                } else {
                    merged.push(two[right]);
                    right += 1;
                    found += one.len() - left;
                }
            }
        }
        values = merged;
        width *= 2;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversions_are_pairs_in_descending_order() {
        assert_eq!(inversions(vec![]), 0);
        assert_eq!(inversions(vec![1.0, 1.0, 2.0]), 0);
        assert_eq!(inversions(vec![3.0, 2.0, 1.0, 0.0, 5.0]), 6);
    }
}
