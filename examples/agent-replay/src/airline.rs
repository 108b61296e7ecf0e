//! The airline's own tables, and the seven handlers that write to them.
//!
//! Nothing here guards against a second run: no unique constraint, no look before the write. `idem_key` is only there so
//! that `books` can compare rows with the ledger.

use idem::Idempotent;
use sqlx::{AnyConnection, Connection, Executor, PgConnection, SqliteConnection};

use crate::tools::{
    BookReservation, CancelReservation, Flight, SendCertificate, TransferToHumanAgents, UpdateReservationBaggages,
    UpdateReservationFlights, UpdateReservationPassengers,
};

/// Creates the tables that are missing. Any number of processes may do this at once.
pub async fn create_tables(connection: &mut AnyConnection) -> sqlx::Result<()> {
    if connection.backend_name() == "SQLite" {
        // Each statement waits for its turn; a transaction that first reads and then writes would not.
        for statement in TABLES {
            connection.execute(*statement).await?;
        }
        return Ok(());
    }
    let mut transaction = connection.begin().await?;
    // Two `CREATE TABLE IF NOT EXISTS` at once may both find nothing, and the slower one fails.
    transaction.execute("SELECT pg_advisory_xact_lock(7236833)").await?;
    for statement in TABLES {
        transaction.execute(*statement).await?;
    }
    transaction.commit().await
}

/// What a tool does: the effect of one call, on the connection whose transaction also records it.
pub trait Handler: Idempotent {
    async fn handle(&self, key: &str, desk: &mut impl Desk) -> sqlx::Result<()>;
}

impl Handler for BookReservation {
    async fn handle(&self, key: &str, desk: &mut impl Desk) -> sqlx::Result<()> {
        let statement = "INSERT INTO airline_reservation
            (idem_key, task, user_id, origin, destination, flight_type, flights) VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let values = [
            key.into(),
            self.task.into(),
            self.user_id.as_str().into(),
            self.origin.as_str().into(),
            self.destination.as_str().into(),
            self.flight_type.as_str().into(),
            legs(&self.flights),
        ];
        desk.write(statement, &values).await
    }
}

impl Handler for CancelReservation {
    async fn handle(&self, key: &str, desk: &mut impl Desk) -> sqlx::Result<()> {
        let statement = "INSERT INTO airline_cancellation (idem_key, task, reservation_id) VALUES ($1, $2, $3)";
        desk.write(
            statement,
            &[key.into(), self.task.into(), self.reservation_id.as_str().into()],
        )
        .await
    }
}

impl Handler for UpdateReservationFlights {
    async fn handle(&self, key: &str, desk: &mut impl Desk) -> sqlx::Result<()> {
        let statement = "INSERT INTO airline_flight_change
            (idem_key, task, reservation_id, cabin, flights) VALUES ($1, $2, $3, $4, $5)";
        let values = [
            key.into(),
            self.task.into(),
            self.reservation_id.as_str().into(),
            self.cabin.as_str().into(),
            legs(&self.flights),
        ];
        desk.write(statement, &values).await
    }
}

impl Handler for UpdateReservationBaggages {
    async fn handle(&self, key: &str, desk: &mut impl Desk) -> sqlx::Result<()> {
        let statement = "INSERT INTO airline_baggage_change
            (idem_key, task, reservation_id, total_baggages) VALUES ($1, $2, $3, $4)";
        let values = [
            key.into(),
            self.task.into(),
            self.reservation_id.as_str().into(),
            self.total_baggages.into(),
        ];
        desk.write(statement, &values).await
    }
}

impl Handler for UpdateReservationPassengers {
    async fn handle(&self, key: &str, desk: &mut impl Desk) -> sqlx::Result<()> {
        let statement = "INSERT INTO airline_passenger_change (idem_key, task, reservation_id) VALUES ($1, $2, $3)";
        desk.write(
            statement,
            &[key.into(), self.task.into(), self.reservation_id.as_str().into()],
        )
        .await
    }
}

