//! The ways in: translate, authenticate, hold no session state.
