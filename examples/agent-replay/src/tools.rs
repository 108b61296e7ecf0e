//! The seven tools of the airline, as the model calls them.
//!
//! Each type says what identifies its effect (`key`) and what the model words anew on every attempt (`#[transient]`).
//! The rest is payload: a repeat that brings another payload under the same key is refused, because somebody changed
//! their mind and a person must look. Every key starts from `task`, the customer's request: equal arguments are not
//! equal intent, and another request for the same thing is another effect.

use idem::{Fingerprint, IdempotencyKey, Idempotent, KeyError, KeyField, Place, Tenant, idempotent};
use rust_decimal::Decimal;
use serde_json::{Map, Value};

use crate::members::{Kind, Members, Problem};

#[idempotent(
    action = "book_reservation",
    key = [task, user_id, origin, destination, flight_type, flights],
    subject = user_id
)]
pub struct BookReservation {
    pub task: i64,
    pub user_id: String,
    pub origin: String,
    pub destination: String,
    pub flight_type: String,
    pub flights: Vec<Flight>,
    /// Cabin, passengers, payment, baggage, insurance, and whatever else the model sent.
    pub details: Arguments,
}

#[idempotent(action = "cancel_reservation", key = [task, reservation_id], subject = reservation_id)]
pub struct CancelReservation {
    pub task: i64,
    pub reservation_id: String,
    pub details: Arguments,
}

#[idempotent(action = "update_reservation_flights", key = [task, reservation_id, cabin, flights], subject = reservation_id)]
pub struct UpdateReservationFlights {
    pub task: i64,
    pub reservation_id: String,
    pub cabin: String,
    pub flights: Vec<Flight>,
    /// The payment method, and whatever else the model sent.
    pub details: Arguments,
}

#[idempotent(action = "update_reservation_baggages", key = [task, reservation_id, total_baggages], subject = reservation_id)]
pub struct UpdateReservationBaggages {
    pub task: i64,
    pub reservation_id: String,
    pub total_baggages: i64,
    /// The bags to pay for, the payment method, and whatever else the model sent.
    pub details: Arguments,
}

#[idempotent(action = "update_reservation_passengers", key = [task, reservation_id], subject = reservation_id)]
pub struct UpdateReservationPassengers {
    pub task: i64,
    pub reservation_id: String,
    /// The passengers, and whatever else the model sent.
    pub details: Arguments,
}

#[idempotent(action = "send_certificate", key = [task, user_id, amount], subject = user_id)]
pub struct SendCertificate {
    pub task: i64,
    pub user_id: String,
    /// A decimal without trailing zeros, since floats have no place in a key: `200`, `200.0` and `2e2` are one amount.
    pub amount: Decimal,
    pub details: Arguments,
}

#[idempotent(action = "transfer_to_human_agents", key = [task])]
pub struct TransferToHumanAgents {
    pub task: i64,
    /// The model's own words, which are never the same twice.
    #[transient]
    pub summary: String,
    pub details: Arguments,
}

/// One leg of a trip. Number and date identify it; a model adds the airports when it feels like it.
#[derive(KeyField)]
pub struct Flight {
    pub flight_number: String,
    pub date: String,
    #[transient]
    pub details: Arguments,
}

/// Arguments by name.
pub type Arguments = Map<String, Value>;

/// One call of one tool, read from the arguments that the model wrote.
pub enum Tool {
    BookReservation(BookReservation),
    CancelReservation(CancelReservation),
    UpdateReservationFlights(UpdateReservationFlights),
    UpdateReservationBaggages(UpdateReservationBaggages),
    UpdateReservationPassengers(UpdateReservationPassengers),
    SendCertificate(SendCertificate),
    TransferToHumanAgents(TransferToHumanAgents),
}

/// The names of the tools, which are the actions in the ledger.
pub const NAMES: [&str; 7] = [
    "book_reservation",
    "cancel_reservation",
    "send_certificate",
    "transfer_to_human_agents",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
];

/// Does the same with the input of whichever tool it is; each has a type of its own.
macro_rules! any_tool {
    ($tool:expr, $input:ident => $value:expr) => {
        match $tool {
            $crate::tools::Tool::BookReservation($input) => $value,
            $crate::tools::Tool::CancelReservation($input) => $value,
            $crate::tools::Tool::UpdateReservationFlights($input) => $value,
            $crate::tools::Tool::UpdateReservationBaggages($input) => $value,
            $crate::tools::Tool::UpdateReservationPassengers($input) => $value,
            $crate::tools::Tool::SendCertificate($input) => $value,
            $crate::tools::Tool::TransferToHumanAgents($input) => $value,
        }
    };
}
pub(crate) use any_tool;

