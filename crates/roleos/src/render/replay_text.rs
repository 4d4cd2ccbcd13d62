//! stub
pub fn write(
    _view: &super::replay_view::ReplayView<'_>,
    _out: &mut dyn std::io::Write,
) -> std::io::Result<()> {
    Ok(())
}
