use super::*;
use crate::points;

#[test]
fn child_process_entry() {
    host(&[
        ("answers", answers),
        ("stops", stops),
        ("panics", panics),
        ("returns", || say("done")),
    ]);
}

fn answers() {
    say(format!("ready {}", argument("NUMBER")));
    loop {
        say(format!("heard {}", hear()));
    }
}

fn stops() {
    points::stop_at("completed", 2);
    for (call, point) in [(1, "completed"), (1, "committed"), (2, "completed"), (2, "committed")] {
        // Another target, and a field that is no point, are not stopped at.
        tracing::trace!(target: "elsewhere", point = "completed");
        tracing::trace!(target: "idem::protocol", other = "completed");
        say(format!("call {call} before {point}"));
        tracing::trace!(target: "idem::protocol", point);
    }
    say("never");
}

fn panics() {
    panic!("as it should");
}

#[test]
fn a_child_gets_arguments_and_lines_and_answers() {
    let mut child = role("answers").with("NUMBER", 7).start();
    child.wait_for("ready 7");
    child.tell("this");
    assert_eq!(child.line().as_deref(), Some("heard this"));
    child.tell("that");
    child.wait_for("heard that");
}

#[test]
fn a_killed_child_is_gone_and_known_to_have_been_killed() {
    let mut child = role("answers").with("NUMBER", 1).start();
    child.wait_for("ready 1");
    let process = format!("/proc/{}", child.id());
    assert!(std::path::Path::new(&process).exists());
    assert!(child.kill().was_killed());
    assert!(!std::path::Path::new(&process).exists());
}

#[test]
fn a_paused_child_is_silent_until_it_is_resumed() {
    let mut child = role("answers").with("NUMBER", 1).start();
    child.wait_for("ready 1");
    child.pause();
    child.tell("x");
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(child.is_silent());
    child.resume();
    child.wait_for("heard x");
}

#[test]
fn a_child_stops_at_the_second_passing_of_a_point() {
    let mut child = role("stops").start();
    for expected in [
        "call 1 before completed",
        "call 1 before committed",
        "call 2 before completed",
        "at completed",
    ] {
        assert_eq!(child.line().as_deref(), Some(expected));
    }
    assert!(child.is_silent());
    assert!(child.kill().was_killed());
}

#[test]
fn the_end_of_a_role_is_the_end_of_the_child() {
    assert_eq!(role("returns").start().wait().success(), ["done"]);
}

#[test]
fn a_panic_fails_the_child_and_its_message_is_kept() {
    let ended = role("panics").start().wait();
    assert!(!ended.status.success() && !ended.was_killed());
    assert!(ended.errors.contains("as it should"), "{}", ended.errors);
}

#[test]
#[should_panic(expected = "ended without saying")]
fn a_role_that_nobody_hosts_is_noticed() {
    role("unknown").start().wait_for("anything");
}

#[test]
fn a_child_ends_with_its_parent() {
    let mut child = role("answers").with("NUMBER", 1).start();
    child.wait_for("ready 1");
    child.hang_up(); // what the end of this process would do
    assert_eq!(child.wait().status.code(), Some(86));
}
