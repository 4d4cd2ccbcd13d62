//! Names in the code of other languages that are known: what starts nothing, what starts programs, what reaches further.

/// Modules that start no program by any of the names below; a file of the same name in the project is read by itself.
pub(super) const PYTHON_MODULES: &str = "
    argparse ast base64 binascii bisect calendar collections concurrent configparser contextlib copy csv datetime
    decimal difflib enum errno fnmatch fractions functools glob gzip hashlib heapq html io ipaddress itertools json
    locale logging math os pathlib platform pprint queue random re secrets shlex shutil signal socket sqlite3
    statistics string struct subprocess sys tempfile textwrap threading time tomllib traceback typing unicodedata
    urllib uuid warnings zlib zoneinfo";

/// Built-in names that reach what is not named, or run text.
pub(super) const PYTHON_REACHING: &str = "
    eval exec compile getattr setattr delattr globals locals vars breakpoint help execfile reload apply
    super object type class case";

/// Names that are taken to be what they always are.
pub(super) const PYTHON_TRUSTED: &str = "
    print len str repr list isinstance sys shlex re os platform";

/// What may be asked of anything without a program being started.
pub(super) const PYTHON_SAFE: &str = "
    split rsplit splitlines strip lstrip rstrip join replace startswith endswith lower upper title
    capitalize count find rfind index format encode decode isdigit isalpha isalnum isspace isupper islower
    zfill ljust rjust center partition rpartition removeprefix removesuffix expandtabs casefold swapcase
    append extend insert pop clear sort reverse copy items keys values get setdefault update add discard
    union intersection difference issubset issuperset most_common elements Counter defaultdict OrderedDict
    deque appendleft popleft chain product permutations combinations groupby islice zip_longest
    from_iterable reduce lru_cache read readline readlines close read_text read_bytes exists is_file is_dir
    iterdir glob iglob rglob resolve absolute parent parents name stem suffix suffixes parts stat st_size
    st_mtime relative_to with_suffix with_name joinpath as_posix expanduser mkdir makedirs unlink remove
    rmdir rmtree home cwd path Path PurePath isfile isdir basename dirname abspath relpath splitext getsize
    getmtime realpath listdir walk scandir getcwd sep linesep pathsep getpid cpu_count gettempdir mkdtemp
    TemporaryDirectory StringIO BytesIO getvalue fnmatch match search findall finditer sub subn group groups
    groupdict start end span fullmatch escape MULTILINE DOTALL IGNORECASE VERBOSE load loads dumps
    JSONDecodeError reader DictReader fieldnames parse literal_eval dedent indent fill wrap unified_diff
    ndiff quote unquote urlencode urlparse urljoin request urlopen error HTTPError URLError status code
    hexdigest digest sha256 sha1 md5 b64encode b64decode hexlify unhexlify pprint pformat sqrt ceil floor
    log log2 log10 pi inf nan isnan mean median stdev randint choice shuffle random seed sample uniform time
    sleep perf_counter monotonic strftime strptime now today utcnow isoformat timestamp fromtimestamp
    fromisoformat timedelta date datetime timezone utc total_seconds year month day hour minute second days
    seconds exit stdout stderr flush version version_info major minor platform system maxsize executable
    returncode args wait poll pid communicate check_returncode cmd print_exc which List Dict Optional Any
    Tuple Callable Iterable Union Set terminate kill send_signal SIGTERM SIGINT SIGKILL fromkeys popitem
    symmetric_difference total subtract isidentifier translate is_symlink lstat commonpath commonprefix
    normpath isabs islink st_mode uname get_terminal_size lastindex lastgroup weekday isocalendar combine
    astimezone tzinfo process_time time_ns perf_counter_ns gmtime localtime namedtuple ChainMap cycle repeat
    accumulate takewhile dropwhile socket bind getsockname connect connect_ex settimeout AF_INET SOCK_STREAM
    cursor execute executemany fetchall fetchone commit row_factory getcode headers Request add_header
    getLogger basicConfig info warning debug critical INFO DEBUG WARNING ERROR suppress futures
    ThreadPoolExecutor submit map result as_completed Thread Lock Queue put";

