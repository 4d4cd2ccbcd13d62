//! Other names that a program gives to files: links, copies that share their content, and mounts.

use actions::lookup::base_name;

use crate::programs::{has_flag, operands, value};

/// Returns the links that a program makes: the path of each, and its target.
pub fn made(name: &str, arguments: &[String]) -> Vec<(String, String)> {
    let is_link = match name {
        "ln" => true,
        "cp" => has_flag(arguments, "ls", &["--link", "--symbolic-link"]),
        "mount" => is_bind(arguments),
        _ => false,
    };
    if !is_link {
        return Vec::new();
    }
    let mut words = operands(arguments);
    let named = value(arguments, &["-t", "--target-directory"]);
    let folder = named.first().filter(|_| name != "mount");
    let place = match folder {
        Some(folder) => {
            words.retain(|word| word.as_str() != *folder);
            (*folder).to_owned()
        }
        None if words.len() > 1 => words.pop().cloned().unwrap_or_default(),
        None => ".".to_owned(),
    };
    let mut links = Vec::new();
    for target in words {
        let inside = format!("{}/{}", place.trim_end_matches('/'), base_name(target));
        // It is unknown if the last argument is a directory.
        links.push((inside, target.clone()));
        links.push((place.clone(), target.clone()));
    }
    links
}

/// Returns `true` if `mount` gives a directory another name.
fn is_bind(arguments: &[String]) -> bool {
    let options = value(arguments, &["-o", "--options"]);
    has_flag(arguments, "BRM", &["--bind", "--rbind", "--move"])
        || options.iter().any(|option| option.contains("bind"))
}
