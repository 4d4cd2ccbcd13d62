//! Problems of a catalog: stable names for programs, a sentence and a position for people.
//!
//! Only the descriptions; [`crate::check`] and [`crate::strict`] find the problems and determine their order.

use crate::yaml::number_text;

/// Kinds of problem, in the order of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// There is no index.
    IndexMissing,
    /// A file is not valid YAML, or cannot be read.
    YamlError,
    /// The index lists no bundles.
    NoBundles,
    /// A part of the index has a shape in which nothing can be found.
    Malformed,
    /// A bundle has no id.
    BundleMissingId,
    /// A bundle lists a slug twice.
    IndexDuplicateSlug,
    /// A role's version is not a finite number.
    VersionNotNumeric,
    /// A bundle declares no languages.
    NoLanguages,
    /// A declared language has no file.
    LanguageFileMissing,
    /// A role lacks slug, name or instructions.
    MissingRequiredField,
    /// Roles of the index that a language file lacks.
    RoleMissingInFile,
    /// Roles of a language file that the index lacks.
    RoleUndeclared,
    /// A slug that another bundle has already.
    SlugDuplicatedAcrossBundles,
    /// The limit of problems was reached; the check stopped.
    TooManyProblems,
    /// The lock is not JSON.
    LockUnreadable,
    /// A role has no entry in the lock.
    NotInLock,
    /// Content as locked, version not.
    VersionDrift,
    /// Content changed, and the version is not a number.
    ContentChangedVersionNotNumeric,
    /// Content changed under an old version.
    ContentChangedNotBumped,
    /// Content and version changed, and the lock is not updated yet.
    ContentChangedLockStale,
    /// The lock has a role that the catalog lacks.
    LockUnknownRole,
    /// No refresh: content changed, and the version is not a number.
    RefuseVersionNotNumeric,
    /// No refresh: content changed under an old version.
    RefuseNotBumped,
    /// Strict: a value of the wrong type, which a server would refuse.
    WrongType,
    /// Strict: an id, language or slug that is unsafe as a part of a path.
    UnsafeId,
    /// Strict: two bundles with one id.
    DuplicateBundleId,
    /// Strict: a language listed twice.
    DuplicateLanguage,
    /// Strict: a version that is not a positive whole number.
    VersionNotPositiveInteger,
    /// Strict: the file's language is not the one it is declared as.
    LanguageMismatch,
    /// Strict: a slug twice in one language file.
    DuplicateSlugInFile,
    /// Strict: a name or instructions with only blanks.
    BlankField,
    /// Strict: emoji or autoStart differ between languages.
    TranslationDrift,
    /// Strict: the same text in two languages.
    Untranslated,
    /// Strict: `schemaVersion` is not the one of the format.
    SchemaVersion,
    /// Strict: an unknown key.
    UnknownField,
    /// Strict: a text that still contains TODO.
    Unfinished,
    /// Strict: a directory, file or language that the index does not declare.
    Undeclared,
    /// Strict: a version below one that was locked before.
    VersionLowered,
    /// Strict: a role that came back changed without a higher version.
    ReaddedNotBumped,
    /// Strict: the tombstones are not JSON of their form.
    TombstonesUnreadable,
}

impl Class {
    /// Returns the stable name for JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::IndexMissing => "index_missing",
            Self::YamlError => "yaml_error",
            Self::NoBundles => "no_bundles",
            Self::Malformed => "malformed",
            Self::BundleMissingId => "bundle_missing_id",
            Self::IndexDuplicateSlug => "index_duplicate_slug",
            Self::VersionNotNumeric => "version_not_numeric",
            Self::NoLanguages => "no_languages",
            Self::LanguageFileMissing => "language_file_missing",
            Self::MissingRequiredField => "missing_required_field",
            Self::RoleMissingInFile => "role_missing_in_file",
            Self::RoleUndeclared => "role_undeclared",
            Self::SlugDuplicatedAcrossBundles => "slug_duplicated_across_bundles",
            Self::TooManyProblems => "too_many_problems",
            Self::LockUnreadable => "lock_unreadable",
            Self::NotInLock => "not_in_lock",
            Self::VersionDrift => "version_drift",
            Self::ContentChangedVersionNotNumeric => "content_changed_version_not_numeric",
            Self::ContentChangedNotBumped => "content_changed_not_bumped",
            Self::ContentChangedLockStale => "content_changed_lock_stale",
            Self::LockUnknownRole => "lock_unknown_role",
            Self::RefuseVersionNotNumeric => "refuse_version_not_numeric",
            Self::RefuseNotBumped => "refuse_not_bumped",
            Self::WrongType => "wrong_type",
            Self::UnsafeId => "unsafe_id",
            Self::DuplicateBundleId => "duplicate_bundle_id",
            Self::DuplicateLanguage => "duplicate_language",
            Self::VersionNotPositiveInteger => "version_not_positive_integer",
            Self::LanguageMismatch => "language_mismatch",
            Self::DuplicateSlugInFile => "duplicate_slug_in_file",
            Self::BlankField => "blank_field",
            Self::TranslationDrift => "translation_drift",
            Self::Untranslated => "untranslated",
            Self::SchemaVersion => "schema_version",
            Self::UnknownField => "unknown_field",
            Self::Unfinished => "unfinished",
            Self::Undeclared => "undeclared",
            Self::VersionLowered => "version_lowered",
            Self::ReaddedNotBumped => "readded_not_bumped",
            Self::TombstonesUnreadable => "tombstones_unreadable",
        }
    }
}