/// Names that change files; what is started may then be among them.
pub(super) const PYTHON_WRITES: &str = "
    write write_text write_bytes writelines dump writer DictWriter writerow rename touch chmod symlink_to
    hardlink_to copyfile copytree copy2 move open NamedTemporaryFile symlink link";

/// Names that bring in words from outside, or change what a program finds.
pub(super) const PYTHON_OUTSIDE: &str = "
    argv environ getenv putenv stdin chdir input";

/// Calls of `subprocess` that start a program.
pub(super) const PYTHON_STARTS: &str = "
    run call check_call check_output Popen getoutput getstatusoutput";

/// What else is taken from `subprocess`.
pub(super) const PYTHON_CONSTANTS: &str = "
    PIPE list2cmdline DEVNULL STDOUT CalledProcessError TimeoutExpired CompletedProcess SubprocessError";

/// Settings of a start that do not change what is started.
pub(super) const PYTHON_SETTINGS: &str = "
    capture_output text check cwd stdout stderr timeout encoding errors universal_newlines bufsize
    start_new_session close_fds";

/// The module of processes.
pub(super) const SCRIPT_PROCESSES: &str = "
    child_process node:child_process";

/// Modules that start no program by any of the names below.
pub(super) const SCRIPT_MODULES: &str = "
    assert buffer crypto events fs fs/promises node:assert node:buffer node:crypto node:events node:fs
    node:fs/promises node:os node:path node:perf_hooks node:querystring node:readline node:url node:util
    node:zlib os path perf_hooks querystring readline url util zlib";

/// What reaches further when it is asked of anything at all.
pub(super) const SCRIPT_ASKED: &str = "
    constructor prototype binding mainModule createRequire require dlopen getBuiltinModule execve runInThisContext
    runInNewContext runInContext compileFunction SourceTextModule getPrototypeOf setPrototypeOf
    getOwnPropertyDescriptor getOwnPropertyDescriptors getOwnPropertyNames defineProperty openProcess meta";

/// Names that are there without being declared and reach what is not named, or run text.
pub(super) const SCRIPT_REACHING: &str = "
    eval Function globalThis global self window this super Reflect Proxy module exports Deno Bun arguments
    with WebAssembly Worker vm worker_threads cluster repl inspector test v8 class debugger child_process
    import export setTimeout setInterval AsyncFunction";

/// Its calls that start a program.
pub(super) const SCRIPT_STARTS: &str = "
    exec execSync spawn spawnSync execFile execFileSync";

/// What may be asked of anything without a program being started.
pub(super) const SCRIPT_SAFE: &str = "
    log error warn info table stdout stderr write exit exitCode cwd version versions node platform arch
    hrtime uptime parse stringify keys values entries fromEntries isArray from of length map filter forEach
    reduce find findIndex some every includes indexOf lastIndexOf slice splice concat join push pop shift
    unshift sort reverse flat flatMap fill split trim trimEnd trimStart toString toLowerCase toUpperCase
    startsWith endsWith replace replaceAll padStart padEnd repeat charAt charCodeAt substring at
    localeCompare toFixed has add size readFileSync existsSync readdirSync statSync mkdirSync isDirectory
    isFile name basename dirname resolve extname relative now getTime toISOString max min floor ceil round
    random abs inspect exec test match matchAll search status message scripts dependencies devDependencies private";

/// Names that change files, or bring in words from outside; what is started may then be among them.
pub(super) const SCRIPT_OUTSIDE: &str = "
    writeFileSync appendFileSync writeFile appendFile copyFileSync renameSync symlinkSync linkSync chmodSync
    cpSync createWriteStream argv env stdin chdir";

/// Settings of a start that do not change what is started.
pub(super) const SCRIPT_SETTINGS: &str = "
    stdio encoding cwd timeout maxBuffer windowsHide";

/// Whether a word stands in a list.
pub(super) fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}
