#!/bin/sh
# Stands for a program that can act on the world: writes down its words and does nothing.
# What such a program does without acting (git on local repositories, scripts of packages) the real one does.

# Its own name, whatever it is called by.
name=SELF

# Writes down the words and ends as if all had gone well.
record() {
    rehearsal=${npm_config_dry_run-${NPM_CONFIG_DRY_RUN-}}
    printf '%s\037' "$name" "$@" ${rehearsal:+--dry-run=$rehearsal} end-of-record >>/record/log
    exit 0
}

# Pushes under another name: git itself starts a helper, by which it can still be known. A refused one ends it.
push() {
    case ${0##*/} in
    git | git-*) ;;
    *)
        sh -c "git-receive-pack '/srv/origin.git'" </dev/null >/dev/null 2>&1
        [ $? != 126 ] || exit 128
        ;;
    esac
    record "$@"
}

# Finds the first word that is neither an option nor the value of one of the options in `$values`.
find_verb() {
    verb= value= place=0
    for word; do
        place=$((place + 1))
        if [ -n "$value" ]; then
            value=
            continue
        fi
        case $word in
        -*) case " $values " in *" $word "*) value=1 ;; esac ;;
        *)
            verb=$word
            return
            ;;
        esac
    done
    place=$((place + 1))
}

# Starts a program of a package by its name, without its version.
start() {
    program=$1
    shift
    case $program in ?*@*) program=${program%@*} ;; esac
    exec "$program" "$@"
}

scripts_of_npm() { exec /opt/real/npm "$@"; }

case $name in
git | git-*)
    full=$*
    values='-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source'
    [ "$name" = git ] || set -- "${name#git-}" "$@"
    find_verb "$@"
    case $verb in
    push | send-pack | http-push) push "$@" ;;
    lfs) case " $full " in *' push '*) push "$@" ;; esac ;;
    # It is a script that pushes.
    subtree) case " $full " in *' push '*) exec git push origin main ;; esac ;;
    esac
    exec /opt/real/git "$@"
    ;;
npm | pnpm | yarn | bun)
    values='--prefix -C --dir --cwd -w --workspace --registry --loglevel --tag --access --otp --userconfig --filter -F'
    all=$*
    find_verb "$@"
    case $name,$verb in
    npm,pub* | *,publish) record "$@" ;;
    yarn,npm | yarn,workspace | yarn,workspaces) case " $all " in *' publish'*) record "$@" ;; esac ;;
    npm,exec | npm,x | *,dlx | pnpm,exec | yarn,exec | bun,x | bun,exec)
        shift "$place"
        values='-p --package --call'
        while :; do
            case ${1-} in
            -c | --call) exec sh -c "$2" ;;
            -p | --package) shift 2 ;;
            -*) shift ;;
            *) break ;;
            esac
        done
        case $1 in *' '*) exec sh -c "$*" ;; *) start "$@" ;; esac
        ;;
    npm,*) scripts_of_npm "$@" ;;
    esac
    case $verb in
    '' | install | i | add | ci) scripts_of_npm install --offline --no-audit --no-fund ;;
    run | test) scripts_of_npm "$@" ;;
    *) scripts_of_npm run "$@" ;;
    esac
    ;;
uv | poetry | hatch)
    values='--directory --project -C -P --env -e --with --index-url'
    find_verb "$@"
    [ "$name,$verb" != uv,tool ] || place=$((place + 1))
    case $verb in run | tool) ;; *) record "$@" ;; esac
    shift "$place"
    while :; do
        case ${1-} in
        --with | --python | -p | --from | --extra | --group) shift 2 ;;
        -m) break ;;
        -*) shift ;;
        *) break ;;
        esac
    done
    case ${1-} in
    -m) exec python3 "$@" ;;
    *' '*) exec sh -c "$*" ;;
    *) start "$@" ;;
    esac
    ;;
npx | bunx | pnpx | uvx | pipx)
    while :; do
        case ${1-} in
        -c | --call) exec sh -c "$2" ;;
        -p | --package | --from | --with | --spec | --python) shift 2 ;;
        -* | run) shift ;;
        *) break ;;
        esac
    done
    [ $# = 0 ] || start "$@"
    ;;
sudo | doas | gosu | su-exec | caffeinate | torsocks | proxychains4 | xvfb-run | dbus-run-session)
    case $name in gosu | su-exec) shift ;; esac
    while :; do
        case ${1-} in
        -u | -g | -p | -C | -D | -h | -T) shift 2 ;;
        --) shift && break ;;
        -*) shift ;;
        *=*)
            export "$1"
            shift
            ;;
        *) break ;;
        esac
    done
    exec "$@"
    ;;
ssh)
    while :; do
        case ${1-} in
        -[bcDEeFIiJLlmOopQRSWw]) shift 2 ;;
        -*) shift ;;
        *) break ;;
        esac
    done
    shift
    exec sh -c "$*"
    ;;
*) record "$@" ;;
esac
