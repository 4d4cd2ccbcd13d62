//! Files under crashes, crowds and hands.