/// Position in a file of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Path from the catalog's root, with `/`.
    pub file: String,
    /// Byte offset, counted from 0.
    pub offset: usize,
}

impl Place {
    pub(crate) fn new(file: &str, offset: usize) -> Self {
        Self {
            file: file.to_owned(),
            offset,
        }
    }
}

/// One problem. The class determines the facts that are present.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Kind of problem, for programs.
    pub class: Class,
    /// Position, if there is one.
    pub place: Option<Place>,
    /// Id of the bundle.
    pub bundle: Option<String>,
    /// Language as in the index.
    pub language: Option<String>,
    /// Key of the role.
    pub field: Option<&'static str>,
    /// Slug of the role; `Some(None)` when the role has none.
    pub slug: Option<Option<String>>,
    /// Several slugs, missing ones included.
    pub slugs: Vec<Option<String>>,
    /// Path of a file, from the catalog's root.
    pub file: Option<String>,
    /// Version in the index.
    pub version: Option<f64>,
    /// Version in the lock.
    pub locked_version: Option<f64>,
    /// `bundle/language` that came first.
    pub first: Option<String>,
    /// `bundle/language` that clashes with it.
    pub second: Option<String>,
    /// Details, for people only.
    pub detail: Option<String>,
}

impl Problem {
    pub(crate) fn new(class: Class) -> Self {
        Self {
            class,
            place: None,
            bundle: None,
            language: None,
            field: None,
            slug: None,
            slugs: Vec::new(),
            file: None,
            version: None,
            locked_version: None,
            first: None,
            second: None,
            detail: None,
        }
    }

    pub(crate) fn at(mut self, file: &str, offset: usize) -> Self {
        self.place = Some(Place::new(file, offset));
        self
    }

    pub(crate) fn bundle(mut self, bundle: &str) -> Self {
        self.bundle = Some(bundle.to_owned());
        self
    }

    pub(crate) fn language(mut self, language: &str) -> Self {
        self.language = Some(language.to_owned());
        self
    }

