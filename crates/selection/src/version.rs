//! Semantic versions for manifests: three numbers and a rest.

/// Parses the three numbers of a semantic version and the text behind them.
#[must_use]
pub fn semantic(version: &str) -> Option<(u64, u64, u64, &str)> {
    let mut rest = version;
    let mut numbers = [0; 3];
    for (index, number) in numbers.iter_mut().enumerate() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (head, tail) = rest.split_at_checked(digits)?;
        *number = head.parse().ok()?;
        rest = if index < 2 {
            tail.strip_prefix('.')?
        } else {
            tail
        };
    }
    let [major, minor, patch] = numbers;
    Some((major, minor, patch, rest))
}
