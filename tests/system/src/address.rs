//! Connection URLs of PostgreSQL, rewritten as text: sqlx parses them, but gives no password back.

/// The same server and user, another database.
pub(crate) fn with_database(url: &str, database: &str) -> String {
    let parts = Parts::of(url);
    parts.join(parts.host, database, &["dbname"])
}

/// The same user and database, reached through a TCP port of this machine.
pub(crate) fn with_local_port(url: &str, port: u16) -> String {
    let parts = Parts::of(url);
    parts.join(
        &format!("127.0.0.1:{port}"),
        parts.database,
        &["host", "hostaddr", "port", "sslmode", "ssl-mode"],
    )
}

/// The URL as it may be printed.
pub(crate) fn without_password(url: &str) -> String {
    let parts = Parts::of(url);
    match parts.user.split_once(':') {
        Some((user, _)) => Parts {
            user: &format!("{user}:***"),
            ..parts
        }
        .join(parts.host, parts.database, &["password"]),
        None => parts.join(parts.host, parts.database, &["password"]),
    }
}

/// The password, where the URL has one, as it is written there.
pub(crate) fn password(url: &str) -> Option<&str> {
    let parts = Parts::of(url);
    let in_query = || parts.query.split('&').find_map(|pair| pair.strip_prefix("password="));
    parts
        .user
        .split_once(':')
        .map(|(_, password)| password)
        .or_else(in_query)
}

#[derive(Clone, Copy)]
struct Parts<'u> {
    scheme: &'u str,
    user: &'u str,
    host: &'u str,
    database: &'u str,
    query: &'u str,
}

impl<'u> Parts<'u> {
    fn of(url: &'u str) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        Self {
            scheme,
            user,
            host,
            database,
            query,
        }
    }

    fn join(&self, host: &str, database: &str, dropped: &[&str]) -> String {
        let mut url = format!("{}://", self.scheme);
        if !self.user.is_empty() {
            url = url + self.user + "@";
        }
        url = url + host + "/" + database;
        let mut separator = '?';
        for pair in self.query.split('&').filter(|pair| !pair.is_empty()) {
            let name = pair.split('=').next().unwrap_or(pair);
            if !dropped.contains(&name) {
                url.push(separator);
                url += pair;
                separator = '&';
            }
        }
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_database_keeps_server_user_and_options() {
        assert_eq!(
            with_database(
                "postgres://me:s%40@db:5433/postgres?application_name=x&dbname=old",
                "fresh"
            ),
            "postgres://me:s%40@db:5433/fresh?application_name=x"
        );
        assert_eq!(
            with_database("postgres://me@%2Ftmp:5432", "fresh"),
            "postgres://me@%2Ftmp:5432/fresh"
        );
    }

    #[test]
    fn a_local_port_replaces_every_way_of_naming_a_host() {
        assert_eq!(
            with_local_port(
                "postgresql://me@%2Ftmp:5432/d?host=/run&port=1&sslmode=require&options=-c%20x",
                7
            ),
            "postgresql://me@127.0.0.1:7/d?options=-c%20x"
        );
        assert_eq!(
            with_local_port("postgres:///d?host=/tmp", 7),
            "postgres://127.0.0.1:7/d"
        );
    }

    #[test]
    fn a_printed_address_has_no_password() {
        assert_eq!(without_password("postgres://me:secret@h/d"), "postgres://me:***@h/d");
        assert_eq!(password("postgres://me:secret@h/d"), Some("secret"));
        assert_eq!(password("postgres://me@h/d?password=secret"), Some("secret"));
        assert_eq!(password("postgres://me@h/d"), None);
        assert_eq!(
            without_password("postgres://me@h/d?password=secret"),
            "postgres://me@h/d"
        );
    }
}