    pub(crate) fn field(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    pub(crate) fn slug(mut self, slug: &str) -> Self {
        self.slug = Some(Some(slug.to_owned()));
        self
    }

    pub(crate) fn slug_if_any(mut self, slug: Option<&str>) -> Self {
        self.slug = Some(slug.map(str::to_owned));
        self
    }

    pub(crate) fn slugs(mut self, slugs: Vec<Option<String>>) -> Self {
        self.slugs = slugs;
        self
    }

    pub(crate) fn file(mut self, file: &str) -> Self {
        self.file = Some(file.to_owned());
        self
    }

    pub(crate) fn version(mut self, version: Option<f64>) -> Self {
        self.version = version.filter(|version| version.is_finite());
        self
    }

    pub(crate) fn locked_version(mut self, version: Option<f64>) -> Self {
        self.locked_version = version;
        self
    }

    pub(crate) fn between(mut self, first: &str, second: &str) -> Self {
        self.first = Some(first.to_owned());
        self.second = Some(second.to_owned());
        self
    }

    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Returns one sentence for people, without the position.
    #[must_use]
    pub fn explain(&self) -> String {
        let detail = self.detail.as_deref().unwrap_or_default();
        let field = self.field.unwrap_or_default();
        let version = self.version.map_or_else(|| "?".to_owned(), number_text);
        let locked = self
            .locked_version
            .map_or_else(|| "?".to_owned(), number_text);
        let (role, bundle, language) = (
            self.role(),
            quoted(self.bundle.as_ref()),
            quoted(self.language.as_ref()),
        );
        let (first, second) = (quoted(self.first.as_ref()), quoted(self.second.as_ref()));
        let slugs = self.slug_list();
        match self.class {
            Class::IndexMissing => "there is no index.yaml".to_owned(),
            Class::YamlError | Class::Malformed | Class::TooManyProblems => detail.to_owned(),
            Class::NoBundles => "`bundles` must be a list with at least one bundle".to_owned(),
            Class::BundleMissingId => "the bundle has no `id`".to_owned(),
            Class::IndexDuplicateSlug => format!("bundle {bundle} lists a slug twice"),
            Class::VersionNotNumeric => format!("the version of {role} must be a number"),
            Class::NoLanguages => format!("bundle {bundle} declares no languages"),
            Class::LanguageFileMissing => {
                format!(
                    "bundle {bundle} declares the language {language}, but there is no file for it"
                )
            }
            Class::MissingRequiredField => format!("{role} has no `{field}`"),
            Class::RoleMissingInFile => {
                format!("the index lists {slugs}, this file does not have it")
            }
            Class::RoleUndeclared => format!("this file has {slugs}, the index does not list it"),
            Class::SlugDuplicatedAcrossBundles => {
                format!("{role} is in {first} and again in {second}; a slug belongs to one bundle")
            }
            Class::LockUnreadable => format!("the lock is not JSON: {detail}"),
            Class::NotInLock => format!("{role} is not in the lock yet"),
            Class::VersionDrift => match self.version {
                Some(_) => format!(
                    "{role} has version {version}, the lock says {locked}; its content is the same"
                ),
                None => format!("{role} has no usable version, the lock says {locked}"),
            },
            Class::ContentChangedVersionNotNumeric | Class::RefuseVersionNotNumeric => {
                format!("the content of {role} changed, and its version is not a number")
            }
            Class::ContentChangedNotBumped | Class::RefuseNotBumped => {
                format!("the content of {role} changed, but its version is not above {locked}")
            }
            Class::ContentChangedLockStale => {
                format!(
                    "the content of {role} changed with version {version}, and the lock does not know yet"
                )
            }
            Class::LockUnknownRole => format!("the lock has {role}, the catalog does not"),
            _ => self.explain_strict(&role, &version, &locked),
        }
    }

    fn explain_strict(&self, role: &str, version: &str, locked: &str) -> String {
        let detail = self.detail.as_deref().unwrap_or_default();
        let field = self.field.unwrap_or_default();
        let (bundle, language) = (quoted(self.bundle.as_ref()), quoted(self.language.as_ref()));
        let (first, second) = (quoted(self.first.as_ref()), quoted(self.second.as_ref()));
        match self.class {
            Class::UnsafeId => format!("{detail} may only have a-z, 0-9 and `-`"),
            Class::DuplicateBundleId => format!("the id {bundle} belongs to an earlier bundle"),
            Class::DuplicateLanguage => {
                format!("bundle {bundle} lists the language {language} twice")
            }
            Class::VersionNotPositiveInteger => {
                format!("the version of {role} must be a whole number from 1 on, not {version}")
            }
            Class::LanguageMismatch => format!("{detail}, but the file is the one for {language}"),
            Class::DuplicateSlugInFile => {
                format!("{role} is in this file twice; only the last one counts")
            }
            Class::BlankField => format!("the {field} of {role} is blank"),
            Class::TranslationDrift => {
                format!("the {field} of {role} differs between {first} and {second}")
            }
            Class::Untranslated => {
                format!("the {field} of {role} is the same in {first} and {second}")
            }
            Class::SchemaVersion => "`schemaVersion` must be 1".to_owned(),
            Class::UnknownField => format!("the format has no field `{detail}` here"),
            Class::Unfinished => format!("`{detail}` still says TODO"),
            Class::VersionLowered => {
                format!("{role} has version {version}, below {locked}, which was locked before")
            }
            Class::ReaddedNotBumped => {
                format!("{role} was locked with other content; its version must be above {locked}")
            }
            Class::TombstonesUnreadable => format!("the tombstones cannot be read: {detail}"),
            _ => detail.to_owned(),
        }
    }

    /// Returns a remedy that is not obvious.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self.class {
            Class::IndexMissing => Some("name the catalog's directory, the one with index.yaml"),
            Class::NotInLock
            | Class::VersionDrift
            | Class::ContentChangedLockStale
            | Class::LockUnknownRole => Some("record it with `--update-hashes`"),
            Class::ContentChangedNotBumped | Class::RefuseNotBumped => {
                Some("raise `version` of the role in index.yaml, then run with `--update-hashes`")
            }
            Class::LockUnreadable => {
                Some("restore it from version control, or write it anew with `--repair-lock`")
            }
            _ => None,
        }
    }

    fn role(&self) -> String {
        match &self.slug {
            Some(Some(slug)) => format!("role `{slug}`"),
            _ => "a role without slug".to_owned(),
        }
    }

    fn slug_list(&self) -> String {
        let shown = self.slugs.iter().take(5).map(|slug| match slug {
            Some(slug) => format!("`{slug}`"),
            None => "a role without slug".to_owned(),
        });
        let mut text = shown.collect::<Vec<_>>().join(", ");
        if self.slugs.len() > 5 {
            text.push_str(&format!(" and {} more", self.slugs.len() - 5));
        }
        text
    }
}

fn quoted(text: Option<&String>) -> String {
    format!("`{}`", text.map_or("", String::as_str))
}
