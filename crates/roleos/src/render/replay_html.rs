//! stub
pub fn page(_view: &super::replay_view::ReplayView<'_>) -> Result<String, askama::Error> {
    Ok(String::new())
}
