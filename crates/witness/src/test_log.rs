//! What a test runner printed, understood as far as it can be.
