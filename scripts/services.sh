# shellcheck shell=bash
# What the tests need beside Rust: a C compiler, a PostgreSQL server and PgBouncer. Sourced by the other scripts.
#
# One function per service. `<name>_service` uses what the caller names in IDEM_TEST_<NAME>_URL, else a server it finds,
# else a private one that it starts, installing the package where that is needed; it exports IDEM_TEST_<NAME>_URL and puts
# what must be undone into `cleanups`. Another service is another such function and one more line in `start_services`.
#
# PgBouncer is a program that tests start themselves: IDEM_TEST_PGBOUNCER names it.
#
# IDEM_TEST_SERVICES=private  does not look for running servers and starts private ones.

start_services() {
    postgres_service
    pgbouncer_service
}

# Undoes in reverse order; safe to call when nothing was started.
stop_services() {
    local i
    for ((i = ${#cleanups[@]} - 1; i >= 0; i--)); do
        "${cleanups[i]}" || say "could not undo ${cleanups[i]}"
    done
    cleanups=()
}

cleanups=()

# ---------------------------------------------------------------------------------------------------------- PostgreSQL

POSTGRES_MINIMUM=13
POSTGRES_SETTINGS=/etc/postgresql-common/createcluster.conf

postgres_service() {
    if [[ -n ${IDEM_TEST_POSTGRES_URL:-} ]]; then
        say "PostgreSQL: using IDEM_TEST_POSTGRES_URL"
    elif [[ ${IDEM_TEST_SERVICES:-auto} != private ]] && postgres_find_running; then
        say "PostgreSQL: found a running server, $IDEM_TEST_POSTGRES_URL"
    else
        postgres_find_programs || postgres_install
        postgres_start_private
        say "PostgreSQL: started a private server, $IDEM_TEST_POSTGRES_URL"
    fi
    export IDEM_TEST_POSTGRES_URL
}

# A server that is new enough and lets this user create databases and roles without a password.
postgres_find_running() {
    local psql host user answer
    psql=$(postgres_program psql) || return 1
    for host in /var/run/postgresql /tmp 127.0.0.1; do
        for user in "$(id -un)" postgres; do
            answer=$(PGCONNECT_TIMEOUT=3 "$psql" -XAtqw -h "$host" -p 5432 -U "$user" -d postgres 2>/dev/null -c "
                SELECT current_setting('server_version_num')::int >= ${POSTGRES_MINIMUM}0000
                   AND (rolsuper OR (rolcreatedb AND rolcreaterole))
                  FROM pg_roles WHERE rolname = current_user") || continue
            if [[ $answer == t ]]; then
                IDEM_TEST_POSTGRES_URL="postgres://$user@${host//\//%2F}:5432/postgres"
                return 0
            fi
            say "PostgreSQL: the server on $host is too old or refuses new databases and roles to $user; not used"
        done
    done
    return 1
}

# A program of the newest installed PostgreSQL; Debian keeps the server's programs off PATH.
postgres_program() {
    local folder folders=() newest
    for folder in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* /opt/homebrew/opt/postgresql*/bin \
        /usr/local/opt/postgresql*/bin; do
        if [[ -x $folder/$1 ]]; then
            folders+=("$folder")
        fi
    done
    if ((${#folders[@]})); then
        newest=$(printf '%s\n' "${folders[@]}" | sort -V | tail -n 1)
        printf '%s\n' "$newest/$1"
    else
        command -v "$1"
    fi
}

postgres_find_programs() {
    local found
    INITDB=$(postgres_program initdb) && PG_CTL=$(postgres_program pg_ctl) || return 1
    found=$("$INITDB" --version | sed -E 's/^[^0-9]*([0-9]+).*$/\1/')
    if ((found < POSTGRES_MINIMUM)); then
        say "PostgreSQL: $INITDB is version $found, $POSTGRES_MINIMUM is needed"
        return 1
    fi
}

postgres_install() {
    # Debian's package would create and start a server of its own, which nobody here uses; this asks it not to.
    if command -v apt-get >/dev/null && may_be_root && [[ ! -e $POSTGRES_SETTINGS ]]; then
        cleanups+=(postgres_restore_settings)
        as_root mkdir -p "${POSTGRES_SETTINGS%/*}"
        as_root sh -c "echo 'create_main_cluster = false' >$POSTGRES_SETTINGS"
    fi
    install_packages PostgreSQL postgresql
    postgres_find_programs || fail "PostgreSQL: installed, but initdb and pg_ctl of version $POSTGRES_MINIMUM or newer are not there"
}

# Puts the package's own settings, which it left beside ours, in their place.
postgres_restore_settings() {
    local theirs=$POSTGRES_SETTINGS.ucf-dist
    if [[ -e $theirs ]]; then
        as_root mv -f "$theirs" "$POSTGRES_SETTINGS"
    else
        as_root rm -f "$POSTGRES_SETTINGS"
    fi
}

postgres_start_private() {
    local attempt port
    POSTGRES_DIR=$(mktemp -d "${TMPDIR:-/tmp}/idem-postgres.XXXXXX")
    cleanups+=(postgres_stop_private)
    postgres_choose_user
    # Locale C is on every system; no sync here, since nothing needs a half-made cluster. The server itself keeps fsync on.
    as_postgres "$INITDB" -D "$POSTGRES_DIR/data" -U postgres -A trust -E UTF8 --locale=C --no-sync \
        >"$POSTGRES_DIR/initdb.log" 2>&1 || fail_with_log "PostgreSQL: initdb failed" "$POSTGRES_DIR/initdb.log"
    for attempt in 1 2 3 4 5; do
        port=$(free_port)
        # No socket: its path has a length limit that a long TMPDIR passes.
        if as_postgres "$PG_CTL" -D "$POSTGRES_DIR/data" -l "$POSTGRES_DIR/server.log" -w -t 60 \
            -o "-h 127.0.0.1 -p $port -c unix_socket_directories= -c fsync=on -c max_connections=300" start \
            >"$POSTGRES_DIR/pg_ctl.log" 2>&1; then
            IDEM_TEST_POSTGRES_URL="postgres://postgres@127.0.0.1:$port/postgres"
            return 0
        fi
        # Somebody may have taken the port meanwhile.
        grep -q 'Address already in use' "$POSTGRES_DIR/server.log" || break
        say "PostgreSQL: port $port was taken (attempt $attempt)"
    done
    fail_with_log "PostgreSQL: the private server did not start" "$POSTGRES_DIR/server.log"
}

postgres_stop_private() {
    if [[ -e $POSTGRES_DIR/data/postmaster.pid ]]; then
        as_postgres "$PG_CTL" -D "$POSTGRES_DIR/data" -m immediate -w stop >/dev/null || return 1
        say "PostgreSQL: stopped the private server"
    fi
    rm -rf "$POSTGRES_DIR"
}

# PostgreSQL refuses to run as root: then it runs as `postgres`, or as a system user made for it.
postgres_choose_user() {
    POSTGRES_USER=
    if ((EUID != 0)); then
        return 0
    fi
    POSTGRES_USER=postgres
    if ! id -u postgres >/dev/null 2>&1; then
        POSTGRES_USER=idem-postgres
        id -u "$POSTGRES_USER" >/dev/null 2>&1 || useradd --system --no-create-home --shell /usr/sbin/nologin "$POSTGRES_USER" ||
            fail "PostgreSQL: cannot run as root, and no user could be added to run it; run this script as another user"
        say "PostgreSQL: runs as the system user $POSTGRES_USER"
    fi
    # A temporary folder below root's home is closed to that user.
    chown "$POSTGRES_USER" "$POSTGRES_DIR"
    if ! as_postgres test -w "$POSTGRES_DIR"; then
        rm -rf "$POSTGRES_DIR"
        POSTGRES_DIR=$(mktemp -d /tmp/idem-postgres.XXXXXX)
        chown "$POSTGRES_USER" "$POSTGRES_DIR"
    fi
}

# Runs a command as the user of the private server, in a folder that user may enter.
as_postgres() (
    cd /
    if [[ -z $POSTGRES_USER ]]; then
        "$@"
    elif command -v runuser >/dev/null; then
        runuser -u "$POSTGRES_USER" -- "$@"
    elif command -v setpriv >/dev/null; then
        setpriv --reuid "$POSTGRES_USER" --regid "$(id -g "$POSTGRES_USER")" --clear-groups -- "$@"
    else
        su -s /bin/sh "$POSTGRES_USER" -c "$(printf '%q ' "$@")"
    fi
)

# ----------------------------------------------------------------------------------------------------------- PgBouncer

POLICY=/usr/sbin/policy-rc.d

pgbouncer_service() {
    if [[ -n ${IDEM_TEST_PGBOUNCER:-} ]]; then
        say "PgBouncer: using IDEM_TEST_PGBOUNCER"
    elif pgbouncer_find; then
        :
    elif command -v apt-get >/dev/null && may_be_root; then
        pgbouncer_install
        pgbouncer_find || fail "PgBouncer: installed, but the program is not there"
    else
        # Other tests do without it.
        say "PgBouncer: not found; its tests will fail until it is installed"
        return 0
    fi
    export IDEM_TEST_PGBOUNCER
}

# Debian keeps it off the PATH of ordinary users.
pgbouncer_find() {
    IDEM_TEST_PGBOUNCER=$(PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v pgbouncer)
}

# Debian's package starts a pooler of its own, which nobody here uses; a policy asks it not to.
pgbouncer_install() {
    if [[ ! -e $POLICY ]]; then
        cleanups+=(pgbouncer_remove_policy)
        as_root sh -c "printf '#!/bin/sh\nexit 101\n' >$POLICY && chmod 755 $POLICY"
    fi
    install_packages PgBouncer pgbouncer
    as_root update-rc.d pgbouncer disable >/dev/null 2>&1 || say "PgBouncer: its service may start with this machine"
    if [[ " ${cleanups[*]} " == *" pgbouncer_remove_policy "* ]]; then
        pgbouncer_remove_policy
    fi
}

pgbouncer_remove_policy() {
    as_root rm -f "$POLICY"
}

# --------------------------------------------------------------------------------------------------------- the machine

need_cargo() {
    if ! command -v cargo >/dev/null && [[ -x $HOME/.cargo/bin/cargo ]]; then
        export PATH="$HOME/.cargo/bin:$PATH"
    fi
    command -v cargo >/dev/null || fail "cargo is not installed; see https://rustup.rs"
}

# SQLite is built from the sources that its crate brings.
need_c_compiler() {
    if ! command -v "${CC:-cc}" >/dev/null; then
        install_packages "a C compiler" gcc libc6-dev
        command -v "${CC:-cc}" >/dev/null || fail "no C compiler (${CC:-cc}) even after the installation"
    fi
}

# install_packages WHAT PACKAGE...
install_packages() {
    local what=$1 log
    shift
    command -v apt-get >/dev/null || fail "$what is missing and there is no apt-get here; install it, then run this again"
    may_be_root || fail "$what is missing and installing it needs root; install $*, then run this again"
    say "$what: not found, installing $* with apt-get"
    log=$(mktemp)
    as_root apt-get update >"$log" 2>&1 || say "$what: apt-get update failed, going on with the lists at hand"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        -o Dpkg::Options::=--force-confold "$@" >>"$log" 2>&1 || fail_with_log "$what: apt-get could not install $*" "$log"
    rm -f "$log"
}

may_be_root() {
    ((EUID == 0)) || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    else
        sudo -n "$@"
    fi
}

# A port that nothing listens on, below the range that outgoing connections take theirs from.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            printf '%s\n' "$port"
            return
        fi
    done
}

# Messages go to stderr: the last lines on stdout are the test run's own.
say() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
}

fail() {
    say "$*"
    exit 1
}

fail_with_log() {
    say "$1"
    tail -n 40 "$2" >&2 || true
    exit 1
}
