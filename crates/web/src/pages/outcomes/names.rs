//! Placement of the names of a picture's dots: beside their dot without covering anything; names without room are left
//! out, and a tooltip shows them.

/// Width of a letter on average, and half the height of a line, at the size of the picture's text.
const LETTER: f64 = 6.0;
const HALF: f64 = 7.0;
/// Distance between a dot and its name.
const GAP: f64 = 5.0;

/// A dot with its interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dot {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) radius: f64,
    /// Upper and lower end of the interval.
    pub(super) reach: (f64, f64),
}

/// Position of a name: start or end, baseline, and which of the two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) baseline: f64,
    pub(super) anchor: &'static str,
}

#[derive(Clone, Copy, Debug)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn meets(self, other: Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn lies_in(self, other: Self) -> bool {
        self.left >= other.left
            && self.right <= other.right
            && self.top >= other.top
            && self.bottom <= other.bottom
    }
}

impl Dot {
    fn area(self) -> Area {
        let r = self.radius + 1.0;
        Area {
            left: self.x - r,
            right: self.x + r,
            top: self.y - r,
            bottom: self.y + r,
        }
    }

    fn interval(self) -> Area {
        Area {
            left: self.x - 2.0,
            right: self.x + 2.0,
            top: self.reach.0,
            bottom: self.reach.1,
        }
    }

    /// Returns positions beside the dot, first at its height, then slightly higher or lower.
    fn beside(self, width: f64) -> impl Iterator<Item = (Place, Area)> {
        let heights = [0.0, -HALF, HALF, -2.5 * HALF, 2.5 * HALF];
        heights.into_iter().flat_map(move |lower| {
            let gap = self.radius + GAP;
            let (right, left, y) = (self.x + gap, self.x - gap, self.y + lower);
            [
                (right, "start", right, right + width),
                (left, "end", left - width, left),
            ]
            .map(|(x, anchor, left, right)| {
                let area = Area {
                    left,
                    right,
                    top: y - HALF,
                    bottom: y + HALF,
                };
                let baseline = y + 4.0;
                (
                    Place {
                        x,
                        baseline,
                        anchor,
                    },
                    area,
                )
            })
        })
    }
}

/// Returns a position for each name, in order. No name covers a dot or another name; intervals are crossed as little as
/// possible.
pub(super) fn places(
    named: &[(Dot, usize)],
    (left, right, top, bottom): (f64, f64, f64, f64),
) -> Vec<Option<Place>> {
    let picture = Area {
        left,
        right,
        top: top - HALF,
        bottom,
    };
    let mut taken: Vec<Area> = named.iter().map(|(dot, _)| dot.area()).collect();
    let place = |(dot, letters): &(Dot, usize)| {
        #[expect(
            clippy::cast_precision_loss,
            reason = "names are cut to some dozen letters"
        )]
        let width = *letters as f64 * LETTER;
        let free = dot.beside(width).filter(|(_, area)| {
            area.lies_in(picture) && !taken.iter().any(|other| other.meets(*area))
        });
        let crossed = |area: Area| {
            let crosses = |(other, _): &&(Dot, usize)| other.interval().meets(area);
            named.iter().filter(crosses).count()
        };
        let (place, area) = free.min_by_key(|(_, area)| crossed(*area))?;
        taken.push(area);
        Some(place)
    };
    named.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICTURE: (f64, f64, f64, f64) = (56.0, 770.0, 16.0, 250.0);

    fn dot(x: f64, y: f64) -> Dot {
        Dot {
            x,
            y,
            radius: 8.0,
            reach: (y - 30.0, y + 30.0),
        }
    }

    fn anchors(dots: &[(f64, f64)], letters: usize) -> Vec<Option<(&'static str, f64)>> {
        let named: Vec<_> = dots.iter().map(|(x, y)| (dot(*x, *y), letters)).collect();
        let places = places(&named, PICTURE).into_iter();
        places
            .map(|place| place.map(|place| (place.anchor, place.baseline)))
            .collect()
    }

    #[test]
    fn a_name_stands_at_the_height_of_its_dot_where_it_can() {
        assert_eq!(anchors(&[(100.0, 100.0)], 10), [Some(("start", 104.0))]);
        // No room at the right edge.
        assert_eq!(anchors(&[(760.0, 100.0)], 10), [Some(("end", 104.0))]);
        // With a neighbour at the right, each uses its own side.
        assert_eq!(
            anchors(&[(300.0, 100.0), (340.0, 100.0)], 10),
            [Some(("end", 104.0)), Some(("start", 104.0))]
        );
    }

    #[test]
    fn no_name_covers_a_dot_or_another_name_however_many_there_are() {
        let dots: Vec<_> = (0..12)
            .map(|number| {
                (
                    400.0 + 9.0 * f64::from(number % 4),
                    60.0 + 5.0 * f64::from(number),
                )
            })
            .map(|(x, y)| (dot(x, y), 20))
            .collect();
        let places = places(&dots, PICTURE);
        let mut seen: Vec<Area> = dots.iter().map(|(dot, _)| dot.area()).collect();
        let mut count = 0;
        for place in places.into_iter().flatten() {
            let width = 20.0 * LETTER;
            let left = if place.anchor == "end" {
                place.x - width
            } else {
                place.x
            };
            let area = Area {
                left,
                right: left + width,
                top: place.baseline - 4.0 - HALF,
                bottom: place.baseline - 4.0 + HALF,
            };
            assert!(!seen.iter().any(|other| other.meets(area)), "{area:?}");
            seen.push(area);
            count += 1;
        }
        assert!((2..12).contains(&count), "{count}");
    }
}
