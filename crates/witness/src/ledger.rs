//! An append-only Merkle log over sealed bundles.
