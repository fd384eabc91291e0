//! The other views of a log; today session.json.
