//! Where Role OS touches the machine.