impl Handler for SendCertificate {
    async fn handle(&self, key: &str, desk: &mut impl Desk) -> sqlx::Result<()> {
        let statement = "INSERT INTO airline_certificate (idem_key, task, user_id, amount) VALUES ($1, $2, $3, $4)";
        let values = [
            key.into(),
            self.task.into(),
            self.user_id.as_str().into(),
            Value::Text(self.amount.to_string()),
        ];
        desk.write(statement, &values).await
    }
}

impl Handler for TransferToHumanAgents {
    async fn handle(&self, key: &str, desk: &mut impl Desk) -> sqlx::Result<()> {
        let statement = "INSERT INTO airline_transfer (idem_key, task, summary) VALUES ($1, $2, $3)";
        desk.write(statement, &[key.into(), self.task.into(), self.summary.as_str().into()])
            .await
    }
}

/// The legs as the model gave them, airports included.
fn legs(flights: &[Flight]) -> Value {
    let leg = |flight: &Flight| {
        let mut leg = flight.details.clone();
        leg.insert("flight_number".to_owned(), flight.flight_number.as_str().into());
        leg.insert("date".to_owned(), flight.date.as_str().into());
        serde_json::Value::Object(leg)
    };
    Value::Text(flights.iter().map(leg).collect::<serde_json::Value>().to_string())
}

/// A connection of either engine. Both accept the same statements, with parameters `$1`, `$2`, ….
pub trait Desk {
    async fn write(&mut self, statement: &'static str, values: &[Value]) -> sqlx::Result<()>;
}

/// A value of a column.
pub enum Value {
    Text(String),
    Integer(i64),
}

impl From<&str> for Value {
    /// PostgreSQL's text holds no NUL, which JSON can.
    fn from(text: &str) -> Self {
        Self::Text(text.replace('\0', "\u{fffd}"))
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}

macro_rules! desk {
    ($($connection:ty)*) => {$(
        impl Desk for $connection {
            async fn write(&mut self, statement: &'static str, values: &[Value]) -> sqlx::Result<()> {
                let mut query = sqlx::query(statement);
                for value in values {
                    query = match value {
                        Value::Text(text) => query.bind(text.clone()),
                        Value::Integer(integer) => query.bind(*integer),
                    };
                }
                query.execute(self).await.map(drop)
            }
        }
    )*};
}

desk!(PgConnection SqliteConnection);

/// Every row of every table stands for one effect.
pub const EFFECTS: &str = "
    SELECT idem_key FROM airline_reservation
    UNION ALL SELECT idem_key FROM airline_cancellation
    UNION ALL SELECT idem_key FROM airline_flight_change
    UNION ALL SELECT idem_key FROM airline_baggage_change
    UNION ALL SELECT idem_key FROM airline_passenger_change
    UNION ALL SELECT idem_key FROM airline_certificate
    UNION ALL SELECT idem_key FROM airline_transfer";

const TABLES: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS airline_reservation (idem_key TEXT NOT NULL, task BIGINT NOT NULL, user_id TEXT NOT NULL,
        origin TEXT NOT NULL, destination TEXT NOT NULL, flight_type TEXT NOT NULL, flights TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS airline_cancellation (idem_key TEXT NOT NULL, task BIGINT NOT NULL,
        reservation_id TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS airline_flight_change (idem_key TEXT NOT NULL, task BIGINT NOT NULL,
        reservation_id TEXT NOT NULL, cabin TEXT NOT NULL, flights TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS airline_baggage_change (idem_key TEXT NOT NULL, task BIGINT NOT NULL,
        reservation_id TEXT NOT NULL, total_baggages BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS airline_passenger_change (idem_key TEXT NOT NULL, task BIGINT NOT NULL,
        reservation_id TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS airline_certificate (idem_key TEXT NOT NULL, task BIGINT NOT NULL,
        user_id TEXT NOT NULL, amount TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS airline_transfer (idem_key TEXT NOT NULL, task BIGINT NOT NULL, summary TEXT NOT NULL)",
];
