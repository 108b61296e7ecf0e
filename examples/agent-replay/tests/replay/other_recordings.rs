//! Recordings that nobody made up by hand: the program must count them as plain sets do.

use serde_json::{Map, Value, json};

use crate::reference;
use crate::support::{Database, Folder};

#[test]
fn random_recordings_are_counted_as_plain_sets_count_them() {
    let folder = Folder::new();
    for seed in 0..12 {
        let recording = Model::new(seed).recording(60);
        let calls = folder.recording(&recording);
        for database in Database::both() {
            let figures = database.figures(&["--calls", &calls]);
            assert_eq!(
                figures,
                reference::figures(&recording),
                "seed {seed} on {}:\n{recording}",
                database.url
            );
        }
    }
}

#[test]
fn random_recordings_survive_kills_and_crowds() {
    let folder = Folder::new();
    for seed in 100..103 {
        let recording = Model::new(seed).recording(60);
        let (calls, expected) = (folder.recording(&recording), reference::figures(&recording));
        for database in Database::both() {
            let crowd = database.figures(&["--calls", &calls, "--workers", "4", "--tenant", "crowd"]);
            assert_eq!(crowd, expected, "seed {seed} on {}:\n{recording}", database.url);
            let killed = database.figures(&["--calls", &calls, "--chaos", &seed.to_string(), "--tenant", "killed"]);
            let rows = (killed.effect_rows, killed.ledger_executed);
            assert_eq!(
                rows,
                (expected.effect_rows, expected.effect_rows),
                "seed {seed} on {}",
                database.url
            );
            assert!(killed.kills >= 10);
        }
    }
}

/// A model that calls tools at random, out of few enough values that it repeats itself.
pub struct Model(u64);

impl Model {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn recording(&mut self, calls: usize) -> String {
        (0..calls).map(|seq| self.line(seq)).collect()
    }

    fn line(&mut self, seq: usize) -> String {
        let tool = self.pick(&[
            "book_reservation",
            "cancel_reservation",
            "update_reservation_flights",
            "update_reservation_baggages",
            "update_reservation_passengers",
            "send_certificate",
            "transfer_to_human_agents",
        ]);
        let (arguments, task, trial) = (self.arguments(tool), self.below(4), self.below(3));
        let result = self.pick(&[
            "ok",
            "",
            "{\"status\": \"done\"}",
            "Error: no",
            "Errors are rare",
            "no Error",
            "error",
        ]);
        json!({
            "task": task, "trial": trial, "seq": seq, "call_id": format!("call_{seq}"), "tool": tool,
            "arguments": self.spell(&arguments), "result": result,
        })
        .to_string()
            + "\n"
    }

    fn arguments(&mut self, tool: &str) -> Value {
        let reservation = self.pick(&["AAA", "BBB"]);
        let mut arguments = match tool {
            "book_reservation" => json!({
                "user_id": self.pick(&["mia", "zoë", "a\"b\\c"]),
                "origin": "JFK",
                "destination": self.pick(&["SEA", "LAX"]),
                "flight_type": self.pick(&["one_way", "round_trip"]),
                "cabin": self.pick(&["economy", "business"]),
                "flights": self.flights(),
                "passengers": [{"first_name": "Mia", "last_name": self.pick(&["Li", "Lí"]), "dob": "1990-04-05"}],
                "payment_methods": [{"payment_id": "card", "amount": self.pick(&[55.5, 0.1])}],
                "total_baggages": self.below(2),
                "nonfree_baggages": 0,
                "insurance": "no",
            }),
            "cancel_reservation" => json!({"reservation_id": reservation}),
            "update_reservation_flights" => json!({
                "reservation_id": reservation,
                "cabin": "economy",
                "flights": self.flights(),
                "payment_id": self.pick(&["card_1", "card_2"]),
            }),
            "update_reservation_baggages" => json!({
                "reservation_id": reservation,
                "total_baggages": self.below(2),
                "nonfree_baggages": self.below(2),
                "payment_id": "card_1",
            }),
            "update_reservation_passengers" => json!({
                "reservation_id": reservation,
                "passengers": [{"first_name": self.pick(&["Mia", "Mía"]), "last_name": "Li", "dob": "1990-04-05"}],
            }),
            "send_certificate" => {
                json!({"user_id": "mia", "amount": self.pick(&[json!(100), json!(112.5), json!(-3)])})
            }
            _ => json!({"summary": self.pick(&["asks for a refund", "wants money back", "…"])}),
        };
        if self.below(8) == 0 {
            arguments["note"] = self.pick(&[json!(null), json!(["unasked"]), json!({"b": 1, "a": true})]);
        }
        arguments
    }

    fn flights(&mut self) -> Value {
        let mut legs = Vec::new();
        for _ in 0..self.below(3) {
            let mut leg = json!({"flight_number": self.pick(&["HAT1", "HAT2"]), "date": "2024-05-20"});
            if self.below(2) == 0 {
                leg["origin"] = json!(self.pick(&["JFK", "LGA"]));
            }
            legs.push(leg);
        }
        Value::Array(legs)
    }

    /// Writes a value with members in any order, spaces anywhere and escapes at will.
    fn spell(&mut self, value: &Value) -> String {
        let space = self.pick(&["", "", " ", "\n  "]);
        match value {
            Value::Object(members) => {
                let mut members: Vec<_> = Map::into_iter(members.clone()).collect();
                for last in (1..members.len()).rev() {
                    members.swap(last, self.below(last as u64 + 1) as usize);
                }
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, value)| format!("{}:{space}{}", self.spell(&json!(name)), self.spell(value)))
                    .collect();
                format!("{{{space}{}{space}}}", members.join(&format!(",{space}")))
            }
            Value::Array(elements) => {
                let elements: Vec<_> = elements.iter().map(|element| self.spell(element)).collect();
                format!("[{}{space}]", elements.join(","))
            }
            Value::String(text) if self.below(4) == 0 => {
                let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
                format!("\"{}\"", units.collect::<String>())
            }
            other => other.to_string(),
        }
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }

    fn below(&mut self, bound: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}