impl Tool {
    /// Reads the arguments of the tool `name`, called for the request `task`. Gives `None` if there is no such tool.
    pub fn read(name: &str, task: i64, mut members: Members) -> Result<Option<Self>, Problem> {
        Ok(Some(match name {
            "book_reservation" => Self::BookReservation(BookReservation {
                task,
                user_id: members.id("user_id")?,
                origin: members.text("origin")?,
                destination: members.text("destination")?,
                flight_type: members.text("flight_type")?,
                flights: members.list("flights", Flight::read)?,
                details: members.rest(&[
                    ("cabin", Kind::Text),
                    ("passengers", Kind::Array),
                    ("payment_methods", Kind::Array),
                    ("total_baggages", Kind::Integer),
                    ("nonfree_baggages", Kind::Integer),
                    ("insurance", Kind::Text),
                ])?,
            }),
            "cancel_reservation" => Self::CancelReservation(CancelReservation {
                task,
                reservation_id: members.id("reservation_id")?,
                details: members.rest(&[])?,
            }),
            "update_reservation_flights" => Self::UpdateReservationFlights(UpdateReservationFlights {
                task,
                reservation_id: members.id("reservation_id")?,
                cabin: members.text("cabin")?,
                flights: members.list("flights", Flight::read)?,
                details: members.rest(&[("payment_id", Kind::Text)])?,
            }),
            "update_reservation_baggages" => Self::UpdateReservationBaggages(UpdateReservationBaggages {
                task,
                reservation_id: members.id("reservation_id")?,
                total_baggages: members.integer("total_baggages")?,
                details: members.rest(&[("nonfree_baggages", Kind::Integer), ("payment_id", Kind::Text)])?,
            }),
            "update_reservation_passengers" => Self::UpdateReservationPassengers(UpdateReservationPassengers {
                task,
                reservation_id: members.id("reservation_id")?,
                details: members.rest(&[("passengers", Kind::Array)])?,
            }),
            "send_certificate" => Self::SendCertificate(SendCertificate {
                task,
                user_id: members.id("user_id")?,
                amount: members.decimal("amount")?,
                details: members.rest(&[])?,
            }),
            "transfer_to_human_agents" => Self::TransferToHumanAgents(TransferToHumanAgents {
                task,
                summary: members.optional_text("summary")?.unwrap_or_default(),
                details: members.rest(&[])?,
            }),
            _ => return Ok(None),
        }))
    }

    /// What the call acts on, apart from the details that the model may choose anew: the trip that is booked, the
    /// reservation that is changed, the customer who is paid.
    pub fn target(&self) -> [&str; 3] {
        match self {
            Self::BookReservation(input) => [&input.user_id, &input.origin, &input.destination],
            Self::CancelReservation(input) => [&input.reservation_id, "", ""],
            Self::UpdateReservationFlights(input) => [&input.reservation_id, "", ""],
            Self::UpdateReservationBaggages(input) => [&input.reservation_id, "", ""],
            Self::UpdateReservationPassengers(input) => [&input.reservation_id, "", ""],
            Self::SendCertificate(input) => [&input.user_id, "", ""],
            Self::TransferToHumanAgents(_) => ["", "", ""],
        }
    }

    /// The payload: what a repeat under the same key must not change.
    pub fn details(&self) -> &Arguments {
        any_tool!(self, input => &input.details)
    }

    /// What the call is told apart by, and what a repeat must agree with.
    pub fn identity(&self, tenant: &Tenant) -> Result<(IdempotencyKey, Fingerprint), KeyError> {
        let derived = any_tool!(self, input => idem::derive(input, Some(tenant)))?;
        Ok((derived.key, derived.fingerprint))
    }

    /// What can be booked once, whichever flights and fare the model picks. Other tools have no such place.
    pub fn place(&self) -> Result<Option<Place>, KeyError> {
        let Self::BookReservation(input) = self else {
            return Ok(None);
        };
        let place = Place::builder("book_reservation")
            .field("task", &input.task)
            .field("user_id", &input.user_id)
            .field("origin", &input.origin)
            .field("destination", &input.destination);
        place.build().map(Some)
    }

    pub fn action(&self) -> &str {
        any_tool!(self, input => input.action())
    }
}

impl Flight {
    fn read(mut members: Members) -> Result<Self, Problem> {
        Ok(Self {
            flight_number: members.text("flight_number")?,
            date: members.text("date")?,
            details: members.rest(&[])?,
        })
    }
}
