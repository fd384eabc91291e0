//! A place beside a record or a delta for what a door makes of it. The hub gives the same item to every subscriber, so
//! connections of one door can share an encoding that the engine knows nothing of. It is dropped with the item: there is
//! no cache to bound or to clear.

use std::any::Any;
use std::sync::{Arc, OnceLock};

/// One door's encoding of one item.
#[derive(Debug, Default)]
pub(crate) struct EncodingSlot(OnceLock<Arc<dyn Any + Send + Sync>>);

impl EncodingSlot {
    /// The encoding of this type, empty for the first caller. The slot belongs to the type that is asked for first; any
    /// other type gets a value of its own, which nobody shares.
    pub(crate) fn get<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let slot = self.0.get_or_init(|| Arc::new(T::default()));
        Arc::clone(slot).downcast().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::EncodingSlot;

    #[test]
    fn a_slot_is_shared_by_one_type_and_useless_to_others() {
        let slot = EncodingSlot::default();
        assert_eq!(slot.get::<OnceLock<u8>>().get_or_init(|| 1), &1);
        assert_eq!(slot.get::<OnceLock<u8>>().get_or_init(|| 2), &1, "the first one made it for all");
        assert_eq!(slot.get::<OnceLock<String>>().get(), None);
        assert_eq!(slot.get::<OnceLock<u8>>().get(), Some(&1));
    }
}
