(struct_item name: (type_identifier) @name) @scope
(enum_item name: (type_identifier) @name) @scope
(union_item name: (type_identifier) @name) @scope
(trait_item name: (type_identifier) @name) @scope
(mod_item name: (identifier) @name body: (_)) @scope
(impl_item) @scope
(type_item name: (type_identifier) @name) @value
(const_item name: (identifier) @name) @value
(static_item name: (identifier) @name) @value
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(macro_definition name: (identifier) @name) @function

(type_identifier) @reference
(call_expression function: (identifier) @reference)
(call_expression function: (field_expression field: (field_identifier) @reference))
(generic_function function: (identifier) @reference)
(generic_function function: (field_expression field: (field_identifier) @reference))
(scoped_identifier name: (identifier) @reference)
(use_list (identifier) @reference)
(macro_invocation macro: (identifier) @reference)
(identifier) @capital
