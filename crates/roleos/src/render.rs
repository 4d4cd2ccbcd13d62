//! What people look at: replays as text and as a page, the cost curve as a picture.
