//! What goes wrong between the two, and what is right after it.

use std::net::SocketAddr;

use crate::database::Database;
use crate::program::Program;

/// Where no gateway listens.
fn nobody() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 9))
}

fn headers(key: &str) -> Vec<String> {
    vec![
        "Authorization: Bearer alice-token".into(),
        "Content-Type: application/json".into(),
        format!("Idempotency-Key: {key}"),
    ]
}

fn order(service: &Program, key: &str) -> String {
    service.send("POST", "/orders", &headers(key), "{\"item\":\"teapot\",\"cents\":2900}")
}

fn pay(service: &Program, key: &str) -> String {
    service.send("POST", "/orders/1/pay", &headers(key), "")
}

#[test]
fn an_order_outlives_the_process_with_its_record() {
    for database in Database::both() {
        let service = Program::orders(&database, nobody());
        assert!(order(&service, "a").starts_with("HTTP/1.1 201"));
        service.kill();
        let service = Program::orders(&database, nobody());
        let again = order(&service, "a");
        assert!(
            again.contains("idempotent-replayed: true") && again.contains("{\"id\":1,"),
            "{again}"
        );
    }
}

#[test]
fn a_payment_is_repeated_when_the_gateway_is_back() {
    for database in Database::both() {
        the_gateway_goes_and_comes_back(&database);
    }
}

fn the_gateway_goes_and_comes_back(database: &Database) {
    let gateway = Program::gateway("127.0.0.1:0");
    let address = gateway.address;
    gateway.kill();
    let service = Program::orders(database, address);
    order(&service, "a");
    for _ in 0..2 {
        let failed = pay(&service, "p");
        assert!(failed.starts_with("HTTP/1.1 500"), "{failed}");
    }
    let gateway = Program::gateway(&address.to_string());
    let paid = pay(&service, "p");
    assert!(
        paid.starts_with("HTTP/1.1 200") && paid.contains("\"paid_by\":\"ch_1\""),
        "{paid}"
    );
    assert!(pay(&service, "p").contains("idempotent-replayed: true"));
    let another = pay(&service, "q");
    assert!(another.starts_with("HTTP/1.1 409"), "{another}");
    let charges = gateway.send("GET", "/charges", &[], "");
    assert!(charges.ends_with("[{\"charge\":\"ch_1\",\"cents\":2900}]"), "{charges}");
}

#[test]
fn without_a_token_nothing_is_looked_up() {
    let [database, _] = Database::both();
    let service = Program::orders(&database, nobody());
    for token in ["", "Authorization: Bearer eve-token", "Authorization: alice-token"] {
        let headers = [token.to_owned(), "Idempotency-Key: a".into()];
        let headers: Vec<_> = headers.into_iter().filter(|header| !header.is_empty()).collect();
        let refused = service.send("POST", "/orders", &headers, "{\"item\":\"teapot\",\"cents\":2900}");
        assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    }
    let absent = pay(&service, "p");
    assert!(absent.starts_with("HTTP/1.1 404"), "{absent}");
}
