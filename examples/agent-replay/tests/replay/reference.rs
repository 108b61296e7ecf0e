//! The figures of a recording by plain sets and text, with nothing of idem in it.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::support::Figures;

/// Counts a recording whose numbers are spelled in one way.
pub fn figures(recording: &str) -> Figures {
    let mut figures = Figures::default();
    let (mut done, mut raw, mut canonical) = (HashMap::new(), HashSet::new(), HashSet::new());
    for line in recording.lines() {
        let call: Value = serde_json::from_str(line).expect("the recording is JSON");
        let (task, tool, text) = (
            &call["task"],
            call["tool"].as_str().unwrap(),
            call["arguments"].as_str().unwrap(),
        );
        let arguments: Value = serde_json::from_str(text).expect("the arguments are JSON");
        let failed = call["result"].as_str().unwrap().starts_with("Error");
        // Objects of serde_json are sorted by name, so equal values have equal text.
        let key = json!([task, tool, key(tool, &arguments)]).to_string();
        let payload = payload(&arguments);
        figures.calls += 1;
        match done.get(&key) {
            Some(known) if *known == payload => figures.replayed += 1,
            Some(_) => figures.refused += 1,
            None if failed => figures.failed += 1,
            None => {
                figures.executed += 1;
                done.insert(key, payload);
            }
        }
        if !failed {
            raw.insert(json!([task, tool, text]).to_string());
            canonical.insert(json!([task, tool, arguments]).to_string());
        }
    }
    Figures {
        effects_if_raw_arguments_were_hashed: raw.len() as u64,
        effects_if_canonical_arguments_were_hashed: canonical.len() as u64,
        effect_rows: figures.executed,
        ledger_executed: figures.executed,
        ..figures
    }
}

fn key(tool: &str, arguments: &Value) -> Value {
    let names: &[&str] = match tool {
        "book_reservation" => &["user_id", "origin", "destination", "flight_type"],
        "cancel_reservation" | "update_reservation_passengers" => &["reservation_id"],
        "update_reservation_flights" => &["reservation_id", "cabin"],
        "update_reservation_baggages" => &["reservation_id", "total_baggages"],
        "send_certificate" => &["user_id", "amount"],
        "transfer_to_human_agents" => &[],
        other => panic!("{other} is no tool"),
    };
    json!([
        names.iter().map(|name| &arguments[*name]).collect::<Vec<_>>(),
        flights(arguments)
    ])
}

fn payload(arguments: &Value) -> String {
    let mut payload = arguments.clone();
    let members = payload.as_object_mut().expect("arguments are an object");
    members.remove("summary");
    if members.contains_key("flights") {
        members.insert("flights".to_owned(), flights(arguments));
    }
    payload.to_string()
}

fn flights(arguments: &Value) -> Value {
    let of = |flight: &Value| json!([flight["flight_number"], flight["date"]]);
    arguments["flights"].as_array().into_iter().flatten().map(of).collect()
}
